"""Names of attributes that kernels of the thread level carry."""

# Functions.
KERNEL = "nv.kernel"
"""Unit: runs on the device, launched by ``nv.launch``."""
THREADS = "nv.threads"
"""Integer: threads of a block."""
MIN_BLOCKS = "nv.min_blocks"
"""Integer: blocks that must fit on a multiprocessor at once."""
CLUSTER = "nv.cluster"
"""Array of three integers: blocks of a cluster along x, y and z."""
SHARED_BYTES = "nv.shared_bytes"
"""Integer: bytes of dynamic shared memory."""
INDEX_BITS = "nv.index_bits"
"""Integer: bits of numbers that address elements; 32 if absent."""
COOPERATIVE = "nv.cooperative"
"""Unit: all blocks have to run at the same time."""
PRELUDE = "nv.prelude"
"""String: C source that is put before the kernel."""

# Arguments.
CONST = "nv.const"
"""Unit: the kernel only reads it."""
RESTRICT = "nv.restrict"
"""Unit: nothing else points to its memory."""
TENSOR = "nv.tensor"
"""Integer: the same for arguments that are views of one tensor, which the kernel writes."""

# GEMMs at tile level, once layouts are chosen.
INSTRUCTION = "nv.instruction"
"""String: ``wgmma`` or ``mma``."""
WARPS = "nv.warps"
"""Two integers: warps along the rows and the columns of the GEMM."""
SHAPE = "nv.shape"
"""Three integers: rows, columns and depth of one instruction."""

# Reductions across threads.
NAN = "nv.nan"
"""Unit: what is not a number wins."""
UNSIGNED = "nv.unsigned"
"""Unit: integers have no sign."""

# Buffers at tile level, once layouts are chosen.
LAYOUT = "nv.layout"
"""Fragment layout: where the elements of a reducer are."""

# Shared buffers at thread level.
VERSIONS = "nv.versions"
"""Integer: the number of pipeline stages in the buffer, if more than one."""
STORAGE = "nv.storage"
"""Integer: the user's storage_alias_spec of the buffer, if there is one."""
ALIGN = "nv.align"
"""Integer: the multiple of bytes at which the buffer has to begin."""
SWIZZLE = "nv.swizzle"
"""Integer: the layout is the hardware's swizzle of so many bytes."""

# Barriers.
ROLE_BARRIER = "nv.role_barrier"
"""Unit: of the threads of the role around it, not of the block."""

# Loops at thread level.
SHARE = "nv.share"
"""Unit: iterations are those of one thread of a parallel loop, and access different elements."""
