"""Buffers that TMA fills and threads access: swizzled where plain rows are in the same banks.

    x: 32 rows of 512 bytes     lane n of a warp reads x[n / 4, n % 4]: 8 rows, all in one bank
    128-byte swizzle            the rows are in eight different units of 16 bytes: one wavefront

Layouts of loops follow from fragments, often from operands of GEMMs, whose lanes go down the rows.
All widths of thread accesses are the same in both layouts, as units of 16 bytes stay together.
`layouts.banks` counts the wavefronts of the first warp in each loop; a swizzle is used where it
at least halves them. TMA then copies as many boxes as the pattern has columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import Depends, Iterations
from tilewright.analysis.layout_inference.agreement import Loop
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.shares import Share
from tilewright.analysis.layout_inference.swizzles import Swizzle
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.analysis.layout_inference.vectors import ACCESS_BITS, is_contiguous
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AsyncCopyOp, ParallelOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.banks import summed_wavefronts
from tilewright.layouts.hardware.swizzle import tile_address

_SAMPLED_ROUNDS = 16
"""Rounds of a loop that are looked at; the others access other columns alike."""
_GAIN = 2
"""How many times fewer wavefronts a swizzle has to take."""

Address = Callable[[IntArray, IntArray], IntArray]
"""The byte of an element, by its row and column."""


@dataclass(frozen=True)
class ThreadAccess:
    """The elements of a matrix that the first warp accesses, round after round."""

    rows: IntArray
    """Over lanes and rounds: the first element of each access."""
    columns: IntArray
    width: int
    """Bytes of one access."""
    is_write: bool

    def wavefronts(self, address: Address) -> int:
        found = address(self.rows, self.columns)
        total, _ = summed_wavefronts(found.T.tolist(), self.width, writes=self.is_write)
        return total


def avoids_conflicts(buffer: SSAValue, swizzle: Swizzle, loops: Sequence[Loop]) -> bool:
    """Whether a swizzle halves the wavefronts of what threads read and write."""
    accesses = _thread_accesses(buffer, {loop.op: loop for loop in loops})
    if not accesses:
        return False
    size = swizzle.bits // 8
    shape = swizzle.rows, swizzle.columns

    def contiguous(i: IntArray, j: IntArray) -> IntArray:
        return (i * swizzle.columns + j) * size

    plain = sum(each.wavefronts(contiguous) for each in accesses)
    moved = tile_address(shape, swizzle.bits, swizzle.width).forward
    return plain >= _GAIN * sum(each.wavefronts(moved) for each in accesses)


def _thread_accesses(
    buffer: SSAValue, loops: Mapping[Operation, Loop]
) -> list[ThreadAccess] | None:
    """How threads access a buffer that TMA fills; None if it is used in any other way."""
    found: list[ThreadAccess] = []
    is_filled = False
    for op, operand in _uses(buffer):
        if isinstance(op, AsyncCopyOp) and op.is_bulk and operand is op.dst:
            is_filled = True
            continue
        parallel = op.parent_op()
        if not isinstance(op, LoadOp | StoreOp) or not isinstance(parallel, ParallelOp):
            return None
        access = _access(op, loops[parallel])
        if access is None:
            return None
        found.append(access)
    return found if is_filled else None


def _uses(buffer: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """The ops that access a buffer or one of its versions, as a whole."""
    for use in buffer.uses:
        if isinstance(use.operation, SlotOp):
            yield from _uses(use.operation.results[0])
        else:
            yield use.operation, buffer


def _access(op: LoadOp | StoreOp, loop: Loop) -> ThreadAccess | None:
    if loop.table is None:
        return None
    iterations = Iterations(loop.op, loop.shape)
    try:
        share = Share.of(loop.table, is_wide=True)
        *_, row, column = (iterations.values(each) for each in op.indices)
    except (Depends, NotALayout):
        return None
    if share.shape != loop.shape or share.cut_short or row is None or column is None:
        return None
    bits = bit_width(element_type_of(op.memref.type))
    wide = is_contiguous(loop.op, iterations, op.indices)
    lanes = min(share.lanes, ACCESS_BITS // bits) if wide else 1
    rows, columns = (_of_warp(each, loop, share, lanes) for each in (row, column))
    if (columns % lanes).any():
        return None
    return ThreadAccess(rows, columns, lanes * bits // 8, isinstance(op, StoreOp))


def _of_warp(values: IntArray | int, loop: Loop, share: Share, lanes: int) -> IntArray:
    """An index at the first element of accesses of the first warp, over lanes and rounds."""
    inverse = share.table.inverse
    warp = threads_of(loop.op).warp_size
    step = max(lanes, inverse[0].shape[1] // _SAMPLED_ROUNDS // lanes * lanes)
    point = tuple(each[:warp, ::step] for each in inverse)
    return np.broadcast_to(np.asarray(values, dtype=np.int64), loop.shape)[point]
