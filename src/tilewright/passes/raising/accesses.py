"""Loads, stores and atomics of single elements, inside ``tile.parallel`` or by the whole block.

An access with a box indexes a view: what is outside reads as zero and is not written, so the
mask needs no code. Any other masked access is under ``scf.if``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from tilewright.analysis.raising.constants import is_zero
from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.values import is_volatile
from tilewright.analysis.raising.views import Box
from tilewright.dialects.arith import AndiOp, BitcastOp, CmpiOp, SelectOp
from tilewright.dialects.memref import DimOp
from tilewright.dialects.memref import LoadOp as MemoryLoadOp
from tilewright.dialects.memref import StoreOp as MemoryStoreOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import AssumeOp, AtomicOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tt import (
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorStoreOp,
    LoadOp,
    StoreOp,
)
from tilewright.dialects.tt.enums import MEM_SEMANTIC, MEM_SYNC_SCOPE
from tilewright.dialects.type_utils import element_type_of
from tilewright.passes.raising.addressing import flat_index
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.expressions import RULES, Indices, Point, element
from tilewright.passes.raising.state import Raising

_UNMASKED = "an access without a mask is inside its tensor"


def pointer_of(op: Operation) -> SSAValue:
    return op.operands[0]


def mask_of(op: Operation) -> SSAValue | None:
    match op:
        case LoadOp() | StoreOp() | AtomicRMWOp() | AtomicLoadOp() | AtomicStoreOp():
            return op.mask
        case _:
            return None


def target(
    state: Raising, op: Operation, access: Access, indices: Indices, point: Point
) -> tuple[SSAValue, list[SSAValue]]:
    """The buffer that an access reads or writes, and the indices there."""
    if access.box is not None:
        view = state.views[access.box.view]
        where = [point.at.index(each) for each in box_indices(state, access, indices, point)]
        _assume_inside(state, access.box, view, where, point.at)
        return view, where
    base = state.bases[access.base, access.element]
    return base, [flat_index(state, access, pointer_of(op), indices, point)]


def _assume_inside(
    state: Raising, box: Box, view: SSAValue, where: list[SSAValue], at: Builder
) -> None:
    """State that an access is inside where it has no mask, and the analysis found no bound.

    The extent there is that of the memory that is left; no guard is needed for it.
    """
    if box.wraps:
        return
    extents = state.plan.views[box.view].extents
    for dim, (lane, extent) in enumerate(zip(box.lanes, extents, strict=True)):
        if lane is not None and lane not in box.masked and extent is None:
            end = at.value(DimOp(view, at.index(dim)))
            at.add(AssumeOp(at.value(CmpiOp("slt", where[dim], end)), _UNMASKED))


def box_indices(state: Raising, access: Access, indices: Indices, point: Point) -> list[Mixed]:
    """The indices of the view: where the box begins, plus the lane of each dimension."""
    assert access.box is not None
    found: list[Mixed] = []
    for start, lane in zip(access.box.starts, access.box.lanes, strict=True):
        begin = state.symbols.index(point.outer, start)
        found.append(begin if lane is None else point.at.plus(begin, indices[lane]))
    return found


def condition(
    state: Raising, op: Operation, access: Access, indices: Indices, point: Point
) -> SSAValue | None:
    """Whether the access happens; None if it always does, or the view's extents decide."""
    if access.box is not None:
        guard = access.box.guard
        return None if guard is None else state.symbols.truth(point.outer, guard)
    mask = mask_of(op)
    holds = None if mask is None else element(state, mask, indices, point)
    if access.mask is not None:
        lanes = dict(enumerate(indices))
        inside = state.symbols.truth(point.at, access.mask, lanes)
        holds = inside if holds is None else point.at.value(AndiOp(holds, inside))
    return holds


def load_element(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    """The element that a load reads."""
    op = value.op
    access = state.plan.accesses[op]
    holds = condition(state, op, access, indices, point)

    def read(inner: Point) -> SSAValue:
        buffer, where = target(state, op, access, indices, inner)
        if is_volatile(op) or isinstance(op, AtomicLoadOp):
            return _read_atomically(inner.at, op, buffer, where)
        return inner.at.value(MemoryLoadOp(buffer, where), value.name_hint)

    def otherwise(inner: Point) -> SSAValue:
        return _fill(state, op, access, indices, inner, element_type_of(value.type))

    if holds is not None:
        return choose(point, holds, read, otherwise)
    found = read(point)
    if access.box is None or not access.box.is_masked or _fills_zero(op, access):
        return found
    mask = mask_of(op)
    if mask is not None:
        chosen = element(state, mask, indices, point)
    else:
        assert access.mask is not None
        chosen = state.symbols.truth(point.at, access.mask, dict(enumerate(indices)))
    return point.at.value(SelectOp(chosen, found, otherwise(point)))


def _read_atomically(
    at: Builder, op: Operation, buffer: SSAValue, where: list[SSAValue]
) -> SSAValue:
    order, scope = "relaxed", "gpu"
    if isinstance(op, AtomicLoadOp):
        order, scope = MEM_SEMANTIC.keyword(op.sem), MEM_SYNC_SCOPE.keyword(op.scope)
    made = AtomicOp(
        "load", buffer, where, memory_order=order, scope=None if scope == "gpu" else scope
    )
    at.add(made)
    assert made.previous is not None
    type = element_type_of(op.results[0].type)
    return made.previous if made.previous.type == type else at.value(BitcastOp(made.previous, type))


def _fills_zero(op: Operation, access: Access) -> bool:
    if access.fills_nan:
        return False
    return not isinstance(op, LoadOp) or op.other is None or is_zero(op.other)


def _fill(
    state: Raising, op: Operation, access: Access, indices: Indices, point: Point, type: object
) -> SSAValue:
    if isinstance(op, LoadOp) and op.other is not None:
        return element(state, op.other, indices, point)
    if access.fills_nan:
        return point.at.constant(float("nan"), element_type_of(op.results[0].type))
    return point.at.constant(0, element_type_of(op.results[0].type))


def choose(
    point: Point,
    holds: SSAValue,
    yes: Callable[[Point], SSAValue],
    no: Callable[[Point], SSAValue],
) -> SSAValue:
    """``scf.if`` with a result."""
    regions: list[Region] = []
    for make in (yes, no):
        block = Block()
        inner = point.at.inside(block)
        inner.add(YieldOp([make(point.inside(inner))]))
        regions.append(Region(block))
    last = regions[0].block.last_op
    assert last is not None
    return point.at.value(IfOp(holds, [last.operands[0].type], *regions))


def when(at: Builder, holds: SSAValue | None, make: Callable[[Builder], None]) -> None:
    """``scf.if`` without a result; no condition at all where it always holds."""
    if holds is None:
        make(at)
        return
    block = Block()
    inner = at.inside(block)
    inner.add(YieldOp())
    make(inner)
    at.add(IfOp(holds, [], Region(block)))


def store_element(
    state: Raising, op: Operation, value: SSAValue, indices: Indices, point: Point
) -> None:
    """Write one element."""
    access = state.plan.accesses[op]
    stored = element(state, value, indices, point)
    holds = condition(state, op, access, indices, point)

    def write(at: Builder) -> None:
        buffer, where = target(state, op, access, indices, point.inside(at))
        at.add(MemoryStoreOp(stored, buffer, where))

    when(point.at, holds, write)


# Atomics.

_KINDS = {
    "and": "and",
    "or": "or",
    "xor": "xor",
    "add": "add",
    "fadd": "add",
    "max": "max",
    "min": "min",
    "umax": "umax",
    "umin": "umin",
    "exch": "exch",
    "store": "store",
    "cas": "cas",
}


@dataclass(frozen=True)
class Update:
    """What an atomic does to an element."""

    kind: str
    value: SSAValue
    order: str = "relaxed"
    scope: str = "gpu"
    compare: SSAValue | None = None
    """What the element must hold for the value to be stored."""


def atomic_element(
    state: Raising,
    op: Operation,
    update: Update,
    indices: Indices,
    point: Point,
    *,
    wants_old: bool = False,
) -> SSAValue | None:
    """Update one element; what it held before, if that is used."""
    access = state.plan.accesses[op]
    own = element_type_of(update.value.type)

    def in_memory(value: SSAValue) -> SSAValue:
        found = element(state, value, indices, point)
        is_same = found.type == access.element
        return found if is_same else point.at.value(BitcastOp(found, access.element))

    operand = in_memory(update.value)
    compare = None if update.compare is None else in_memory(update.compare)
    holds = condition(state, op, access, indices, point)

    def make(inner: Point) -> AtomicOp:
        buffer, where = target(state, op, access, indices, inner)
        made = AtomicOp(
            _KINDS[update.kind],
            buffer,
            where,
            operand,
            compare=compare,
            return_previous=wants_old,
            memory_order=update.order,
            scope=None if update.scope == "gpu" else update.scope,
        )
        inner.at.add(made)
        return made

    if not wants_old:
        when(point.at, holds, lambda at: void(make(point.inside(at))))
        return None

    def previous(inner: Point) -> SSAValue:
        found = make(inner).previous
        assert found is not None
        return found if found.type == own else inner.at.value(BitcastOp(found, own))

    if holds is None:
        return previous(point)
    zero = 0.0 if isinstance(own, AnyFloat) else 0
    return choose(point, holds, previous, lambda inner: inner.at.constant(zero, own))


def void(_: object) -> None:
    """Drop a result."""


RULES["tt.load"] = load_element
RULES["tt.descriptor_load"] = load_element
RULES["tt.atomic_load"] = load_element

ACCESSES = (
    LoadOp,
    StoreOp,
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
    DescriptorLoadOp,
    DescriptorStoreOp,
    DescriptorReduceOp,
)
