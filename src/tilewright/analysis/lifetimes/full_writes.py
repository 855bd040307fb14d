"""Ops that certainly write every element of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.threads.thread_fills import threads_fill
from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import ParallelOp
from tilewright.dialects.tile.access import AccessedRegion, LooksThrough, RegionAccess, base_of
from tilewright.dialects.tile.interfaces import writes
from tilewright.ir.traversal import children, walk


def fills(op: Operation, buffer: SSAValue, guard: SSAValue | None = None) -> bool:
    """Whether `op` certainly writes every element of `buffer`.

    A branch does if its condition is `guard`.
    """
    if isinstance(op, IfOp):
        inside = children(op)
        return guard is not None and any(fills(each, buffer) for each in inside)
    if isinstance(op, ParallelOp):
        stores = [each for each in walk(op) if isinstance(each, StoreOp)]
        to_buffer = [each for each in stores if base_of(each.memref) is buffer]
        if not to_buffer or not all(isinstance(extent, int) for extent in op.extents):
            return False
        return _is_filled(writes(op), buffer) and all(_is_direct(each, op) for each in to_buffer)
    if isinstance(op, StoreOp):
        return _is_filled(writes(op), buffer)
    if isinstance(op, ForOp):
        return threads_fill(op, buffer)
    return isinstance(op, RegionAccess) and _is_filled(op.writes(), buffer)


def _is_filled(regions: Sequence[AccessedRegion], buffer: SSAValue) -> bool:
    return any(region.base is buffer and region.is_whole for region in regions)


def _is_direct(store: StoreOp, loop: ParallelOp) -> bool:
    """Whether each iteration makes a store, to an element of its own.

    Its region gives the extent of each index; a variable in two of them stays on a diagonal.
    """
    if store.parent is not loop.body_block or isinstance(store.memref.owner, LooksThrough):
        return False
    variables = [each for index in store.indices for each in _terms(index)]
    shared = [each for each in loop.body_block.args if variables.count(each) > 1]
    return not shared


def _terms(index: SSAValue) -> Sequence[SSAValue]:
    """An index, or the two that are added to make it."""
    return index.owner.operands if isinstance(index.owner, AddiOp) else (index,)
