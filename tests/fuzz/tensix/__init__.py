"""Random tile kernels of the subset that the Tenstorrent target supports."""
