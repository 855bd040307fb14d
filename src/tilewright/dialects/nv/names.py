"""Names of attributes that only NVIDIA's kernels carry."""

CLUSTER = "nv.cluster"
"""Array of three integers: blocks of a cluster along x, y and z."""
SWIZZLE = "nv.swizzle"
"""Integer: the layout is the hardware's swizzle of so many bytes."""
ROLE_BARRIER = "nv.role_barrier"
"""Unit: of the threads of the role around it, not of the block."""
