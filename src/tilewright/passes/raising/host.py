"""Views of the memory of pointers, made once before the kernel."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.analysis.raising.plan import RaisePlan
from tilewright.analysis.raising.views import View, is_pointer_argument
from tilewright.dialects.arith import CeildivsiOp, DivuiOp, MaxsiOp, SubiOp
from tilewright.dialects.memref import DimOp
from tilewright.dialects.tile import PtrOfOp, Space, ViewOp, space_attr
from tilewright.dialects.tile.mixed import Mixed
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
        if key not in found and is_pointer_argument(access.base):
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
    """One ``tile.view`` for each tensor of the plan that the host can compute."""
    return {
        index: emit_view(view, at, symbols, bases[view.base, view.element])
        for index, view in enumerate(plan.views)
        if not view.is_local
    }


def emit_view(view: View, at: Builder, symbols: Symbols, base: SSAValue) -> SSAValue:
    """A tensor in the memory of `base`."""
    origin = symbols.index(at, view.origin)
    strides = [symbols.index(at, stride) for stride in view.strides]
    extents = [
        _remaining(at, base, origin, stride) if extent is None else symbols.index(at, extent)
        for extent, stride in zip(view.extents, strides, strict=True)
    ]
    shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in extents]
    layout = StridedLayoutAttr([stride if isinstance(stride, int) else None for stride in strides])
    type = MemRefType(view.element, shape, layout, space_attr(Space.GLOBAL))
    source = base if origin == 0 else at.value(PtrOfOp(base, [at.index(origin)]))
    made = ViewOp(
        source,
        type,
        sizes=[extent for extent in extents if not isinstance(extent, int)],
        strides=[stride for stride in strides if not isinstance(stride, int)],
    )
    return at.value(made, (view.base.name_hint or "memory").removesuffix("_ptr"))


def _remaining(at: Builder, base: SSAValue, origin: Mixed, stride: Mixed) -> Mixed:
    """How many steps of `stride` the memory has from the origin on."""
    size: Mixed = at.value(DimOp(base, at.index(0)))
    if origin != 0:
        size = at.value(SubiOp(at.index(size), at.index(origin)))
    if stride == 1:
        return size
    step = at.value(MaxsiOp(at.index(stride), at.index(1)))
    return at.value(CeildivsiOp(at.index(size), step))
