"""Loops over lanes that only move elements to shared memory, as asynchronous moves.

    scf.for %l = 0 to 8 {vectorize, asynchronous}
      %i = memref.load %I[%r]                          %i = memref.load %I[%r]
      %x = if inside(%i) load %X[%i, %b + %l]    ->    %n = select inside(%i), 8, 0
      memref.store %x, %S[%o + %l]                     nv.async_move %X[%i, %b] -> %S[%o] valid %n

The loop is one whose data `expand-pipeline` waits for. All lanes are moved at once, or the loop
stays as it is: what is stored by the threads themselves is there before any wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Region, SSAValue

from tilewright.analysis.tensors.outside_values import is_zero
from tilewright.dialects.arith import AndiOp, CmpiOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.lanes.accesses import LaneAccess, fill_of
from tilewright.passes.gpu.lanes.widths import LaneWidths, Width
from tilewright.passes.tile.index_builder import IndexBuilder

Outside = Callable[[IndexBuilder, SSAValue, dict[SSAValue, SSAValue]], SSAValue]
"""A value of the loop, computed outside of it for the lane that a table has."""
_MOVED_BYTES = (4, 8, 16)


def move_asynchronously(
    widths: LaneWidths, chosen: Sequence[tuple[LaneAccess, Width]], outside: Outside
) -> bool:
    """Replace the loop by asynchronous moves; False if it stays as it is."""
    pair = _pair(chosen)
    if pair is None:
        return False
    load, store, lanes = pair
    code = IndexBuilder(widths.loop)
    for part in range(0, widths.count, lanes):
        _move(code, widths, load, store, (part, lanes), outside)
    code.rewriter.erase(widths.loop)
    return True


def _pair(chosen: Sequence[tuple[LaneAccess, Width]]) -> tuple[LaneAccess, LaneAccess, int] | None:
    """What is loaded and stored, and how many lanes at once."""
    stores = [each for each in chosen if isinstance(each[0].op, StoreOp)]
    if len(stores) != 1:
        return None
    store, width = stores[0]
    assert isinstance(store.op, StoreOp)
    for load, own in chosen:
        if isinstance(load.op, LoadOp) and store.op.value in load.whole.results:
            outer = load.guards[:-1] if load.is_filled else load.guards
            is_whole = own == width and not width.is_cut and not width.is_unaligned
            if (
                outer != store.guards
                or not is_whole
                or not _is_zero_filled(load)
                or load.filled > 1
            ):
                return None
            bits = width.lanes * bit_width(element_type_of(load.buffer.type))
            return (load, store, width.lanes) if bits // 8 in _MOVED_BYTES else None
    return None


def _is_zero_filled(load: LaneAccess) -> bool:
    if not load.is_filled:
        return True
    found = fill_of(load.guards[-1])
    return found is not None and is_zero(found)


def _move(
    code: IndexBuilder,
    widths: LaneWidths,
    load: LaneAccess,
    store: LaneAccess,
    part: tuple[int, int],
    outside: Outside,
) -> None:
    """One move, inside of the branches that are around both accesses."""
    first, lanes = part
    values: dict[SSAValue, SSAValue] = {widths.lane: code.index(first)}
    for guard in store.guards:
        condition = outside(code, guard.condition, values)
        then = Block([YieldOp()])
        code.add(IfOp(condition, [], Region(then)))
        code = code.inside(then)
    target = [outside(code, each, values) for each in store.op.indices]
    source = [outside(code, each, values) for each in load.op.indices]
    valid: SSAValue | None = None
    if load.is_filled:
        guard = load.guards[-1]
        inside, none = outside(code, guard.condition, values), code.index(0)
        valid = code.add(SelectOp(inside, code.index(lanes), none)).results[0]
        tested = _tested(guard.condition)
        # Nothing is read where nothing is valid, but the address has to be one.
        source = [
            code.add(SelectOp(inside, at, none)).results[0] if each in tested else at
            for at, each in zip(source, load.op.indices, strict=True)
        ]
    memory, buffer = (outside(code, each.buffer, values) for each in (load, store))
    move = AsyncMoveOp(memory, source, buffer, target, lanes, valid)
    code.add(move)
    move.location = load.op.location


def _tested(condition: SSAValue) -> set[SSAValue]:
    """The values that a condition compares."""
    found: set[SSAValue] = set()
    left = [condition]
    while left:
        owner = left.pop().owner
        if isinstance(owner, CmpiOp):
            found.update(owner.operands)
        elif isinstance(owner, AndiOp):
            left += owner.operands
    return found
