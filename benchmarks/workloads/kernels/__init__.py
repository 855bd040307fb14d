"""The kernels of the workloads."""
