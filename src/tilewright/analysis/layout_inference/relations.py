"""How the iterations of a loop and the owners of a fragment relate, element by element."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import (
    Depends,
    FragmentAccess,
    Iterations,
)
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, ParallelOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.ir.traversal import walk


def is_update(access: FragmentAccess) -> bool:
    """Whether a write adds to the writing thread's share of a reducer."""
    owner = access.buffer.owner
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
    """Whether only one of several threads with the same iteration may run some of its ops."""
    return bool(ops_done_once(loop))


def ops_done_once(loop: ParallelOp) -> list[Operation]:
    """What only one of several threads with the same iteration may run.

    Writes to memory, atomic ops, and updates of reducers: each iteration once, in any thread.
    """
    read = {id(op.memref) for op in walk(loop) if isinstance(op, LoadOp)}
    return [
        op
        for op in walk(loop)
        if isinstance(op, AtomicOp)
        or (isinstance(op, StoreOp) and (not _is_private(op.memref) or _is_updated(op, read)))
    ]


def _is_updated(op: StoreOp, read: set[int]) -> bool:
    return isinstance(base_of(op.memref).owner, ReducerAllocOp) and id(op.memref) in read


def writes_registers(loop: ParallelOp) -> bool:
    """Whether iterations leave something in registers of each thread that runs them."""
    once = {id(op) for op in ops_done_once(loop)}
    return any(
        isinstance(op, StoreOp)
        and id(op) not in once
        and not _is_inside(base_of(op.memref).owner, loop)
        for op in walk(loop)
    )


def needed_by_all(loop: ParallelOp) -> str | None:
    """What all threads that share an iteration need, and only one of them may compute."""
    if not writes_registers(loop):
        return None
    once = ops_done_once(loop)
    if any(result.uses.get_length() for op in once for result in op.results):
        return (
            "several threads share an iteration, and all of them need the previous value that its "
            "atomic op returns to one"
        )
    written = {base_of(op.memref) for op in once if isinstance(op, StoreOp)}
    read = {
        base_of(op.memref)
        for op in walk(loop)
        if isinstance(op, LoadOp) and not _is_private(op.memref)
    }
    if written & read:
        return (
            "several threads share an iteration: one of them writes memory that all of them read; "
            "use a loop of its own for the write"
        )
    return None


def _is_inside(owner: Operation | Block, loop: ParallelOp) -> bool:
    return isinstance(owner, Operation) and loop.is_ancestor(owner)


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
