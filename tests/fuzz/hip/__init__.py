"""Random `T` kernels for AMD GPUs, thread by thread, against NumPy."""
