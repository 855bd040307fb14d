"""How the iterations of a loop and the owners of a fragment relate, element by element."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.accesses import (
    Depends,
    FragmentAccess,
    Iterations,
)
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    ParallelOp,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.ir.traversal import walk


def is_update(access: FragmentAccess) -> bool:
    """Whether a write adds to the writing thread's share of a reducer."""
    owner = base_of(access.buffer).owner
    if not isinstance(owner, ReducerAllocOp):
        return False
    return any(
        isinstance(use.operation, LoadOp)
        and use.operation.memref is access.buffer
        and use.operation.parent is access.op.parent
        for use in access.buffer.uses
    )


def _is_private(buffer: SSAValue) -> bool:
    space = space_of(buffer.type)
    return space is Space.FRAGMENT or (space is not None and space.is_per_thread)


def accesses_memory(loop: ParallelOp) -> bool:
    """Whether a loop accesses what is no thread's own."""
    return any(
        (isinstance(op, (LoadOp, StoreOp)) and not _is_private(op.memref))
        or op.name == "tile.atomic"
        for op in walk(loop)
    )


def is_done_once(loop: ParallelOp) -> bool:
    """Whether only one of several threads with the same iteration may run it."""
    return _writes_memory(loop) or _updates_reducer(loop)


def _updates_reducer(loop: ParallelOp) -> bool:
    """Whether iterations update a reducer: each of them once, in any thread."""
    read = {id(op.memref) for op in walk(loop) if isinstance(op, LoadOp)}
    return any(
        isinstance(op, StoreOp)
        and isinstance(base_of(op.memref).owner, ReducerAllocOp)
        and id(op.memref) in read
        for op in walk(loop)
    )


def _writes_memory(loop: ParallelOp) -> bool:
    return any(
        (isinstance(op, StoreOp) and not _is_private(op.memref)) or op.name == "tile.atomic"
        for op in walk(loop)
    )


def dependent_access(loop: ParallelOp, shape: tuple[int, ...]) -> LoadOp | StoreOp:
    """The first access to a fragment whose index is a run-time value."""
    iterations = Iterations(loop, shape)
    for op in walk(loop):
        if isinstance(op, (LoadOp, StoreOp)) and space_of(op.memref.type) is Space.FRAGMENT:
            try:
                iterations.access(op)
            except Depends:
                return op
    raise AssertionError("some access had such an index")


def threads_at(table: Table, access: FragmentAccess) -> np.ndarray:
    """The threads of each point of an access: the loop's, for all elements it may access."""
    if access.extra == 0:
        return table.owners
    shape = access.elements[0].shape
    lined = table.owners.reshape(*table.shape, *(1 for _ in range(access.extra)), table.replicas)
    return np.broadcast_to(lined, (*shape, table.replicas))


def is_by_register(loop: Table, table: Table, access: FragmentAccess) -> bool:
    """Whether the nth iteration of every thread accesses the same register."""
    registers = table.registers[access.elements]
    registers = registers[(..., *(0 for _ in range(access.extra)))].ravel()
    rounds = loop.registers.ravel()
    found = np.zeros(loop.num_registers, dtype=np.int64)
    found[rounds] = registers
    return bool((found[rounds] == registers).all())


def first_difference(held: np.ndarray, threads: np.ndarray) -> tuple[int, ...]:
    if held.shape != threads.shape:
        return (0,) * (held.ndim - 1)
    return tuple(int(each) for each in np.argwhere((held != threads).any(axis=-1))[0])


def contains(one: Table, other: Table) -> bool:
    """Whether all threads that `other` gives an element hold it in `one`, in the same register."""
    if one.shape != other.shape or (one.registers != other.registers).any():
        return False
    is_owned = other.owners[..., :, None] == one.owners[..., None, :]
    return bool(is_owned.any(axis=-1).all())


def transpose(table: Table) -> Table:
    """The layout of the transposed matrix."""
    return Table(
        np.ascontiguousarray(np.swapaxes(table.owners, 0, 1)),
        np.ascontiguousarray(table.registers.T),
    )
