"""Random tile kernels that are valid by construction, each with a direct NumPy evaluation."""
