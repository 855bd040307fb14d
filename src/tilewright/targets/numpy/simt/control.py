"""Loops, branches and roles, with threads that go different ways."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv.cache import HintedLoadOp
from tilewright.dialects.scf import YieldOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.targets.numpy.simt.machine import Wait
from tilewright.targets.numpy.simt.program import Act, Blocking, Compiler, Rule, SimtCode, Steps
from tilewright.targets.numpy.simt.scalars import constant_of, function_of
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.support.select import where


def scalar_rule(compiler: Compiler, op: Operation) -> Act:
    """An op that computes numbers from numbers."""
    function, slots = function_of(op), compiler.all_slots(op.operands)
    results = compiler.all_slots(op.results)
    if len(results) > 1:

        def several(frame: Frame) -> None:
            env = frame.env
            for slot, value in zip(results, function(*[env[each] for each in slots]), strict=True):
                env[slot] = value

        return several
    (result,) = results
    if len(slots) == 2:
        first, second = slots

        def two(frame: Frame) -> None:
            env = frame.env
            env[result] = function(env[first], env[second])

        return two

    def any_count(frame: Frame) -> None:
        env = frame.env
        env[result] = function(*[env[each] for each in slots])

    return any_count


def _constant(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, ConstantOp)
    value, slot = constant_of(op), compiler.slot(op.result)

    def act(frame: Frame) -> None:
        frame.env[slot] = value

    return act


def either(code: SimtCode, process: Any, act: Act) -> Act | Blocking:
    """An op whose body may wait, or cannot."""
    return Blocking(process) if code.may_wait else act


# -- branches ----------------------------------------------------------------------------------


def _if(compiler: Compiler, op: Operation) -> Act | Blocking:
    condition = compiler.slot(op.operands[0])
    then = compiler.code(op.regions[0].block)
    other = compiler.code(op.regions[1].block) if op.regions[1].blocks else SimtCode([], [])
    results = compiler.all_slots(op.results)

    def ways(frame: Frame) -> list[tuple[SimtCode, Any]]:
        """The branches that are taken, and the threads that take them."""
        chosen = frame.env[condition]
        if chosen.ndim == 0:
            return [(then if chosen else other, frame.mask)]
        taken = chosen if frame.mask is None else chosen & frame.mask
        rest = ~chosen if frame.mask is None else ~chosen & frame.mask
        found: list[tuple[SimtCode, Any]] = []
        for code, mask in ((then, taken), (other, rest)):
            if mask.any():
                found.append((code, None if mask.all() else mask))
        return found

    def join(frame: Frame, values: list[tuple[Any, list[Any]]]) -> None:
        if len(values) == 1:
            found = values[0][1]
        else:
            mask = frame.env[condition]
            found = [where(mask, a, b) for a, b in zip(values[0][1], values[1][1], strict=True)]
        for slot, value in zip(results, found, strict=True):
            frame.env[slot] = value

    def act(frame: Frame) -> None:
        mask, values = frame.mask, list[tuple[Any, list[Any]]]()
        for code, chosen in ways(frame):
            frame.mask = chosen
            code.run(frame)
            values.append((chosen, [frame.env[slot] for slot in code.results]))
        frame.mask = mask
        if results:
            join(frame, values)

    def process(frame: Frame) -> Steps:
        mask, values = frame.mask, list[tuple[Any, list[Any]]]()
        for code, chosen in ways(frame):
            frame.mask = chosen
            yield from code.process(frame)
            values.append((chosen, [frame.env[slot] for slot in code.results]))
        frame.mask = mask
        if results:
            join(frame, values)

    return Blocking(process) if then.may_wait or other.may_wait else act


# -- loops -------------------------------------------------------------------------------------


def _for(compiler: Compiler, op: Operation) -> Act | Blocking:
    low, high, step, *initial = compiler.all_slots(op.operands)
    block = op.regions[0].block
    index, *carried = compiler.all_slots(block.args)
    code = compiler.code(block)
    results = compiler.all_slots(op.results)

    def iterations(frame: Frame) -> Any:
        """Each iteration of the loop; loop-carried values advance in between."""
        env = frame.env
        start, end, by = (env[each] for each in (low, high, step))
        values = [env[each] for each in initial]
        mask = frame.mask
        is_uniform = not (start.ndim or end.ndim or by.ndim)
        current = start
        while True:
            goes_on = current < end
            if is_uniform:
                if not goes_on:
                    break
            else:
                goes_on = frame.wide(goes_on) & (frame.all if mask is None else mask)
                if not goes_on.any():
                    break
                frame.mask = goes_on
            env[index] = current
            for slot, value in zip(carried, values, strict=True):
                env[slot] = value
            yield
            new = [env[each] for each in code.results]
            if not is_uniform:
                new = [where(goes_on, a, b) for a, b in zip(new, values, strict=True)]
            values = new
            current = current + by
        frame.mask = mask
        for slot, value in zip(results, values, strict=True):
            env[slot] = value

    def act(frame: Frame) -> None:
        for _ in iterations(frame):
            code.run(frame)
            frame.block.count_step()

    def process(frame: Frame) -> Steps:
        for _ in iterations(frame):
            yield from code.process(frame)

    return either(code, process, act)


_LOOKS = frozenset(("load", "cas"))
"""Atomic ops that leave memory as it is, `cas` where the loop goes on."""


def _polls(op: Operation) -> bool:
    """Whether a loop only looks at memory until it has changed, and counts nothing."""
    reads = False
    written: set[SSAValue] = set()
    for each in op.walk():
        if isinstance(each, AtomicOp):
            if each.kind.data not in _LOOKS:
                return False
            reads = True
        elif isinstance(each, LoadOp | HintedLoadOp):
            space = space_of(each.operands[0].type)
            reads |= space is Space.GLOBAL or (space is not None and space.is_shared)
        elif isinstance(each, StoreOp):
            space = space_of(each.memref.type)
            if space is None or not space.is_per_thread:
                return False
            written.add(each.memref)
        elif each is not op and not _only_computes(each):
            return False
    ends = [each for each in op.walk() if isinstance(each, StoreOp | YieldOp)]
    return reads and not any(
        _counts(operand, op, written) for end in ends for operand in end.operands
    )


def _only_computes(op: Operation) -> bool:
    return op.name.startswith(("arith.", "scf.if", "scf.yield", "scf.condition"))


def _counts(value: SSAValue, loop: Operation, written: Container[SSAValue]) -> bool:
    """Whether a value is computed from what an earlier iteration computed."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        owner = current.owner
        if isinstance(owner, Block):
            if current is not value and owner.parent_op() is loop:
                return True
            continue
        if not loop.is_ancestor(owner):
            continue
        if isinstance(owner, LoadOp) and owner.memref in written:
            return True
        new = [each for inner in owner.walk() for each in inner.operands if each not in seen]
        seen.update(new)
        pending += new
    return False


def _while(compiler: Compiler, op: Operation) -> Act | Blocking:
    is_poll = _polls(op)
    before, after = (region.block for region in op.regions)
    initial = compiler.all_slots(op.operands)
    heads, tails = compiler.all_slots(before.args), compiler.all_slots(after.args)
    test, body = compiler.code(before), compiler.code(after)
    results = compiler.all_slots(op.results)

    def process(frame: Frame) -> Steps:
        env, mask = frame.env, frame.mask
        values = [env[each] for each in initial]
        passed: list[Any] = []
        poll = object()
        while True:
            for slot, value in zip(heads, values, strict=True):
                env[slot] = value
            yield from test.process(frame)
            condition, *out = [env[each] for each in test.results]
            here = frame.active
            passed = (
                out if not passed else [where(here, a, b) for a, b in zip(out, passed, strict=True)]
            )
            goes_on = frame.wide(condition) & here
            if not goes_on.any():
                break
            frame.mask = None if goes_on.all() else goes_on
            if is_poll:
                yield Wait("memory that it polls to change", _never, _nothing, site=op, poll=poll)
            for slot, value in zip(tails, out, strict=True):
                env[slot] = value
            yield from body.process(frame)
            new = [env[each] for each in body.results]
            values = [where(goes_on, a, b) for a, b in zip(new, values, strict=True)]
        frame.mask = mask
        for slot, value in zip(results, passed, strict=True):
            env[slot] = value

    def act(frame: Frame) -> None:
        for _ in process(frame):
            raise frame.problem(
                "deadlock", "the condition of a while loop waits, but nothing can wait there"
            )

    return Blocking(process) if is_poll or test.may_wait or body.may_wait else act


def _never() -> bool:
    return False


def _nothing() -> str:
    return ""


# -- roles -------------------------------------------------------------------------------------


def _roles(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, WsOp)
    bodies = [compiler.code(region.block) for region in op.bodies]
    roles = list(op.roles)

    def process(frame: Frame) -> Steps:
        machine = frame.block.machine
        tasks: list[Any] = []
        for role, code in zip(roles, bodies, strict=True):
            threads = np.concatenate([np.arange(first, end) for first, end in role.ranges])
            threads = threads[np.isin(threads, frame.tids)]
            if not len(threads):
                continue
            rows = np.searchsorted(frame.tids, threads)
            env = [_rows(each, rows, frame.count) for each in frame.env]
            part = Frame(frame.block, threads, env, role.name)
            task = machine.spawn(role.name, code.process(part), part)
            tasks.append(task)
        yield from machine.join(tasks)

    return Blocking(process)


def _rows(value: Any, rows: Any, count: int) -> Any:
    """What some of the threads hold."""
    if isinstance(value, np.ndarray) and value.shape == (count,):
        return value[rows]
    return value


# -- ids ---------------------------------------------------------------------------------------

_AXES = {"x": 0, "y": 1, "z": 2}


def _axis(op: Operation) -> int:
    dimension: Any = op.properties["dimension"]
    return _AXES[str(getattr(dimension.data, "value", dimension.data))]


def _thread_id(compiler: Compiler, op: Operation) -> Act:
    slot, axis = compiler.slot(op.results[0]), _axis(op)

    def act(frame: Frame) -> None:
        frame.env[slot] = frame.tids.astype(np.int64) if axis == 0 else np.int64(0)

    return act


def _of_block(attribute: str) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Act:
        slot, axis = compiler.slot(op.results[0]), _axis(op)

        def act(frame: Frame) -> None:
            frame.env[slot] = np.int64(getattr(frame.block, attribute)[axis])

        return act

    return rule


def _block_dim(compiler: Compiler, op: Operation) -> Act:
    slot, axis = compiler.slot(op.results[0]), _axis(op)

    def act(frame: Frame) -> None:
        frame.env[slot] = np.int64(frame.block.threads if axis == 0 else 1)

    return act


def _by_thread(compute: Callable[[Any, int], Any]) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Act:
        slot = compiler.slot(op.results[0])

        def act(frame: Frame) -> None:
            frame.env[slot] = compute(frame.tids, frame.warp_size).astype(np.int64)

        return act

    return rule


def _rank(compiler: Compiler, op: Operation) -> Act:
    slot = compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        frame.env[slot] = np.int32(frame.block.rank)

    return act


def _assert(compiler: Compiler, op: Operation) -> Act:
    slot = compiler.slot(op.operands[0])
    message = op.properties.get("message")
    text = message.data if isinstance(message, StringAttr) else "assertion failed"

    def act(frame: Frame) -> None:
        if not (frame.wide(frame.env[slot]) | ~frame.active).all():
            raise frame.problem("assertion", text)

    return act


def _print(compiler: Compiler, op: Operation) -> Act:
    slots = [compiler.slot(each) for each in op.operands]

    def act(frame: Frame) -> None:
        if frame.block.options.output is not None:
            shown = " ".join(str(frame.env[each]) for each in slots)
            frame.block.options.output(shown)

    return act


def nothing(compiler: Compiler, op: Operation) -> None:
    """An op that is no instruction."""


RULES: Mapping[str, Rule] = {
    "arith.constant": _constant,
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "tile.ws": _roles,
    "tile.assume": nothing,
    "tile.assert": _assert,
    "tile.print": _print,
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _of_block("index"),
    "gpu.grid_dim": _of_block("grid"),
    "gpu.block_dim": _block_dim,
    "gpu.lane_id": _by_thread(lambda tids, warp_size: tids % warp_size),
    "gpu.subgroup_id": _by_thread(lambda tids, warp_size: tids // warp_size),
    "nv.cluster.rank": _rank,
    "nv.setmaxnreg": nothing,
    "nv.grid.trigger": nothing,  # kernels run sequentially
    "nv.grid.wait": nothing,
}
