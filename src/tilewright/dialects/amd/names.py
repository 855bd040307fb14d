"""Names of attributes that kernels for AMD GPUs carry."""

OWN_ARRAY = "amd.own_array"
"""Unit, on a shared buffer: an array of its own, outside of the arena that all others are in."""
EXPLICIT = "amd.explicit"
"""Unit, on a barrier: requested by the user, or by a pass for the order of writes to a tensor."""
