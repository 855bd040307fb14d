"""Random kernels on a real GPU: `make device-fuzz`."""
