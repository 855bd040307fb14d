"""Live ranges of shared- and tensor-memory buffers, point by point, and their causes.

    liveness = BufferLiveness(module)
    for function in liveness.functions.values():
        for buffer in function.buffers:
            print(buffer.op, buffer.spans)         # half-open spans of points, with holes
        print(function.conflict(one, other))       # None: they may share

Shared memory (``ttg.local_alloc``) and tensor memory (``ttng.tmem_alloc``) alike, through views,
loops, branches, jumps and warp-specialised partitions. A buffer that an asynchronous operation may
still read or write is live until a wait that is known to cover it.
"""

from tilewright.analysis.buffer_liveness.flow import Flow, Partition, Point
from tilewright.analysis.buffer_liveness.liveness import (
    BufferLiveness,
    Conflict,
    FunctionLiveness,
    Held,
    LiveBuffer,
    Spans,
)
from tilewright.analysis.buffer_liveness.op_effects import (
    AllocationOp,
    Engine,
    OperandEffect,
    operand_effects,
)
from tilewright.analysis.buffer_liveness.roots import BufferRoots

__all__ = [
    "AllocationOp",
    "BufferLiveness",
    "BufferRoots",
    "Conflict",
    "Engine",
    "Flow",
    "FunctionLiveness",
    "Held",
    "LiveBuffer",
    "OperandEffect",
    "Partition",
    "Point",
    "Spans",
    "operand_effects",
]
