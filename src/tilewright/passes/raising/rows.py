"""Rows of a matrix in any order: ``tt.descriptor_gather`` and ``tt.descriptor_scatter``.

Element (i, j) is at row ``x[i]`` and column ``y + j``; outside the matrix it reads as zero and is
not written.
"""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from tilewright.analysis.raising.plan import Access
from tilewright.dialects.arith import AndiOp, CmpiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tt import DescriptorGatherOp, DescriptorScatterOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.passes.raising.accesses import choose, when
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.expressions import RULES, Indices, Point, element
from tilewright.passes.raising.state import Raising


def _position(
    state: Raising,
    access: Access,
    op: DescriptorGatherOp | DescriptorScatterOp,
    indices: Indices,
    point: Point,
) -> tuple[SSAValue, SSAValue]:
    """The element of the flat buffer, and whether it is inside the matrix."""
    at, rows = point.at, access.rows
    assert rows is not None
    row = at.to_index(element(state, op.x_offsets, indices[:1], point))
    first = at.to_index(state.scalar(op.y_offset))
    column = at.index(at.plus(first, indices[1]))
    offset = state.symbols.index(at, rows.offset)
    holds: SSAValue | None = None
    for position, extent, stride in zip((row, column), rows.shape, rows.strides, strict=True):
        offset = at.plus(offset, at.times(position, state.symbols.index(at, stride)))
        end = at.index(state.symbols.index(at, extent))
        for test in (CmpiOp("sge", position, at.index(0)), CmpiOp("slt", position, end)):
            inside = at.value(test)
            holds = inside if holds is None else at.value(AndiOp(holds, inside))
    assert holds is not None
    return at.index(offset), holds


def gather_element(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    op = value.op
    assert isinstance(op, DescriptorGatherOp)
    access = state.plan.accesses[op]
    offset, holds = _position(state, access, op, indices, point)
    base = state.bases[access.base, access.element]
    fill = float("nan") if access.fills_nan else 0
    type = element_type_of(value.type)
    return choose(
        point,
        holds,
        lambda inner: inner.at.value(LoadOp(base, [offset])),
        lambda inner: inner.at.constant(fill, type),
    )


def scatter_element(
    state: Raising, op: DescriptorScatterOp, indices: Indices, point: Point
) -> None:
    access = state.plan.accesses[op]
    stored = element(state, op.src, indices, point)
    offset, holds = _position(state, access, op, indices, point)
    base = state.bases[access.base, access.element]

    def write(at: Builder) -> None:
        at.add(StoreOp(stored, base, [offset]))

    when(point.at, holds, write)


RULES["tt.descriptor_gather"] = gather_element
