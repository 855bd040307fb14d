"""Values that depend on the thread index, and so differ between the threads of a block.

    tx = T.get_thread_binding()
    T.copy(A[tx * 4 : tx * 4 + 4], B[tx * 4 : tx * 4 + 4])

A tile operation is distributed over the threads, once for the block. One whose region starts at a
thread-dependent offset is not: each thread executes all of its own. Code of a kernel, or of a role,
that names no thread is code of the block: what it does once, one thread does.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.tile import KernelOp, ParallelOp, RegionOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk


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


def names_threads(op: Operation) -> bool:
    """Whether code below an op depends on the thread that runs it."""
    return any(
        each.name in ("gpu.thread_id", "nv.elect")
        or "tile.thread_binding" in each.attributes
        or each.name.startswith(("tile.warp_reduce", "tile.shuffle", "tile.vote"))
        or (
            each.name == "tile.reduce"
            and str(getattr(each.properties.get("scope"), "data", "")) == "threads"
        )
        for each in walk(op)
    )


def is_block_code(op: Operation) -> bool:
    """Whether an op is outside of parallel loops, in a kernel or role that names no thread."""
    scope = _scope_of(op)
    if scope is None:
        return False
    is_role = isinstance(scope.parent_op(), WsOp)
    return not any(
        names_threads(each) for each in scope.ops if is_role or not isinstance(each, WsOp)
    )


def _scope_of(op: Operation) -> Block | None:
    """The body of the role or kernel around an op; None inside of a parallel loop."""
    current: Operation | None = op
    while current is not None:
        around = current.parent_op()
        if isinstance(around, ParallelOp):
            return None
        if isinstance(around, WsOp | KernelOp):
            return current.parent
        current = around
    return None
