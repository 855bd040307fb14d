"""The Tenstorrent target: reader, compute and writer kernels, their host program, and executors."""
