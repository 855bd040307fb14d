"""Values that depend on the thread index, and so differ between the threads of a block.

    tx = T.get_thread_binding()
    T.copy(A[tx * 4 : tx * 4 + 4], B[tx * 4 : tx * 4 + 4])

A tile operation is distributed over the threads, once for the block. One whose region starts at a
thread-dependent offset is not: each thread executes all of its own.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.tile import RegionOp


def is_by_thread(value: SSAValue) -> bool:
    """Whether a value is computed from the thread index, or read at an address that is.

    Contents of cells are not analysed: most are the same for all threads.
    """
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        owner = current.owner
        if current in seen or not isinstance(owner, Operation) or owner.regions:
            continue
        seen.add(current)
        if isinstance(owner, ThreadIdOp):
            return True
        stack += owner.operands
    return False


def begins_by_thread(part: SSAValue) -> bool:
    """Whether each thread has a region of its own: its start depends on the thread index."""
    region = part.owner
    return isinstance(region, RegionOp) and any(
        isinstance(offset, SSAValue) and is_by_thread(offset) for offset in region.offsets
    )
