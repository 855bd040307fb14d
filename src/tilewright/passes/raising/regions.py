"""Copies of whole boxes between views and buffers."""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue

from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import CopyOp, FillOp, RegionOp
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.groups import flush
from tilewright.passes.raising.state import Raising


def region_of(state: Raising, access: Access, at: Builder) -> SSAValue:
    """The box as a region of its view."""
    assert access.box is not None
    starts = [state.symbols.index(at, start) for start in access.box.starts]
    view = state.views[access.box.view]
    return at.value(RegionOp(view, starts, list(access.box.parts)))


def copy_in(state: Raising, access: Access, slot: Slot) -> None:
    """Load a box into a buffer; zero where a condition for the whole box does not hold."""
    flush(state)
    buffer = state.buffer(slot)
    assert access.box is not None

    def load(at: Builder) -> None:
        at.add(CopyOp(region_of(state, access, at), buffer))

    if access.box.guard is None:
        load(state.at)
        return
    holds = state.symbols.truth(state.at, access.box.guard)
    yes, no = Block([YieldOp()]), Block([YieldOp()])
    load(state.at.inside(yes))
    other = state.at.inside(no)
    other.add(FillOp(buffer, other.constant(0, slot.element)))
    state.at.add(IfOp(holds, [], Region(yes), Region(no)))


def copy_out(state: Raising, access: Access, slot: Slot) -> None:
    """Store a buffer to a box."""
    flush(state)
    buffer = state.buffer(slot)
    assert access.box is not None

    def store(at: Builder) -> None:
        at.add(CopyOp(buffer, region_of(state, access, at)))

    if access.box.guard is None:
        store(state.at)
        return
    holds = state.symbols.truth(state.at, access.box.guard)
    block = Block([YieldOp()])
    store(state.at.inside(block))
    state.at.add(IfOp(holds, [], Region(block)))
