"""Reductions and scans by a combiner, as parallel loops over shared memory.

A combiner has no identity and need not be commutative, so elements combine in their order, eight
adjacent ones in a thread at a time::

    reduce   a b c d e f g h | i j ...      ((a b)(c d))((e f)(g h)), ...      then those, until one
    scan     a b c d e f g h | i j ...      a, ab, abc, ... abcdefgh | i, ij, ...
                                            totals of the groups are scanned in the same way;
                                            each element gets the total of all groups before its own

A reduction is the balanced tree over adjacent elements that the NumPy target computes as well
(`targets/numpy/support/reductions.py`), so its bits are the same. The eight elements that a thread
reads are contiguous: staged lines are swizzled, so that the lanes of a warp read different banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.dialects.arith import CmpiOp, MaxuiOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ParallelOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.combiners import CombinerOp, ReduceByOp, ReturnOp, ScanByOp
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import TileRegion, part_of

GROUP = 8
"""Adjacent elements that a thread combines at a time."""
_BANKS = 32

Elements: TypeAlias = Sequence[SSAValue]
"""One element of each operand."""
Put: TypeAlias = Callable[[IndexBuilder, "Line", Elements], None]


def expand_reduce_by(op: ReduceByOp) -> None:
    """Replace a reduction by rounds, each of which leaves one element of eight."""
    code = IndexBuilder(op)
    lines = _Lines(op, _sources(code, op))
    length = lines.length
    while length > GROUP:
        shorter = _staged(code, op, lines.shape_of_length(-(-length // GROUP)), "parts")
        for first, count, size in _groups(length):
            _reduce_groups(code, lines, first, count, size, shorter.put)
        lines = shorter
        length = lines.length
    _reduce_groups(code, lines, 0, 1, length, _destinations(op).put)
    code.rewriter.erase(op)


def expand_scan_by(op: ScanByOp) -> None:
    """Replace a scan by scans of groups and of their totals."""
    code = IndexBuilder(op)
    lines = _Lines(op, _sources(code, op), is_reversed=op.reverse is not None)
    target = _Lines(op, [part_of(value) for value in op.dsts], is_reversed=op.reverse is not None)
    _scan(code, op, lines, target)
    code.rewriter.erase(op)


def _scan(code: IndexBuilder, op: ScanByOp, lines: _Lines, target: _Lines) -> None:
    length = lines.length
    if length <= GROUP:
        _scan_groups(code, lines, 0, 1, length, target, None)
        return
    running = _staged(code, op, lines.shape, "running")
    totals = _staged(code, op, lines.shape_of_length(-(-length // GROUP)), "totals")
    for first, count, size in _groups(length):
        _scan_groups(code, lines, first, count, size, running, totals)
    before = _staged(code, op, totals.shape, "before")
    _scan(code, op, totals, before)
    body, line = target.loop(code, length)
    group = body.index(combined(body, "floordiv", line.position, GROUP))
    has = body.add(CmpiOp("ne", group, body.index(0))).results[0]
    # The first group has none before it, and combines with itself for nothing.
    previous = combined(body, "-", body.add(MaxuiOp(group, body.index(1))).results[0], 1)
    own = running.get(body, line)
    whole = _combined(body, op, before.get(body, line.at(previous)), own)
    chosen = [
        body.add(SelectOp(has, more, less)).results[0]
        for more, less in zip(whole, own, strict=True)
    ]
    target.put(body, line, chosen)


def _groups(length: int) -> list[tuple[int, int, int]]:
    """The first of some groups, how many, and how many elements each has."""
    whole, rest = divmod(length, GROUP)
    found = [(0, whole, GROUP)] if whole else []
    return [*found, (whole, 1, rest)] if rest else found


def _reduce_groups(
    code: IndexBuilder, lines: _Lines, first: int, count: int, size: int, put: Put
) -> None:
    body, group = lines.loop(code, count, first, is_spread=count > 1)
    held = [lines.get(body, group.element(body, index)) for index in range(size)]
    while len(held) > 1:
        pairs = zip(held[::2], held[1::2], strict=False)
        level = [_combined(body, lines.op, one, other) for one, other in pairs]
        held = level + held[len(level) * 2 :]
    put(body, group, held[0])


def _scan_groups(
    code: IndexBuilder,
    lines: _Lines,
    first: int,
    count: int,
    size: int,
    target: _Lines,
    totals: _Lines | None,
) -> None:
    body, group = lines.loop(code, count, first, is_spread=count > 1)
    # All are read first: the scan may be in place.
    held = [lines.get(body, group.element(body, index)) for index in range(size)]
    running = held[0]
    for index, more in enumerate(held):
        running = running if index == 0 else _combined(body, lines.op, running, more)
        target.put(body, group.element(body, index), running)
    if totals is not None:
        totals.put(body, group, running)


def _combined(code: IndexBuilder, op: CombinerOp, left: Elements, right: Elements) -> Elements:
    """The combiner's ops, applied to two tuples of elements."""
    values: dict[SSAValue, SSAValue] = dict(zip(op.block.args, (*left, *right), strict=True))
    for each in op.block.ops:
        if isinstance(each, ReturnOp):
            return [values.get(value, value) for value in each.values]
        code.add(copy_op(each, values))
    raise AssertionError("a combiner ends with tile.return")


# -- lines -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A position along one of the lines of a tile."""

    before: tuple[SSAValue, ...]
    position: Mixed
    after: tuple[SSAValue, ...]

    def at(self, position: Mixed) -> Line:
        return Line(self.before, position, self.after)

    def element(self, code: IndexBuilder, index: int) -> Line:
        """An element of the group that the position counts."""
        start = combined(code, "*", self.position, GROUP)
        return self.at(combined(code, "+", start, index))


class _Lines:
    """One part of memory for each operand, read and written line by line."""

    def __init__(
        self, op: CombinerOp, parts: Sequence[TileRegion], *, is_reversed: bool = False
    ) -> None:
        self.op = op
        self.parts = parts
        self.is_reversed = is_reversed
        """Whether positions count from the end of a line."""

    @property
    def shape(self) -> tuple[int, ...]:
        shape = tuple(each for each in self.parts[0].extents if isinstance(each, int))
        assert len(shape) == len(self.parts[0].extents), "extents are known at compile time"
        return shape

    @property
    def length(self) -> int:
        return self.shape[self.op.axis]

    def shape_of_length(self, length: int) -> tuple[int, ...]:
        shape, axis = self.shape, self.op.axis
        return (*shape[:axis], length, *shape[axis + 1 :])

    def loop(
        self, code: IndexBuilder, count: int, first: int = 0, *, is_spread: bool = False
    ) -> tuple[IndexBuilder, Line]:
        """All lines at `count` positions from `first` on; adjacent threads at adjacent ones."""
        axis = self.op.axis
        width = 1 if is_spread else None
        loop = ParallelOp(list(self.shape_of_length(count)), coalesced_width=width)
        code.add(loop)
        body = code.inside(loop.body.block)
        indices = tuple(loop.body.block.args)
        position = first if count == 1 else combined(body, "+", indices[axis], first)
        return body, Line(indices[:axis], position, indices[axis + 1 :])

    def get(self, code: IndexBuilder, line: Line) -> Elements:
        return [
            code.add(LoadOp(part.buffer, self._indices(code, part, line))).results[0]
            for part in self.parts
        ]

    def put(self, code: IndexBuilder, line: Line, elements: Elements) -> None:
        for part, element in zip(self.parts, elements, strict=True):
            code.add(StoreOp(element, part.buffer, self._indices(code, part, line)))

    def _indices(self, code: IndexBuilder, part: TileRegion, line: Line) -> list[SSAValue]:
        position = line.position
        if self.is_reversed:
            position = combined(code, "-", self.length - 1, position)
        at = (*line.before, code.index(position), *line.after)
        return part.element(code, at, range(len(part.extents)))


class _Results(_Lines):
    """Destinations of a reduction, which may have no dimension, or one element, along a line."""

    def _indices(self, code: IndexBuilder, part: TileRegion, line: Line) -> list[SSAValue]:
        rank = len(part.extents)
        if rank == len(line.before) + 1 + len(line.after):
            at = (*line.before, code.index(line.position), *line.after)
            return part.element(code, at, range(rank))
        if rank == len(line.before) + len(line.after):
            return part.element(code, (*line.before, *line.after), range(rank))
        # Extents of 1 are left out on either side.
        shape = shape_of(self.op.srcs[0].type)
        around = (*line.before, *line.after)
        sizes = (*shape[: self.op.axis], *shape[self.op.axis + 1 :])
        longer = [at for at, size in zip(around, sizes, strict=True) if size != 1]
        return part.element(code, longer, part.axes)


def _destinations(op: ReduceByOp) -> _Lines:
    return _Results(op, [part_of(value) for value in op.dsts])


def _sources(code: IndexBuilder, op: CombinerOp) -> list[TileRegion]:
    """The operands in memory that all threads see, and that no destination overwrites."""
    written = {base_of(value) for value in op.dsts}
    is_whole = all(
        space_of(value.type) is not Space.FRAGMENT and base_of(value) not in written
        for value in op.srcs
    )
    parts = [part_of(value) for value in op.srcs]
    if is_whole:
        return parts
    source, target = _Lines(op, parts), _staged(code, op, shape_of(op.srcs[0].type), "staged")
    body, line = source.loop(code, source.length)
    target.put(body, line, source.get(body, line))
    return list(target.parts)


def _staged(code: IndexBuilder, op: CombinerOp, shape: Sequence[int], name: str) -> _Lines:
    """Shared memory for one tile of each operand."""
    layout = _swizzled(shape) if op.axis == len(shape) - 1 else None
    buffers = [
        code.add(
            AllocOp(
                MemRefType(element_type_of(value.type), shape, NoneAttr(), SpaceAttr(Space.SHARED)),
                name=name,
                layout=layout,
            )
        ).results[0]
        for value in op.srcs
    ]
    return _Lines(op, [part_of(buffer) for buffer in buffers])


def _swizzled(shape: Sequence[int]) -> LayoutAttr | None:
    """Lane t reads element 8 t + j: the index of the row of banks permutes each group."""
    if shape[-1] <= _BANKS:
        return None

    def offset(*at: Any) -> tuple[Any, ...]:  # coordinates, or expressions of them
        last = at[-1]
        return (*at[:-1], last ^ (last // _BANKS % GROUP))

    return LayoutAttr(LayoutMap.from_function(tuple(shape), offset))
