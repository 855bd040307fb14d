"""Names of attributes that kernels of the thread level carry."""

# Functions.
KERNEL = "simt.kernel"
"""Unit: runs on the device, launched by ``simt.launch``."""
THREADS = "simt.threads"
"""Integer: threads of a block."""
MIN_BLOCKS = "simt.min_blocks"
"""Integer: blocks that must fit on a multiprocessor at once."""
SHARED_BYTES = "simt.shared_bytes"
"""Integer: bytes of dynamic shared memory."""
INDEX_BITS = "simt.index_bits"
"""Integer: bits of numbers that address elements; 32 if absent."""
COOPERATIVE = "simt.cooperative"
"""Unit: all blocks have to run at the same time."""
PRELUDE = "simt.prelude"
"""String: C source that is put before the kernel."""

# Arguments.
CONST = "simt.const"
"""Unit: the kernel only reads it."""
RESTRICT = "simt.restrict"
"""Unit: nothing else points to its memory."""
TENSOR = "simt.tensor"
"""Integer: the same for arguments that are views of one tensor, which the kernel writes."""

# GEMMs at tile level, once layouts are chosen.
INSTRUCTION = "simt.instruction"
"""String: ``wgmma`` or ``mma``; AMD: ``mfma`` or ``wmma``."""
WARPS = "simt.warps"
"""Two integers: warps along the rows and the columns of the GEMM."""
SHAPE = "simt.shape"
"""Three integers: rows, columns and depth of one instruction."""
TRANSPOSED = "simt.transposed"
"""Unit: B is the first operand of the instruction, and the accumulator transposed."""
K_WIDTH = "simt.k_width"
"""Integer: elements of an operand along K that a lane holds next to each other."""

# Reductions across threads.
NAN = "simt.nan"
"""Unit: what is not a number wins."""
UNSIGNED = "simt.unsigned"
"""Unit: integers have no sign."""

# Buffers at tile level, once layouts are chosen.
LAYOUT = "simt.layout"
"""Fragment layout: where the elements of a reducer are."""

# Shared buffers at thread level.
VERSIONS = "simt.versions"
"""Integer: the number of pipeline stages in the buffer, if more than one."""
STORAGE = "simt.storage"
"""Integer: the user's storage_alias_spec of the buffer, if there is one."""
ALIGN = "simt.align"
"""Integer: the multiple of bytes at which the buffer has to begin."""

# Moves.
UNALIGNED = "simt.unaligned"
"""Unit: the move begins at any element of a tensor. The aligned units of 16 bytes that have its
elements are read, and shifted."""

# Loops at thread level.
SHARE = "simt.share"
"""Unit: iterations are those of one thread of a parallel loop, and access different elements."""
