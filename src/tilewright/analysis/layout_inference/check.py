"""Checks a layout plan independently of the solver that made it.

The solver works with tables of owners; the check follows each thread. For every loop and every
access, the threads that run an iteration must have the element in one of their registers; two
elements must never share a register of a thread; a replicated element must be written by all its
owners; two elements of a shared buffer must not map to the same location.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import Iterations, accesses_in
from tilewright.analysis.layout_inference.exchange import is_exchange
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.amd.exchange import ROW, WAVE
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import CopyOp, ParallelOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk


def check(kernel: Operation, plan: LayoutPlan) -> str | None:
    """What is wrong with a plan; None if nothing is."""
    for buffer, table in plan.fragments.items():
        problem = _owners(table, shape_of(buffer.type))
        if problem is not None:
            return f"'{_name(plan, buffer)}': {problem}"
    for buffer, swizzle in plan.shared.items():
        problem = _locations(buffer, swizzle.attribute(shape_of(buffer.type)[:-2]).data)
        if problem is not None:
            return f"'{_name(plan, buffer)}': {problem}"
    for op in walk(kernel):
        if isinstance(op, ParallelOp):
            problem = _loop(op, plan)
            if problem is not None:
                return problem
        elif isinstance(op, CopyOp) and is_exchange(op):
            problem = _exchange(op, plan)
            if problem is not None:
                return f"'{_name(plan, base_of(op.dst))}': {problem}"
    return None


def _exchange(op: CopyOp, plan: LayoutPlan) -> str | None:
    """Lane by lane, what `amd.interleave` leaves in the registers of two lanes."""
    source, target = plan.fragments[base_of(op.src)], plan.fragments[base_of(op.dst)]
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for element in np.ndindex(source.shape):
        (thread,), register = source.owners[element], int(source.registers[element])
        for lane in (int(thread) % WAVE, int(thread) % WAVE ^ ROW):
            other = int(thread) // WAVE * WAVE + lane
            found[other, 2 * register + int(thread) % WAVE // ROW] = element
    for element in np.ndindex(target.shape):
        for thread in target.owners[element]:
            if found.get((int(thread), int(target.registers[element]))) != element:
                return f"thread {int(thread)} does not get element {element} from an exchange"
    return None


def _name(plan: LayoutPlan, buffer: SSAValue) -> str:
    return plan.names.get(buffer, "buffer")


def _owners(table: Table, shape: tuple[int, ...]) -> str | None:
    """Each register of a thread holds one element at most."""
    if table.shape != shape:
        return f"layout has shape {table.shape}, the buffer {shape}"
    if (table.registers < 0).any() or (table.owners < 0).any():
        return "negative thread or register index"
    registers = table.registers.ravel()
    owners = table.owners.reshape(registers.size, -1)
    pairs = owners * (int(registers.max()) + 1) + registers[:, None]
    if (np.diff(np.sort(owners, axis=1), axis=1) == 0).any():
        return "a thread is listed twice as owner of an element"
    twice = np.flatnonzero(np.bincount(pairs.ravel()) > 1)
    if len(twice):
        thread, register = divmod(int(twice[0]), int(registers.max()) + 1)
        return f"register {register} of thread {thread} holds two elements"
    return None


def _locations(buffer: SSAValue, map: LayoutMap) -> str | None:
    """No two elements of a shared buffer map to the same location."""
    shape = shape_of(buffer.type)
    found: tuple[Any, ...] = tuple(map.evaluate(*np.indices(shape)))
    columns: list[Any] = [np.broadcast_to(np.asarray(each), shape).ravel() for each in found]
    first = [int(each.min()) for each in columns]
    extents = [int(each.max()) - low + 1 for each, low in zip(columns, first, strict=True)]
    from_zero = [each - low for each, low in zip(columns, first, strict=True)]
    locations: Any = np.ravel_multi_index(from_zero, extents)
    if np.bincount(locations).max() > 1:
        return "two elements map to the same location"
    return None


def _loop(loop: ParallelOp, plan: LayoutPlan) -> str | None:
    table = plan.loops.get(loop)
    if table is None:
        return "no threads assigned to a loop"
    problem = _runs(loop, table)
    if problem is not None:
        return problem
    iterations = Iterations(loop, table.shape)
    for access in accesses_in(loop, iterations):
        buffer = access.buffer
        held = plan.fragments.get(buffer)
        if held is None:
            return f"'{_name(plan, buffer)}' has no layout"
        rank = len(table.shape)
        flat = [np.ravel(each) for each in access.elements]
        count = flat[0].size // int(np.prod(table.shape)) if access.extra else 1
        runners = np.repeat(table.owners.reshape(-1, table.replicas), count, axis=0)
        problem = _reached(held, flat, runners, writes=_replaces(access.op, buffer))
        if problem is not None:
            what = "written" if access.is_write else "read"
            return f"'{_name(plan, buffer)}' is {what} in a loop of {rank} dimensions: {problem}"
    return None


def _runs(loop: ParallelOp, table: Table) -> str | None:
    threads = threads_of(loop)
    if int(table.owners.max()) >= threads.count:
        return f"loop uses thread {int(table.owners.max())}, but only {threads.count} threads run"
    return None


def _replaces(op: Operation, buffer: SSAValue) -> bool:
    """Whether an access overwrites an element in all its owners."""
    if isinstance(op, LoadOp):
        return False
    return not isinstance(buffer.owner, ReducerAllocOp)


def _reached(
    held: Table, elements: list[IntArray], runners: IntArray, *, writes: bool
) -> str | None:
    """Whether the thread of an iteration owns its element, and all owners write what is written."""
    size = int(np.prod(held.shape))
    indices = np.ravel_multi_index(elements, held.shape)
    owners = held.owners.reshape(size, -1)
    if owners.shape[1] == runners.shape[1] == 1 and (owners[indices] == runners).all():
        return None  # the only owner runs the iteration
    threads = max(int(held.owners.max()), int(runners.max())) + 1
    has = np.zeros((size, threads), dtype=bool)
    has[np.arange(size)[:, None], owners] = True
    absent = ~has[indices[:, None], runners]
    if absent.any():
        position, which = (int(each[0]) for each in np.nonzero(absent))
        return (
            f"thread {int(runners[position, which])} does not own element {int(indices[position])}"
        )
    if not writes:
        return None
    written = np.zeros_like(has)
    written[np.repeat(indices, runners.shape[1]), runners.ravel()] = True
    accessed = np.zeros(size, dtype=bool)
    accessed[indices] = True
    reached = has if accessed.all() else has[accessed]
    if np.count_nonzero(written) == np.count_nonzero(reached):  # all writers own it: the same
        return None
    stale = np.argwhere(reached & ~written[accessed])
    return f"thread {int(stale[0][1])} retains a stale copy of a written element"
