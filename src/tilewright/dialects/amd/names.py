"""Names of attributes that kernels for AMD GPUs carry."""

LOCAL = "amd.local"
"""Unit, on a barrier: it orders accesses of LDS alone, and leaves global ones in flight."""
OWN_ARRAY = "amd.own_array"
"""Unit, on a shared buffer: an array of its own, outside of the arena that all others are in."""
