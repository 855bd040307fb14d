"""Random `T` kernels of the subset that Tenstorrent supports, through both executors."""
