"""Workloads that people run now, as `T` kernels beside the best peer that can be installed."""
