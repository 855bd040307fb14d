"""Kernels of `tl` and `tlx` at run time: specialised, compiled on first launch, launched again."""
