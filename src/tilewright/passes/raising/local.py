"""Views that the kernel makes: of memory at addresses that are integers, with extents or strides
that are read from memory.

    %p = tile.ptr_at %address : !tile.ptr<f16>
    %A = tile.view %p sizes(%m, %k) strides(%s) : !tile.ptr<f16> to memref<?x?xf16, strided<[?, 1]>>

Each is made as soon as the values that it depends on are computed, before all accesses to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i64
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.raising.addresses import atoms_read
from tilewright.analysis.raising.plan import RaisePlan
from tilewright.analysis.raising.views import View, is_address
from tilewright.dialects.arith import CmpiOp, RemsiOp
from tilewright.dialects.tile import AssumeOp, PtrAtOp, Space, ViewOp, space_attr
from tilewright.dialects.type_utils import bit_width
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.host import emit_view
from tilewright.passes.raising.state import Raising

_ELEMENTS = 1 << 40
"""Extent of memory of which only the beginning is known: more than there is."""
_BYTE = 8


def local_views(plan: RaisePlan) -> list[int]:
    """The views of a plan that the kernel makes."""
    return [index for index, view in enumerate(plan.views) if view.is_local]


def local_bases(plan: RaisePlan) -> list[tuple[SSAValue, Attribute]]:
    """Addresses at which single elements are accessed."""
    found = dict.fromkeys(
        (access.base, access.element)
        for access in plan.accesses.values()
        if is_address(access.base) and access.box is None
    )
    return list(found)


def emit_local(state: Raising) -> None:
    """Make the views whose values exist."""
    for key in [each for each in state.missing_bases if each[0] in state.scalars]:
        state.missing_bases.remove(key)
        base, element = key
        state.bases[key] = _memory_at(state.at, state.scalars[base], element, None)
    for index in [each for each in state.missing_views if _is_ready(state, each)]:
        state.missing_views.remove(index)
        state.views[index] = _emit(state, state.plan.views[index])


def _is_ready(state: Raising, index: int) -> bool:
    view = state.plan.views[index]
    if is_address(view.base) and view.base not in state.scalars:
        return False
    known = (view.origin, *view.strides, *(each for each in view.extents if each is not None))
    return all(_is_known(state, each) for each in known)


def _is_known(state: Raising, poly: Poly) -> bool:
    for atom in atoms_read(poly):
        value = state.plan.addresses.value_of(atom)
        if value is not None and value not in state.scalars:
            return False
        if kind_of(atom) == "it" and atom not in state.symbols.counters:
            return False
    return True


def _emit(state: Raising, view: View) -> SSAValue:
    at = state.at
    _assume_hints(state, view)
    if is_address(view.base):
        base = _memory_at(at, state.scalars[view.base], view.element, view.divisor)
    else:
        base = state.bases[view.base, view.element]
    made = emit_view(view, at, state.symbols, base)
    if view.is_described:
        assert isinstance(made.owner, ViewOp) and view.divisor is not None
        _assume_multiples(at, made.owner.strides, view.divisor * _BYTE // bit_width(view.element))
    return made


def _assume_hints(state: Raising, view: View) -> None:
    """State what divides the values of a view, as hints of the kernel do."""
    known = (view.origin, *view.strides, *(each for each in view.extents if each is not None))
    atoms = dict.fromkeys(atom for each in known for atom in atoms_read(each))
    for atom in atoms:
        value = state.plan.addresses.value_of(atom)
        if value is not None and atom.divisor > 1 and not isinstance(value, BlockArgument):
            index = state.at.to_index(state.scalars[value])
            _assume_multiple(state.at, index, atom.divisor, "a hint of the kernel")


def _assume_multiple(at: Builder, value: SSAValue, divisor: int, reason: str) -> None:
    rest = at.value(RemsiOp(value, at.index(divisor)))
    at.add(AssumeOp(at.value(CmpiOp("eq", rest, at.index(0))), reason))


def _memory_at(at: Builder, address: SSAValue, element: Attribute, divisor: int | None) -> SSAValue:
    """The memory from an address on, as a run of elements."""
    type = MemRefType(element, [DYNAMIC_INDEX], memory_space=space_attr(Space.GLOBAL))
    pointer = at.value(PtrAtOp(at.extended(address, i64), element, divisor), address.name_hint)
    return at.value(ViewOp(pointer, type, sizes=[at.index(_ELEMENTS)]), address.name_hint)


def _assume_multiples(at: Builder, strides: Iterable[SSAValue], unit: int) -> None:
    """State that rows begin at multiples of a unit, as descriptors require."""
    if unit <= 1:
        return
    for stride in strides:
        _assume_multiple(at, stride, unit, "rows of a descriptor begin at multiples of 16 bytes")
