"""Running results along a dimension, by all threads.

    lanes       4  1  3  2 | 5  0  1  1      each lane adds what the one 1, 2, 4 ... before it has
    running     4  5  8 10 | 5  5  6  7
    on top         0       |    10           what the warps before have in all
    result      4  5  8 10 |15 15 16 17

A line that several groups of lanes share is read twice: first each group publishes its total, then
it continues from the totals before it. A line of a fragment is distributed over threads, so it is
copied to shared memory first.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ScanOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import is_unsigned, unsigned_dtype
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.combinations import both, identity
from tilewright.passes.gpu.lower.line_totals import publish, total_of_section, what_came_before
from tilewright.passes.gpu.lower.lines import (
    Deal,
    Here,
    chosen,
    distance,
    folded,
    for_each_line,
)
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import TileRegion, copy_elements, part_of


def lower_scan(op: ScanOp) -> None:
    """Replace a scan by what each thread does."""
    code = IndexBuilder(op)
    source, target = _in_shared(code, op.src), _staging(code, op.dst)
    part = part_of(source)
    shape = tuple(extent for extent in part.extents if isinstance(extent, int))
    assert len(shape) == len(part.extents), "scanned extents are known at compile time"
    deal = Deal.of(shape, op.axis, threads_of(op))
    _Scan(op, deal, part, part_of(target)).write(code)
    if target is not op.dst:
        copy_elements(code, target, op.dst)
    code.rewriter.erase(op)


class _Scan:
    """Writes a scan from one part of memory to another."""

    def __init__(self, op: ScanOp, deal: Deal, source: TileRegion, target: TileRegion) -> None:
        self.op = op
        self.deal = deal
        self.source = source
        self.target = target
        self.element = element_type_of(target.buffer.type)
        self.is_unsigned = is_unsigned(op.dst)

    def write(self, code: IndexBuilder) -> None:
        for_each_line(code, self.deal, self.element, self._line)

    def _line(self, code: IndexBuilder, here: Here, exchange: SSAValue | None) -> None:
        nothing = identity(code, self.op.kind.data, self.element, is_unsigned=self.is_unsigned)
        start = nothing
        if exchange is not None:
            total = total_of_section(code, here, nothing, self._loaded, self._both)
            publish(code, here, exchange, total)
            start = what_came_before(code, here, exchange, nothing, self._both)
        is_first = self.deal.steps == 1 and exchange is None

        def more(body: IndexBuilder, step: Mixed, before: SSAValue) -> SSAValue:
            position, exists = here.position(body, step)
            value = self._within_lanes(
                body, here, self._loaded(body, here, position, exists, nothing)
            )
            value = value if is_first else self._both(body, before, value)
            inside = body if exists is None else opened(body, exists)
            at = self._indices(inside, here, position, self.target)
            inside.add(StoreOp(value, self.target.buffer, at))
            return self._last(body, here, value)

        folded(code, self.deal.steps, start, more)

    def _within_lanes(self, code: IndexBuilder, here: Here, value: SSAValue) -> SSAValue:
        """The running result of the lanes that are next to each other along the line."""
        reach = 1
        while reach < self.deal.along:
            lanes = distance(code, reach * self.deal.side)
            other = code.add(ShuffleOp("up", value, lanes, self.deal.group)).results[0]
            has = code.add(CmpiOp("uge", code.index(here.along), code.index(reach))).results[0]
            more = self._both(code, other, value)
            value = code.add(SelectOp(has, more, value)).results[0]
            reach *= 2
        return value

    def _last(self, code: IndexBuilder, here: Here, value: SSAValue) -> SSAValue:
        """What the lane furthest along the line has."""
        deal = self.deal
        if deal.along == 1 or deal.steps == 1:
            return value
        lane = combined(code, "+", (deal.along - 1) * deal.side, here.side)
        last_lane = converted(code, code.index(lane), distance(code, 0).type)
        return code.add(ShuffleOp("idx", value, last_lane, deal.group)).results[0]

    def _loaded(
        self,
        code: IndexBuilder,
        here: Here,
        position: Mixed,
        exists: SSAValue | None,
        nothing: SSAValue,
    ) -> SSAValue:
        def load(inside: IndexBuilder) -> SSAValue:
            at = self._indices(inside, here, position, self.source)
            found = inside.add(LoadOp(self.source.buffer, at)).results[0]
            return converted(inside, found, self.element, is_unsigned=is_unsigned(self.op.src))

        return chosen(code, exists, load, nothing)

    def _indices(
        self, code: IndexBuilder, here: Here, position: Mixed, part: TileRegion
    ) -> list[SSAValue]:
        """The element at a position along the line, of the source or of the target."""
        if self.op.reverse is not None:
            position = combined(code, "-", self.deal.length - 1, position)
        found = here.indices(position)
        axes = list(range(len(part.extents)))
        if len(axes) != len(found):  # the other side may have no dimensions of one element
            found = tuple(each for each, n in zip(found, self.deal.shape, strict=True) if n != 1)
            axes = part.axes
        return part.element(code, [code.index(each) for each in found], axes)

    def _both(self, code: IndexBuilder, left: SSAValue, right: SSAValue) -> SSAValue:
        kind = self.op.kind.data
        return both(code, kind, left, right, keeps_nan=False, is_unsigned=self.is_unsigned)


def _in_shared(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """The same elements in memory that all threads see."""
    staged = _staging(code, value)
    if staged is not value:
        copy_elements(code, value, staged)
    return staged


def _staging(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """Shared memory for the elements of a fragment; other memory is taken as it is."""
    if space_of(value.type) is not Space.FRAGMENT:
        return value
    shape = shape_of(value.type)
    type = MemRefType(element_type_of(value.type), shape, NoneAttr(), SpaceAttr(Space.SHARED))
    return code.add(AllocOp(type, name="scan", dtype=unsigned_dtype(value))).results[0]
