"""Which buffers that the user allocated (``tlx.local_alloc``) may be in use when a tile is stored.

Tasks run concurrently and storage aliasing gives addresses: there, all of them. Otherwise code is
sequential, and a buffer is free once the last op that names it, or a part of it, has run. Copies
by threads (``tlx.async_load``) fill it until a wait for all of them; copies by TMA until a barrier
that is not followed here. The store of a result comes after the wait for its GEMM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.tasks import Allocation, Tasks, buffer_bytes, is_barrier
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tlx import StorageAliasLocalAllocOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg import (
    AsyncCopyGlobalToLocalOp,
    AsyncWaitOp,
    LocalAllocOp,
    MemDescIndexOp,
    MemDescTransOp,
)
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp
from tilewright.ir.traversal import walk

_BY_TMA = AsyncTMACopyGlobalToLocalOp | AsyncTMACopyLocalToGlobalOp


def bytes_in_use(
    function: FuncOp, tasks: Tasks, store: Operation, positions: Mapping[Operation, int]
) -> int:
    """The bytes of the user's buffers that may be in use at `store`; `positions` are textual."""
    allocations = [op for op in walk(function) if isinstance(op, Allocation)]
    is_placed = any(isinstance(op, StorageAliasLocalAllocOp) for op in allocations)
    return sum(
        buffer_bytes(op)
        for op in allocations
        if not is_barrier(op.results[0])
        and (tasks.tasks or is_placed or not _is_free(op, store, positions))
    )


def _is_free(op: Allocation, store: Operation, positions: Mapping[Operation, int]) -> bool:
    assert isinstance(op, LocalAllocOp)
    end = _outermost_loop(store)
    block = end.parent
    assert block is not None
    users = list(_users(op.results[0]))
    beside = [_beside(user, end) for user in users]
    if any(each is None or positions[each] >= positions[end] for each in beside):
        return False  # in a loop around the store, or after it
    if any(isinstance(user, _BY_TMA) for user in users):
        return False
    copies = [
        positions[each]
        for user, each in zip(users, beside, strict=True)
        if isinstance(user, AsyncCopyGlobalToLocalOp) and each is not None
    ]
    last = max(copies, default=None)
    return last is None or any(
        isinstance(wait, AsyncWaitOp)
        and not wait.num.value.data
        and last < positions[wait] < positions[end]
        for wait in block.ops
    )


def _users(value: SSAValue) -> Iterator[Operation]:
    """Ops that use a buffer or a part of it."""
    for use in value.uses:
        user = use.operation
        yield user
        if isinstance(user, MemDescIndexOp | MemDescTransOp):
            yield from _users(user.results[0])


def _outermost_loop(store: Operation) -> Operation:
    """The outermost loop around a store; the store itself, if there is none."""
    found, around = store, store.parent_op()
    while around is not None:
        if isinstance(around, ForOp | WhileOp):
            found = around
        around = around.parent_op()
    return found


def _beside(op: Operation, end: Operation) -> Operation | None:
    """The op of the block of `end` that `op` is, or is inside of; None if there is none."""
    current: Operation | None = op
    while current is not None and current.parent is not end.parent:
        current = current.parent_op()
    return current
