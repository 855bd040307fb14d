"""The lines of a tile along one dimension, distributed over threads: for scans and reductions.

    (outer, length, inner), 128 threads in warps of 32:
    inner = 1    warps in parallel along the line, 32 consecutive elements of it at a time
    inner >= 32  a thread for each of 32 neighbouring lines, each thread along its own line
    between      both: `side` adjacent lines, `along` consecutive elements of each

So lanes of a warp read contiguous memory whichever dimension it is. Where there are more warps than
lines, each line is cut into consecutive `sections`, and the total of a section is passed to the
others through shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.dialects.builtin import IndexType, MemRefType, NoneAttr, UnitAttr, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.analysis.layout_inference.scopes import Threads, threads_of
from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, Space, SpaceAttr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.gpu.lower.loops import counted
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, split

_SHORT = 4
"""Steps of a line that are not worth another round through memory."""


@dataclass(frozen=True)
class Deal:
    """Which thread takes which part of which line."""

    shape: tuple[int, ...]
    axis: int
    threads: int
    side: int
    """Neighbouring lines in neighbouring lanes."""
    along: int
    """Consecutive elements of a line in one warp."""
    sections: int
    """Parts of a line that different groups of lanes take."""

    @classmethod
    def of(cls, shape: Sequence[int], axis: int, scope: Threads) -> Deal:
        inner, length = prod(shape[axis + 1 :]), shape[axis]
        threads, lanes = scope.count, scope.warp_size
        side = _power_below(min(inner, lanes, threads))
        # Shuffles need whole warps.
        along = 1 if threads % lanes else min(lanes // side, _power_above(length))
        deal = cls(tuple(shape), axis, threads, side, along, 1)
        spare = deal.groups // deal.bundles
        if deal.steps <= _SHORT or spare < 2:
            return deal
        return cls(tuple(shape), axis, threads, side, along, min(spare, deal.steps))

    @property
    def length(self) -> int:
        return self.shape[self.axis]

    @property
    def inner(self) -> int:
        return prod(self.shape[self.axis + 1 :])

    @property
    def group(self) -> int:
        """Lanes that work together."""
        return self.side * self.along

    @property
    def groups(self) -> int:
        return self.threads // self.group

    @property
    def whole_groups(self) -> int:
        """Groups that threads belong to, the last of which may be cut short."""
        return ceil(self.threads / self.group)

    @property
    def across(self) -> int:
        """Bundles of adjacent lines that are processed in parallel."""
        return -(-self.inner // self.side)

    @property
    def bundles(self) -> int:
        return prod(self.shape[: self.axis]) * self.across

    @property
    def at_once(self) -> int:
        """Bundles that all threads together take."""
        return self.groups // self.sections

    @property
    def iterations(self) -> int:
        return -(-self.bundles // self.at_once)

    @property
    def steps(self) -> int:
        """The trip count of a thread along its section."""
        return ceil(ceil(self.length / self.along) / self.sections)

    @property
    def span(self) -> int:
        """Elements of a section."""
        return self.steps * self.along


def _power_below(value: int) -> int:
    return 1 << (value.bit_length() - 1)


def _power_above(value: int) -> int:
    return 1 << (value - 1).bit_length()


@dataclass(frozen=True)
class Here:
    """The position of the running thread: its group, and its line in one of the iterations."""

    deal: Deal
    group: Mixed
    section: Mixed
    along: Mixed
    side: Mixed
    line: tuple[Mixed, ...]
    """The coordinates of its line, without the one along it."""
    exists: SSAValue | None
    """Whether there is such a line, where that is not known."""

    def position(self, code: IndexBuilder, step: Mixed) -> tuple[Mixed, SSAValue | None]:
        """Where the thread is along the line, and whether the tile has that."""
        deal = self.deal
        start = combined(code, "*", self.section, deal.span)
        forward = combined(code, "+", combined(code, "*", step, deal.along), self.along)
        position = combined(code, "+", start, forward)
        if deal.span * deal.sections == deal.length:
            return position, self.exists
        return position, both_of(code, self.exists, below(code, position, deal.length))

    def indices(self, position: Mixed) -> tuple[Mixed, ...]:
        """The coordinates of the element at a position along the line."""
        return (*self.line[: self.deal.axis], position, *self.line[self.deal.axis :])


def below(code: IndexBuilder, value: Mixed, limit: int) -> SSAValue:
    return code.add(CmpiOp("ult", code.index(value), code.index(limit))).results[0]


def both_of(code: IndexBuilder, one: SSAValue | None, other: SSAValue | None) -> SSAValue | None:
    """Two conditions as one; None holds always."""
    if one is None or other is None:
        return other if one is None else one
    return code.add(AndiOp(one, other)).results[0]


def for_each_line(
    code: IndexBuilder,
    deal: Deal,
    element: Attribute,
    write: Callable[[IndexBuilder, Here, SSAValue | None], None],
) -> None:
    """Let `write` emit what a thread does for its line, in all its iterations.

    It gets the memory through which the sections of a line exchange totals, if there are several.
    """
    exchange = _exchange(code, deal, element) if deal.sections > 1 else None
    scope = threads_of(code.origin)
    tid = code.minus(code.add(ThreadIdOp("x")).results[0], scope.first)
    group = combined(code, "floordiv", tid, deal.group)
    lane = combined(code, "mod", tid, deal.group)
    section = combined(code, "mod", group, deal.sections)
    slot = combined(code, "floordiv", group, deal.sections)
    along = combined(code, "floordiv", lane, deal.side)
    side = combined(code, "mod", lane, deal.side)
    iteration: Mixed = 0
    if deal.iterations > 1:
        # Iterations access different lines.
        code, iteration = counted(code, deal.iterations, simt_names.SHARE)
    bundle = combined(code, "+", combined(code, "*", iteration, deal.at_once), slot)
    exists: SSAValue | None = None
    if deal.iterations * deal.at_once != deal.bundles:
        exists = below(code, bundle, deal.bundles)
    if deal.threads != deal.at_once * deal.sections * deal.group:
        exists = both_of(code, exists, below(code, slot, deal.at_once))
    column = combined(code, "mod", bundle, deal.across)
    inner = combined(code, "+", combined(code, "*", column, deal.side), side)
    if deal.inner % deal.side:
        exists = both_of(code, exists, below(code, inner, deal.inner))
    outer = combined(code, "floordiv", bundle, deal.across)
    before = split(code, outer, deal.shape[: deal.axis])
    after = split(code, inner, deal.shape[deal.axis + 1 :])
    write(code, Here(deal, group, section, along, side, (*before, *after), exists), exchange)


def folded(
    code: IndexBuilder,
    count: int,
    start: SSAValue,
    write: Callable[[IndexBuilder, Mixed, SSAValue], SSAValue],
) -> SSAValue:
    """The value after `count` iterations, each of which maps the value of the one before."""
    if count == 1:
        return write(code, 0, start)
    block = Block([], arg_types=[IndexType(), start.type])
    end = YieldOp([block.args[1]])
    block.add_op(end)
    bounds = (code.index(0), code.index(count), code.index(1))
    loop = ForOp(*bounds, [start], Region(block))
    loop.attributes[simt_names.SHARE] = UnitAttr()  # iterations access different elements
    code.add(loop)
    end.operands[0] = write(code.inside(block), block.args[0], block.args[1])
    return loop.results[0]


def chosen(
    code: IndexBuilder,
    condition: SSAValue | None,
    make: Callable[[IndexBuilder], SSAValue],
    other: SSAValue,
) -> SSAValue:
    """What `make` gives where the condition holds, and `other` elsewhere."""
    if condition is None:
        return make(code)
    then, otherwise = Block([YieldOp([other])]), Block([YieldOp([other])])
    choice = code.add(IfOp(condition, [other.type], Region(then), Region(otherwise)))
    found = make(code.inside(then))
    assert then.last_op is not None
    then.last_op.operands[0] = found
    return choice.results[0]


def distance(code: IndexBuilder, lanes: int) -> SSAValue:
    return code.add(ConstantOp.of(lanes, i32)).results[0]


def _exchange(code: IndexBuilder, deal: Deal, element: Attribute) -> SSAValue:
    """Shared memory for one number of each line of each group."""
    size = deal.whole_groups * deal.side
    type = MemRefType(element, (size,), NoneAttr(), SpaceAttr(Space.SHARED))
    return code.add(AllocOp(type, name="exchange")).results[0]
