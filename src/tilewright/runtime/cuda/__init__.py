"""Kernels on an NVIDIA GPU: loading, tensor maps, launching and timing, by the CUDA driver."""
