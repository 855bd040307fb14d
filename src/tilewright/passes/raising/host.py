"""Views of the memory of pointers, made once before the kernel."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.analysis.raising.plan import RaisePlan
from tilewright.dialects.arith import DivuiOp
from tilewright.dialects.memref import DimOp
from tilewright.dialects.tile import Space, ViewOp, space_attr
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.symbols import Symbols

Bases = dict[tuple[SSAValue, Attribute], SSAValue]
"""The flat memory of a pointer, by the pointer and the type of the elements."""


def emit_bases(plan: RaisePlan, at: Builder, parameters: Mapping[BlockArgument, SSAValue]) -> Bases:
    """The parameters themselves; a view for each other element type that accesses have."""
    found: Bases = {}
    for access in plan.accesses.values():
        key = (access.base, access.element)
        if key not in found:
            found[key] = _as_elements(at, parameters[access.base], access.element)
    return found


def _as_elements(at: Builder, buffer: SSAValue, element: Attribute) -> SSAValue:
    declared = element_type_of(buffer.type)
    if declared == element:
        return buffer
    size = at.value(DimOp(buffer, at.index(0)))
    before, after = bit_width(declared), bit_width(element)
    if before > after:
        size = at.index(at.times(size, before // after))
    elif after > before:
        size = at.value(DivuiOp(size, at.index(after // before)))
    type = MemRefType(element, [DYNAMIC_INDEX], memory_space=space_attr(Space.GLOBAL))
    return at.value(ViewOp(buffer, type, sizes=[size]))


def emit_views(plan: RaisePlan, at: Builder, symbols: Symbols, bases: Bases) -> dict[int, SSAValue]:
    """One ``tile.view`` for each tensor of the plan."""
    return {}
