"""Shared buffers through which threads store results of GEMMs, row by row.

    for i, j in T.Parallel(128, 192): staged[i, j] = acc[i, j]       the layout of the tensor core
    for i, j in T.Parallel(128, 192): C[row + i, j] = staged[i, j]   16 bytes of a row for a thread

A warp that holds an accumulator writes 16 or 32 bytes of eight rows at once. With rows of 128
bytes, or a multiple of it, these are in the same banks: such a buffer is swizzled, as the source of
a TMA store is. Reads of whole rows have no conflicts in either layout.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ParallelOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk


def staged_results(kernel: Operation, accumulators: Collection[SSAValue]) -> list[SSAValue]:
    """The buffers of `kernel` between accumulators and global memory."""
    return [
        op.result
        for op in walk(kernel)
        if isinstance(op, AllocOp)
        and space_of(op.result.type) is Space.SHARED
        and len(shape_of(op.result.type)) == 2
        and _is_staged(op.result, accumulators)
    ]


def _is_staged(buffer: SSAValue, accumulators: Collection[SSAValue]) -> bool:
    kinds = {_kind(use.operation, accumulators) for use in buffer.uses}
    return kinds == {LoadOp, StoreOp}


def _kind(op: Operation, accumulators: Collection[SSAValue]) -> type[Operation] | None:
    """A write of an accumulator, or a read for a row of a tensor; None for any other access."""
    loop = op.parent_op()
    if not isinstance(op, LoadOp | StoreOp) or not isinstance(loop, ParallelOp):
        return None
    variables = list(loop.regions[0].block.args)
    if list(op.indices) != variables:
        return None
    others = [each for each in loop.regions[0].block.ops if each is not op]
    if isinstance(op, StoreOp):
        loaded = [each for each in others if isinstance(each, LoadOp)]
        is_result = any(
            base_of(each.memref) in accumulators and list(each.indices) == variables
            for each in loaded
        )
        return StoreOp if is_result else None
    stored = [each for each in others if isinstance(each, StoreOp)]
    is_row = any(
        space_of(each.memref.type) is Space.GLOBAL and each.indices[-1] is variables[-1]
        for each in stored
    )
    return LoadOp if is_row else None
