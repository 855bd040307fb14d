"""Values into buffers: computed element by element, filled with a constant, or copied."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.raising.constants import splat_attribute
from tilewright.analysis.raising.slots import Slot
from tilewright.analysis.raising.views import memory_of
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.tile import FillOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.passes.raising.expressions import (
    LOADS,
    Indices,
    Point,
    define,
    element,
    leaves,
)
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.state import Raising


def accesses_of(
    state: Raising, roots: Sequence[tuple[SSAValue, bool]]
) -> tuple[tuple[tuple[SSAValue, Slot, bool], ...], tuple[tuple[str, SSAValue | None], ...]]:
    """Buffers and memory that expressions read; each root with whether it is being defined."""
    reads: list[tuple[SSAValue, Slot, bool]] = []
    loads: list[tuple[str, SSAValue | None]] = []
    for root, defining in roots:
        for value, same in leaves(state, root, defining=defining):
            slot = state.slot(value)
            owner = value.owner
            if (
                isinstance(owner, Operation)
                and owner.name in LOADS
                and (slot is None or (defining and value is root))
            ):
                base = memory_of(state.plan.accesses[owner].base)
                loads.append((base, owner.operands[0]))
            elif slot is not None:
                reads.append((value, slot, same))
    return tuple(reads), tuple(loads)


def store_to(state: Raising, slot: Slot, value: SSAValue, indices: Indices, point: Point) -> None:
    """Write an element of a buffer."""
    at = indices[::-1] if slot.is_transposed else indices
    where = [point.at.index(index) for index in at]
    point.at.add(StoreOp(value, state.buffer(slot), where))


def compute(state: Raising, op: Operation, value: OpResult) -> None:
    """Compute a value into its own buffer."""
    slot = state.slot(value)
    assert slot is not None

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        found = define(state, value, indices, point)
        store_to(state, slot, found, indices, point)
        point.known[value, indices] = found

    reads, loads = accesses_of(state, [(value, True)])
    submit(state, Work(op, slot.shape, run, reads, (slot,), (value,), loads))


def assign(state: Raising, op: Operation, moves: Sequence[tuple[Slot, SSAValue]]) -> None:
    """Put values into buffers, all of them as if concurrently."""
    moves = [(slot, value) for slot, value in moves if state.slot(value) is not slot]
    constants = [(slot, value) for slot, value in moves if _constant(value) is not None]
    others = [(slot, value) for slot, value in moves if _constant(value) is None]
    for shape in dict.fromkeys(slot.shape for slot, _ in others):
        _assign_shape(state, op, [move for move in others if move[0].shape == shape])
    for slot, value in constants:
        fill(state, slot, value)


def _assign_shape(state: Raising, op: Operation, moves: Sequence[tuple[Slot, SSAValue]]) -> None:
    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        found = [element(state, value, indices, point) for _, value in moves]
        for (slot, _), value in zip(moves, found, strict=True):
            store_to(state, slot, value, indices, point)

    reads, loads = accesses_of(state, [(value, False) for _, value in moves])
    slots = tuple(slot for slot, _ in moves)
    submit(state, Work(op, slots[0].shape, run, reads, slots, (), loads))


def _constant(value: SSAValue) -> ConstantOp | None:
    owner = value.owner
    if isinstance(owner, ConstantOp) and splat_attribute(owner) is not None:
        return owner
    return None


def fill(state: Raising, slot: Slot, value: SSAValue) -> None:
    """Give all elements of a buffer a constant."""
    flush(state)
    owner = value.owner
    assert isinstance(owner, Operation)
    attribute = splat_attribute(owner)
    assert attribute is not None
    scalar = state.at.value(ConstantOp(attribute))
    state.at.add(FillOp(state.buffer(slot), scalar))


def as_buffer(state: Raising, value: SSAValue, op: Operation) -> SSAValue:
    """A buffer with a value, complete; a constant gets one for this use."""
    slot = state.slot(value)
    if slot is None:
        name = value.name_hint or "constant"
        slot = Slot(shape_of(value.type), element_type_of(value.type), name=name)
        assign(state, op, [(slot, value)])
    flush(state)
    return state.buffer(slot)
