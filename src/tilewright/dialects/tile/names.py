"""Names of attributes that tile-level code carries beside the properties of its ops.

On functions, on their arguments, and on ``scf.for`` there is no property to declare, so these are
plain attributes, as is what passes find out about buffers. All of them are defined here.
"""

# Modules.
RACES = "tile.races"
"""Array of diagnostics of races that the caller may avoid: the locations of the two accesses, a
code, a message and a help, all strings."""

# Functions.
ENTRY = "tile.entry"
"""Unit: the function is what a call of the kernel runs."""
TARGET = "tile.target"
"""``#tile.target``: what the function is compiled for."""

# Arguments of functions.
NAME = "tile.name"
"""String: the user's name of the argument."""
DTYPE = "tile.dtype"
"""String: the user's element type; the IR type does not distinguish ``uint8`` from ``int8``."""
SHAPE = "tile.shape"
"""Array of integers and strings: the shape as written, symbols included."""
SAFE_VALUE = "tile.safe_value"
"""Number: what a guarded read outside of the tensor gives; zero by default."""
ALIASED = "tile.aliased"
"""Unit: the tensor shares bytes with the other arguments that are marked so."""
DIVISIBILITY = "tile.divisibility"
"""Integer: what divides the argument, which a launch checks; of a tensor, its address in bytes."""
L2_HIT_RATIO = "tile.l2_hit_ratio"
"""Float: how much of the tensor is to stay in the second-level cache."""

# scf.for.
UNROLL = "tile.unroll"
"""Unit: the user requests unrolling."""
UNROLL_FACTOR = "tile.unroll_factor"
"""Integer: unroll by so much."""
VECTORIZE = "tile.vectorize"
"""Unit: the iterations become one vector access."""
THREAD_BINDING = "tile.thread_binding"
"""String: the iterations are the threads along an axis, ``threadIdx.x``."""

# scf.if.
PREDICATED = "tile.predicated"
"""Unit: the copies in it are started anyway, and read nothing where the condition is false."""
FILLED = "tile.filled"
"""Unit: it reads an element inside of a tensor, and yields the fill of a copy outside of it."""

FREE_GRID = "tile.free_grid"
"""Unit, of a function: the grid is an argument, independent of the other arguments. A
deadlock for arguments that a checker assumes counts only if there is one for all of them."""

# tile.parallel.
ASYNCHRONOUS = "tile.asynchronous"
"""Unit: what the loop moves to shared memory may be in flight until a wait for copies."""

# tile.alloc.
BUFFERS = "tile.buffers"
"""Unit: the first dimension counts buffers, each with its own offset in a storage-alias spec."""
PRIVATE = "tile.private"
"""Unit: every iteration of the loops around all accesses fills the buffer before it reads it."""
ROTATING = "tile.rotating"
"""Unit: each iteration of a loop fills the next version of the buffer, which an MMA then reads."""
SEPARATE_VERSIONS = "tile.separate_versions"
"""Unit: if a pipelined loop has several versions of the buffer, they are buffers of their own."""

# Assumptions.
INJECTED = "tile.injected"
"""Unit: stated by `inject-assumes`, and not by the user."""
