"""Copies of whole boxes between views and buffers."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.raising.constants import is_zero
from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import AssumeOp, CopyOp, FillOp, RegionOp
from tilewright.dialects.tt import DescriptorStoreOp, LoadOp
from tilewright.dialects.ttng import AsyncTMACopyLocalToGlobalOp
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.groups import flush
from tilewright.passes.raising.state import Raising

_DESCRIPTOR_STORES = (DescriptorStoreOp, AsyncTMACopyLocalToGlobalOp)


def region_of(state: Raising, access: Access, at: Builder) -> SSAValue:
    """The box as a region of its view."""
    assert access.box is not None
    starts = [state.symbols.index(at, start) for start in access.box.starts]
    view = state.views[access.box.view]
    return at.value(RegionOp(view, starts, list(access.box.parts)))


def _fill(state: Raising, op: Operation, access: Access, slot: Slot) -> SSAValue | None:
    """What is read outside of the box; None for zero."""
    if access.fills_nan:
        return state.at.constant(float("nan"), slot.element)
    if not isinstance(op, LoadOp) or op.other is None or is_zero(op.other):
        return None
    first = tuple(0 for _ in slot.shape)
    return element(state, op.other, first, Point(state.at, state.at))


def copy_in(state: Raising, op: Operation, access: Access, slot: Slot) -> None:
    """Load a box into a buffer; the fill where a condition for the whole box does not hold."""
    flush(state)
    fill = _fill(state, op, access, slot)
    buffer = state.buffer(slot)
    assert access.box is not None

    def load(at: Builder) -> None:
        at.add(CopyOp(region_of(state, access, at), buffer, fill=fill))

    if access.box.guard is None:
        load(state.at)
        return
    holds = state.symbols.truth(state.at, access.box.guard)
    yes, no = Block([YieldOp()]), Block([YieldOp()])
    load(state.at.inside(yes))
    other = state.at.inside(no)
    outside = other.constant(0, slot.element) if fill is None else fill
    other.add(FillOp(buffer, outside))
    state.at.add(IfOp(holds, [], Region(yes), Region(no)))


def assume_inside(state: Raising, op: Operation, access: Access) -> None:
    """State that a box starts inside its tensor, without which no TMA store can be used.

    A mask without a lower bound writes from the start on. A start below 0 of a descriptor ends the
    kernel on GPUs that have TMA, which Triton uses for it.
    """
    box = access.box
    assert box is not None
    for start, lane in zip(box.starts, box.lanes, strict=True):
        is_clipped = lane is not None and lane in box.below
        if start.constant is None and (not is_clipped or isinstance(op, _DESCRIPTOR_STORES)):
            value = state.at.index(state.symbols.index(state.at, start))
            holds = state.at.value(CmpiOp("sge", value, state.at.index(0)))
            state.at.add(AssumeOp(holds, "the stored tile starts inside the tensor"))


def copy_out(state: Raising, op: Operation, access: Access, slot: Slot) -> None:
    """Store a buffer to a box; through shared memory, where that is the plan."""
    flush(state)
    buffer = state.buffer(slot)
    assert access.box is not None
    if op in state.plan.staged:
        assume_inside(state, op, access)
        staged = Slot(slot.shape, access.element, is_shared=True, name=f"{slot.name}_staged")
        state.at.add(CopyOp(buffer, state.buffer(staged)))
        buffer = state.buffer(staged)

    def store(at: Builder) -> None:
        at.add(CopyOp(buffer, region_of(state, access, at)))

    if access.box.guard is None:
        store(state.at)
        return
    holds = state.symbols.truth(state.at, access.box.guard)
    block = Block([YieldOp()])
    store(state.at.inside(block))
    state.at.add(IfOp(holds, [], Region(block)))
