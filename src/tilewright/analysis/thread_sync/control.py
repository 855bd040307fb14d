"""Loops, branches and roles.

Where a condition is a run-time value, the first branch is taken if one of the two synchronises,
because then all threads take the same branch; otherwise the accesses of both are skipped. Loops of
unknown trip count have `UNKNOWN_TRIP_COUNT` iterations. A run in which such a loop or branch
synchronises is a guess, and its findings are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Steps
from tilewright.analysis.thread_sync.faults import NotAnalysedError
from tilewright.analysis.thread_sync.loop_sampling import Shortening, orders, shortening_of
from tilewright.analysis.thread_sync.program import Act, Blocking, CompiledCode, Compiler, Rule
from tilewright.analysis.thread_sync.state import Frame
from tilewright.analysis.thread_sync.values import Partly, Value, merged
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile.warps import WsOp

UNKNOWN_TRIP_COUNT = 5
_PASSED = 64
"""Steps that an iteration of a loop costs at least."""


# -- branches ----------------------------------------------------------------------------------


def _if(compiler: Compiler, op: Operation) -> Act | Blocking:
    condition = compiler.slot(op.operands[0])
    then = compiler.code(op.regions[0].block)
    other = compiler.code(op.regions[1].block) if op.regions[1].blocks else CompiledCode([], [])
    results = compiler.all_slots(op.results)
    is_ordering = orders(op)

    def ways(frame: Frame) -> list[tuple[CompiledCode, Any]]:
        """The branches that are taken, with the masks of their threads."""
        chosen: Value = frame.env[condition]
        if chosen is None:
            if is_ordering:
                frame.block.budget.guess = op
                return [(then, frame.mask)]
            frame.is_unsure = True
            return [(then, frame.mask), (other, frame.mask)]
        if isinstance(chosen, int):
            return [(then if chosen else other, frame.mask)]
        chosen = chosen != 0
        taken = chosen if frame.mask is None else chosen & frame.mask
        rest = ~chosen if frame.mask is None else ~chosen & frame.mask
        found: list[tuple[CompiledCode, Any]] = []
        for code, mask in ((then, taken), (other, rest)):
            if mask.any():
                found.append((code, None if mask.all() else mask))
        return found

    def join(frame: Frame, values: list[list[Value]]) -> None:
        chosen = frame.env[condition]
        if len(values) == 1:
            found = values[0]
        else:
            pairs = zip(values[0], values[1], strict=True)
            found = [None if chosen is None else merged(chosen != 0, a, b) for a, b in pairs]
        for slot, value in zip(results, found, strict=True):
            frame.env[slot] = value

    def process(frame: Frame) -> Steps:
        mask, is_unsure, values = frame.mask, frame.is_unsure, list[list[Value]]()
        for code, chosen in ways(frame):
            frame.mask = chosen
            yield from code.process(frame)
            values.append([frame.env[slot] for slot in code.results])
        frame.mask, frame.is_unsure = mask, is_unsure
        if results:
            join(frame, values)

    def act(frame: Frame) -> None:
        for _ in process(frame):
            raise AssertionError("a branch that cannot wait does")

    return Blocking(process) if then.may_wait or other.may_wait else act


# -- loops -------------------------------------------------------------------------------------


def _for(compiler: Compiler, op: Operation) -> Act | Blocking:
    low, high, step, *initial = compiler.all_slots(op.operands)
    block = op.regions[0].block
    index, *carried = compiler.all_slots(block.args)
    code = compiler.code(block)
    results = compiler.all_slots(op.results)
    shortening = shortening_of(compiler.arena, op)
    is_ordering = orders(op)

    def iterations(frame: Frame) -> Iterator[None]:
        """Each iteration of the loop; between two the loop-carried values are updated."""
        env, mask = frame.env, frame.mask
        values = [env[each] for each in initial]
        start, end, by = env[low], env[high], env[step]
        if is_ordering and (start is None or end is None or by is None):
            frame.block.budget.guess = op
        for ordinal, current, mask_of in _indices(frame, op, (start, end, by), shortening):
            frame.mask = mask if mask_of is None else mask_of
            env[index] = current
            for slot, value in zip(carried, values, strict=True):
                env[slot] = value
            frame.block.budget.spend(op, len(code.steps) + _PASSED)
            frame.iterations.append((op, ordinal))
            yield
            frame.iterations.pop()
            new = [env[each] for each in code.results]
            if mask_of is not None:
                new = [merged(mask_of, a, b) for a, b in zip(new, values, strict=True)]
            values = new
        frame.mask = mask
        for slot, value in zip(results, values, strict=True):
            env[slot] = value

    def act(frame: Frame) -> None:
        for _ in iterations(frame):
            code.run(frame)

    def process(frame: Frame) -> Steps:
        for _ in iterations(frame):
            yield from code.process(frame)

    return Blocking(process) if code.may_wait else act


def _indices(
    frame: Frame, op: Operation, bounds: tuple[Value, Value, Value], shortening: Shortening | None
) -> Iterator[tuple[int, Value, Any]]:
    """The ordinal, the index and the threads (None: as before) of each iteration."""
    start, end, by = bounds
    if start is None or end is None or by is None or (isinstance(by, int) and by <= 0):
        first, step = (start if start is not None else 0), (by if isinstance(by, int) else 1)
        for ordinal in range(UNKNOWN_TRIP_COUNT):
            yield ordinal, first + ordinal * step, None
        return
    if all(isinstance(each, int) for each in bounds):
        count = max(0, -(-(end - start) // by))
        skip, after = (0, count)
        if shortening is not None and frame.block.budget.is_short:
            skip, after = shortening.skip(frame.block.budget, count)
        for ordinal in range(count - skip):
            skipped_to = ordinal if ordinal < after else ordinal + skip
            yield skipped_to, start + skipped_to * by, None
        return
    counts = np.maximum(0, -(-(end - start) // by))
    counts_here = counts if frame.mask is None else np.where(frame.mask, counts, 0)
    for ordinal in range(int(counts_here.max())):
        active = np.broadcast_to(counts_here > ordinal, (frame.count,))
        yield ordinal, start + ordinal * by, active


def _while(compiler: Compiler, op: Operation) -> Act | Blocking:
    before, after = (region.block for region in op.regions)
    initial = compiler.all_slots(op.operands)
    heads, tails = compiler.all_slots(before.args), compiler.all_slots(after.args)
    test, body = compiler.code(before), compiler.code(after)
    results = compiler.all_slots(op.results)
    is_ordering = orders(op)

    def process(frame: Frame) -> Steps:
        env, mask = frame.env, frame.mask
        values = [env[each] for each in initial]
        unknown = 0
        out: list[Value] = []
        while True:
            for slot, value in zip(heads, values, strict=True):
                env[slot] = value
            yield from test.process(frame)
            frame.block.budget.spend(op, len(body.steps) + _PASSED)
            condition, *new = [env[each] for each in test.results]
            here = frame.mask
            out = new if not out or here is None else _merged_all(here, new, out)
            if condition is None:
                unknown += 1
                if is_ordering:
                    frame.block.budget.guess = op
                condition = unknown < UNKNOWN_TRIP_COUNT
            goes_on = condition
            if not isinstance(condition, int):
                goes_on = (condition != 0) & (np.True_ if here is None else here)
                frame.mask = None if goes_on.all() else goes_on
                goes_on = bool(goes_on.any())
            if not goes_on:
                break
            for slot, value in zip(tails, new, strict=True):
                env[slot] = value
            yield from body.process(frame)
            values = [env[each] for each in body.results]
        frame.mask = mask
        for slot, value in zip(results, out, strict=True):
            env[slot] = value

    def act(frame: Frame) -> None:
        for _ in process(frame):
            raise AssertionError("a loop that cannot wait does")

    return Blocking(process) if test.may_wait or body.may_wait else act


def _merged_all(mask: Any, new: list[Value], old: list[Value]) -> list[Value]:
    return [merged(mask, a, b) for a, b in zip(new, old, strict=True)]


# -- roles -------------------------------------------------------------------------------------


def _roles(compiler: Compiler, op: Operation) -> Act:
    """Roles are started by `run.py`, as separate tasks."""
    assert isinstance(op, WsOp)
    if not isinstance(op.parent_op(), FuncOp):
        raise NotAnalysedError(
            op, "a warp-specialised region is nested in a loop, a branch or a role"
        )
    bodies = [compiler.code(region.block) for region in op.bodies]
    roles = list(op.roles)

    def act(frame: Frame) -> None:
        rest = np.ones(frame.count, np.bool_)
        parts: list[tuple[CompiledCode | None, Any, str]] = []
        for role, code in zip(roles, bodies, strict=True):
            taken = np.zeros(frame.count, np.bool_)
            for first, stop in role.ranges:
                taken |= (frame.tids >= first) & (frame.tids < stop)
            rest &= ~taken
            if taken.any():
                parts.append((code, taken, role.name))
        if rest.any():
            parts.append((None, rest, frame.name))
        frame.split = parts

    return act


def part_of(frame: Frame, mask: Any, name: str) -> Frame:
    """Some of the threads of a frame, as a separate frame."""
    if mask.all():
        frame.name = name
        return frame
    frame.flush()
    part = Frame(frame.block, frame.tids[mask], [_of(each, mask) for each in frame.env], name)
    part.held = {
        buffer: {element: _of(value, mask) for element, value in held.items()}
        for buffer, held in frame.held.items()
    }
    part.cluster_waits = frame.cluster_waits
    return part


def _of(value: Value, mask: Any) -> Value:
    """The values of some of the threads."""
    if isinstance(value, Partly):
        value = value.value(None)
    return value[mask] if isinstance(value, np.ndarray) and value.shape == mask.shape else value


def _bounds(op: Operation) -> list[SSAValue]:
    return list(op.operands[:3])


RULES: Mapping[str, Rule] = {
    "scf.if": Rule(lambda op: op.operands[:1], _if),
    "scf.for": Rule(_bounds, _for),
    "scf.while": Rule(
        lambda op: [*op.operands, *[each for end in _ends(op) for each in end.operands]], _while
    ),
    "tile.ws": Rule(lambda op: (), _roles),
}


def _ends(op: Operation) -> list[Operation]:
    return [region.block.last_op for region in op.regions if region.block.last_op is not None]
