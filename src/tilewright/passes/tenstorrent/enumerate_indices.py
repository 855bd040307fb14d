"""All values of an index, by the block and loop indices that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import KernelOp, PipelineOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tenstorrent.control_flow import integer_of

MAX_VALUES = 1 << 16


class NotEnumerable(Exception):
    """An index that depends on something else than blocks, loops and tables, or has many values."""


class _NotExecuted(Exception):
    """A table has no entry: the code that reads it is not executed for these indices."""


@dataclass(frozen=True)
class Enumeration:
    """The values of some integers at every combination of indices."""

    indices: tuple[SSAValue, ...]
    values: Mapping[tuple[int, ...], tuple[int, ...]]
    """By the values of `indices`: one integer for each of the queried ones."""


def enumerated(values: Sequence[Mixed], given: Mapping[SSAValue, int] | None = None) -> Enumeration:
    """The values of integers; `given` are indices with a value of their own.

    Raises:
        NotEnumerable: if one of them is not an integer of blocks and loops.
    """
    known = dict(given or {})
    indices: dict[SSAValue, None] = {}
    for value in values:
        _collect(value, known, indices)
    ordered = sorted(indices, key=_depth)
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    _visit(ordered, {}, known, values, found)
    return Enumeration(tuple(ordered), found)


def _collect(value: Mixed, given: Mapping[SSAValue, int], found: dict[SSAValue, None]) -> None:
    """The indices that a value, or the range of such an index, depends on."""
    if isinstance(value, int) or value in given or value in found:
        return
    if isinstance(constant_value(value), IntegerAttr):
        return
    owner = value.owner
    if isinstance(owner, Block):
        for bound in _bounds(value):
            _collect(bound, given, found)
        found[value] = None
        return
    for operand in owner.operands:
        _collect(operand, given, found)


def _depth(index: SSAValue) -> tuple[int, int]:
    """Outer indices first."""
    block = index.owner
    assert isinstance(block, Block)
    depth = 0
    parent = block.parent_op()
    while parent is not None:
        depth += 1
        parent = parent.parent_op()
    return depth, list(block.args).index(index)  # pyright: ignore[reportArgumentType]


def _bounds(index: SSAValue) -> tuple[Mixed, Mixed, Mixed]:
    block = index.owner
    op = block.parent_op() if isinstance(block, Block) else None
    if isinstance(op, KernelOp):
        return 0, op.grid[op.body_block.args.index(index)], 1
    if isinstance(op, ForOp) and index is op.body.block.args[0]:
        return op.lower_bound, op.upper_bound, op.step
    if isinstance(op, PipelineOp):
        return op.lower, op.upper, 1
    raise NotEnumerable


def _visit(
    rest: Sequence[SSAValue],
    chosen: dict[SSAValue, int],
    given: Mapping[SSAValue, int],
    values: Sequence[Mixed],
    found: dict[tuple[int, ...], tuple[int, ...]],
) -> None:
    if not rest:
        if len(found) >= MAX_VALUES:
            raise NotEnumerable
        environment = {**given, **chosen}
        with suppress(_NotExecuted):
            found[tuple(chosen.values())] = tuple(_value(each, environment) for each in values)
        return
    index, *others = rest
    try:
        lower, upper, step = (_value(each, {**given, **chosen}) for each in _bounds(index))
    except _NotExecuted:
        return
    for value in range(lower, upper, step):
        _visit(others, {**chosen, index: value}, given, values, found)


def _value(value: Mixed, known: Mapping[SSAValue, int]) -> int:
    if isinstance(value, int):
        return value
    if value in known:
        return known[value]
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return constant.value.data
    owner = value.owner
    if not isinstance(owner, Operation) or not owner.operands:
        raise NotEnumerable
    try:
        computed = integer_of(owner, [_value(each, known) for each in owner.operands])
    except IndexError:
        raise _NotExecuted from None
    except ZeroDivisionError:
        computed = None
    if computed is None:
        raise NotEnumerable
    return computed
