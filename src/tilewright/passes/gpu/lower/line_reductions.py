"""A reduction through shared memory, for results that other threads hold than those with the parts.

    tile.reduce sum %A -> %B        %S = %A; each line of %S by the threads it is distributed over;
                                    %T[line] = total; %B = %T

Works for every layout of either side, at the price of two trips through shared memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ParallelOp, ReduceOp, Space, SpaceAttr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.combinations import identity
from tilewright.passes.gpu.lower.line_totals import publish, section_total, total_of_section
from tilewright.passes.gpu.lower.lines import (
    Deal,
    Here,
    below,
    both_of,
    chosen,
    for_each_line,
)
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.gpu.lower.reductions import combine, is_without_sign, prepared
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.tile_regions import copy_elements


def reduce_through_memory(op: ReduceOp) -> None:
    """Replace a reduction by what each thread does in shared memory."""
    code = IndexBuilder(op)
    source = _staging(code, op.src, "parts")
    copy_elements(code, op.src, source)
    deal = Deal.of(shape_of(op.src.type), op.axis, threads_of(op))
    totals = _staging(code, op.dst, "totals")
    _Lines(op, deal, source, totals).write(code)
    _taken(code, op, totals)
    code.rewriter.erase(op)


def _staging(code: IndexBuilder, value: SSAValue, name: str) -> SSAValue:
    space = SpaceAttr(Space.SHARED)
    type = MemRefType(element_type_of(value.type), shape_of(value.type), NoneAttr(), space)
    return code.add(AllocOp(type, name=name, dtype=unsigned_dtype(value))).results[0]


def _taken(code: IndexBuilder, op: ReduceOp, totals: SSAValue) -> None:
    """The owners of results load them."""
    loop = ParallelOp(list(shape_of(op.dst.type)))
    code.add(loop)
    body = code.inside(loop.body.block)
    position = list(loop.body.block.args)
    value = body.add(LoadOp(totals, position)).results[0]
    if op.accumulate is not None:
        before = body.add(LoadOp(op.dst, position)).results[0]
        value = combine(body, op.kind.data, before, value, op)
    body.add(StoreOp(value, op.dst, position))


class _Lines:
    """Writes the total of each line of `source` to `totals`."""

    def __init__(self, op: ReduceOp, deal: Deal, source: SSAValue, totals: SSAValue) -> None:
        self.op = op
        self.deal = deal
        self.source = source
        self.totals = totals
        self.element = element_type_of(totals.type)

    def write(self, code: IndexBuilder) -> None:
        for_each_line(code, self.deal, self.element, self._line)

    def _line(self, code: IndexBuilder, here: Here, exchange: SSAValue | None) -> None:
        kind = self.op.kind.data
        nothing = identity(code, kind, self.element, is_unsigned=is_without_sign(self.op))
        total = total_of_section(code, here, nothing, self._loaded, self._both)
        if exchange is not None:
            publish(code, here, exchange, total)
            total = section_total(code, here, exchange, 0)
            for section in range(1, self.deal.sections):
                total = self._both(code, total, section_total(code, here, exchange, section))
        one = both_of(code, here.exists, below(code, here.along, 1))
        one = both_of(code, one, below(code, here.section, 1))
        inside = code if one is None else opened(code, one)
        inside.add(StoreOp(total, self.totals, self._result(inside, here)))

    def _result(self, code: IndexBuilder, here: Here) -> list[SSAValue]:
        """The index of the total of a line; the reduced dimension may remain, with one element."""
        rank = len(shape_of(self.totals.type))
        found = here.line if rank == len(here.line) else here.indices(0)
        return [code.index(each) for each in found[:rank]]

    def _loaded(
        self,
        code: IndexBuilder,
        here: Here,
        position: Mixed,
        exists: SSAValue | None,
        nothing: SSAValue,
    ) -> SSAValue:
        def load(inside: IndexBuilder) -> SSAValue:
            at = [inside.index(each) for each in here.indices(position)]
            found = inside.add(LoadOp(self.source, at)).results[0]
            found = converted(inside, found, self.element, is_unsigned=is_without_sign(self.op))
            return prepared(inside, found, self.op)

        return chosen(code, exists, load, nothing)

    def _both(self, code: IndexBuilder, left: SSAValue, right: SSAValue) -> SSAValue:
        return combine(code, self.op.kind.data, left, right, self.op)
