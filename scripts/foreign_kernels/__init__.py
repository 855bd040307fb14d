"""Kernels of other projects: run on pointers and raised to tiles, and compared."""
