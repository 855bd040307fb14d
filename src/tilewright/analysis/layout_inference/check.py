"""Goes over a layout plan once more, with other means than those that made it.

The solver works with tables of holders; this looks at what each thread would do. For every loop
and every access, the threads that run an iteration are asked for the element, and must have it in
one of their registers; two elements must never share a register of a thread; what several threads
hold must be written by all of them; shared buffers must not put two elements in one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import Iterations, accesses_in
from tilewright.analysis.layout_inference.fit import Numbers
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import ParallelOp
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
        problem = _places(buffer, swizzle.attribute(shape_of(buffer.type)[:-2]).data)
        if problem is not None:
            return f"'{_name(plan, buffer)}': {problem}"
    for op in walk(kernel):
        if isinstance(op, ParallelOp):
            problem = _loop(op, plan)
            if problem is not None:
                return problem
    return None


def _name(plan: LayoutPlan, buffer: SSAValue) -> str:
    return plan.names.get(buffer, "buffer")


def _owners(table: Table, shape: tuple[int, ...]) -> str | None:
    """Each register of a thread holds one element at most."""
    if table.shape != shape:
        return f"the layout is for {table.shape}, the buffer has {shape}"
    if (table.registers < 0).any() or (table.holders < 0).any():
        return "a thread or a register has a negative number"
    registers = table.registers.ravel()
    holders = table.holders.reshape(registers.size, -1)
    pairs = holders * (int(registers.max()) + 1) + registers[:, None]
    if (np.diff(np.sort(holders, axis=1), axis=1) == 0).any():
        return "a thread is named twice as the holder of an element"
    twice = np.flatnonzero(np.bincount(pairs.ravel()) > 1)
    if len(twice):
        thread, register = divmod(int(twice[0]), int(registers.max()) + 1)
        return f"register {register} of thread {thread} holds two elements"
    return None


def _places(buffer: SSAValue, map: LayoutMap) -> str | None:
    """No two elements of a shared buffer in one place."""
    shape = shape_of(buffer.type)
    found: tuple[Any, ...] = tuple(map.evaluate(*np.indices(shape)))
    columns: list[Any] = [np.broadcast_to(np.asarray(each), shape).ravel() for each in found]
    first = [int(each.min()) for each in columns]
    extents = [int(each.max()) - low + 1 for each, low in zip(columns, first, strict=True)]
    from_zero = [each - low for each, low in zip(columns, first, strict=True)]
    places: Any = np.ravel_multi_index(from_zero, extents)
    if np.bincount(places).max() > 1:
        return "two elements lie in one place"
    return None


def _loop(loop: ParallelOp, plan: LayoutPlan) -> str | None:
    table = plan.loops.get(loop)
    if table is None:
        return "a loop has no threads"
    problem = _runs(loop, table)
    if problem is not None:
        return problem
    iterations = Iterations(loop, table.shape)
    for access in accesses_in(loop, iterations):
        buffer = base_of(access.buffer)
        held = plan.fragments.get(buffer)
        if held is None:
            return f"'{_name(plan, buffer)}' has no layout"
        rank = len(table.shape)
        flat = [np.ravel(each) for each in access.elements]
        count = flat[0].size // int(np.prod(table.shape)) if access.extra else 1
        runners = np.repeat(table.holders.reshape(-1, table.replicas), count, axis=0)
        problem = _reached(held, flat, runners, writes=_replaces(access.op, buffer))
        if problem is not None:
            what = "written" if access.is_write else "read"
            return f"'{_name(plan, buffer)}' is {what} in a loop of {rank} dimensions: {problem}"
    return None


def _runs(loop: ParallelOp, table: Table) -> str | None:
    threads = threads_of(loop)
    if int(table.holders.max()) >= threads.count:
        return f"thread {int(table.holders.max())} runs a loop of {threads.count} threads"
    return None


def _replaces(op: Operation, buffer: SSAValue) -> bool:
    """Whether an access overwrites an element for all who hold it."""
    if isinstance(op, LoadOp):
        return False
    return not isinstance(buffer.owner, ReducerAllocOp)


def _reached(held: Table, elements: list[Numbers], runners: Numbers, *, writes: bool) -> str | None:
    """Whether who runs an iteration has its element, and who has it runs it if it is written."""
    size = int(np.prod(held.shape))
    threads = max(int(held.holders.max()), int(runners.max())) + 1
    has = np.zeros((size, threads), dtype=bool)
    has[np.arange(size)[:, None], held.holders.reshape(size, -1)] = True
    numbers = np.ravel_multi_index(elements, held.shape)
    absent = ~has[numbers[:, None], runners]
    if absent.any():
        place, which = (int(each[0]) for each in np.nonzero(absent))
        return f"thread {int(runners[place, which])} has no element {int(numbers[place])}"
    if not writes:
        return None
    written = np.zeros_like(has)
    written[np.repeat(numbers, runners.shape[1]), runners.ravel()] = True
    touched = np.zeros(size, dtype=bool)
    touched[numbers] = True
    reached = has if touched.all() else has[touched]
    if np.count_nonzero(written) == np.count_nonzero(reached):  # all who write have it: the same
        return None
    stale = np.argwhere(reached & ~written[touched])
    return f"thread {int(stale[0][1])} keeps an old copy of a written element"
