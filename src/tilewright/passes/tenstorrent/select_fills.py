"""Write what a copy fills with by a selection after it.

    tile.copy %X[r, c] -> %t fill(%v)    ->    tile.copy %X[r, c] -> %t
                                               t[i, j] = select(r + i < M and c + j < N, t[i, j], v)

The host pads tensors with zeros, and a tile holds what the host put there. A value other than zero
outside of a tensor is therefore selected by position: comparisons of positions are tiles of ones
and zeros, which the reader writes. Only dimensions along which a block may reach out are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.outside_values import is_zero, outside_value, stays_inside, zero_of
from tilewright.dialects.arith import AddiOp, AndiOp, CmpiOp, ConstantOp, SelectOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.tile import CopyOp, ParallelOp, RegionOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of, squeezed
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class SelectFills(Pass):
    """Select what is outside of a tensor after copies that do not fill with zero."""

    name = "select-fills"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            copies = [op for op in walk(function) if isinstance(op, CopyOp) and _is_filled(op)]
            ranges = IndexRanges(function) if copies else None
            for op in copies:
                assert ranges is not None
                if not stays_inside(op, ranges):
                    _select(op, ranges)


def _is_filled(op: CopyOp) -> bool:
    is_load = space_of(op.src.type) is Space.GLOBAL and space_of(op.dst.type) is not Space.GLOBAL
    return is_load and not is_zero(outside_value(op))


def _select(op: CopyOp, ranges: IndexRanges) -> None:
    region, shape = op.src.owner, tuple(shape_of(op.dst.type))
    value = _converted(outside_value(op), element_type_of(op.dst.type))
    if not isinstance(region, RegionOp) or isinstance(op.dst.owner, RegionOp) or value is None:
        return  # reported by check-tt-tensors
    extents = [each for each in region.extents if isinstance(each, int)]
    if len(extents) != len(region.extents) or squeezed(extents) != squeezed(shape):
        return
    loop = ParallelOp(shape)
    Rewriter().insert_after(op, loop, op)
    code = IndexBuilder(op).inside(loop.body.block)
    running = iter(index for index, size in zip(loop.arguments, shape, strict=True) if size != 1)
    indices = [None if size == 1 else next(running) for size in extents]
    inside = _inside(code, op, region, indices, ranges)
    held = code.add(LoadOp(op.dst, loop.arguments)).results[0]
    fill = value if isinstance(value, SSAValue) else code.add(ConstantOp(value)).results[0]
    chosen = held if inside is None else code.add(SelectOp(inside, held, fill)).results[0]
    code.add(StoreOp(chosen, op.dst, loop.arguments))
    zero = IndexBuilder(op).add(ConstantOp(zero_of(element_type_of(op.src.type)))).results[0]
    op.operands = [op.src, op.dst, zero]


def _inside(
    code: IndexBuilder,
    op: CopyOp,
    region: RegionOp,
    indices: Sequence[SSAValue | None],
    ranges: IndexRanges,
) -> SSAValue | None:
    """Whether an element is inside of the tensor."""
    context, found = ranges.context(op), list[SSAValue]()
    for axis, (offset, size, index) in enumerate(
        zip(region.offsets, region.extents, indices, strict=True)
    ):
        start, limit = ranges.poly(offset), ranges.extent(region.base, axis)
        position = code.index(offset)
        if index is not None:
            position = code.add(AddiOp(position, index)).results[0]
        if not context.is_nonneg(start):
            found.append(code.at_least(position, 0))
        below = context.compare("<=", start + ranges.poly(size), limit)
        if context.decide(below) is not True:
            extent = _extent(code, region.base, axis)
            found.append(code.add(CmpiOp("slt", position, extent)).results[0])
    if not found:
        return None
    joined = found[0]
    for each in found[1:]:
        joined = code.add(AndiOp(joined, each)).results[0]
    return joined


def _extent(code: IndexBuilder, tensor: SSAValue, axis: int) -> SSAValue:
    known = shape_of(tensor.type)[axis]
    if known != DYNAMIC_INDEX:
        return code.index(known)
    return code.add(DimOp(tensor, code.index(axis))).results[0]


def _converted(
    value: SSAValue | Attribute, element: Attribute
) -> SSAValue | FloatAttr | IntegerAttr | None:
    """The value as an element of the buffer; None if that takes a conversion at run time."""
    if isinstance(value, FloatAttr) and isinstance(element, AnyFloat):
        return FloatAttr(value.value.data, element)
    if isinstance(value, IntegerAttr) and isinstance(element, IntegerType):
        return IntegerAttr(value.value.data, element)
    return value if isinstance(value, SSAValue) and value.type == element else None
