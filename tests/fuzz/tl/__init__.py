"""Random kernels of `tl`, and what they compute in plain NumPy."""
