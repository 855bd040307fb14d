"""Tensor memory: 128 lanes (rows) by 512 columns of 32 bits, beside Blackwell's tensor cores.

A tensor is cut into blocks as one instruction writes them. Blocks of 128 rows use all lanes. Blocks
of 64 rows use lanes 0–15 of every warp's 32, and the next block, below or else to the right, fills
the lanes between. Further blocks follow in the columns, first down, then across. `col_stride` is 1
when elements narrower than 32 bits are packed, and more when each has a column of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.bits import log2
from tilewright.layouts.encodings.tiling import CgaBases, shape_per_cta, sized
from tilewright.layouts.linear import LinearLayout

ROW = "row"
COLUMN = "col"

LANES = 128
SPARE_LANE_BIT = 4
"""The bit of the lane's number that blocks of 64 rows leave free."""


@dataclass(frozen=True)
class TensorMemory:
    """``#ttng.tensor_memory_encoding``: from lane and column to an element of the CTA's part."""

    block: tuple[int, int]
    col_stride: int = 1
    cga: CgaBases = ()
    two_ctas: bool = False

    def __post_init__(self) -> None:
        if self.block[0] not in (64, LANES):
            raise ValueError(f"a tensor-memory block has {self.block[0]} rows, expected 64 or 128")
        log2(self.block[1], "the columns of a block")
        log2(self.col_stride, "col_stride")

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        part = shape_per_cta(shape, self.cga)
        height, width = self.block
        if self.two_ctas and height == 64:
            width //= 2
        if part[0] % height or part[1] % width:
            raise ValueError(f"{list(part)} is not divisible into blocks of {height} x {width}")
        rows = [(1 << bit, 0) for bit in range(log2(height))]
        below = [(height << bit, 0) for bit in range(log2(part[0] // height))]
        beside = [(0, width << bit) for bit in range(log2(part[1] // width))]
        if height == 64:
            spare = (below or beside or [(0, 0)])[0]
            rows.insert(len(rows) if self.two_ctas else SPARE_LANE_BIT, spare)
            below, beside = (below[1:], beside) if below else (below, beside[1:])
        columns = [(0, 0)] * log2(self.col_stride)
        columns += [(0, 1 << bit) for bit in range(log2(width))] + below + beside
        return LinearLayout.of({ROW: rows, COLUMN: columns}, sized(part))


@dataclass(frozen=True)
class TensorMemoryScales:
    """Block scales: 32 lanes hold 32 rows, four consecutive scales of a row; warps hold copies."""

    cga: CgaBases = ()

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        part = shape_per_cta(shape, self.cga)
        if part[0] < 128 or part[1] < 4:
            raise ValueError(f"{list(part)} is smaller than a tile of scales, 128 x 4")
        rows = [(1 << bit, 0) for bit in range(5)] + [(0, 0)] * 2
        columns = [(0, 1), (0, 2)]
        columns += [(32 << bit, 0) for bit in range(log2(part[0] // 32))]
        columns += [(0, 4 << bit) for bit in range(log2(part[1] // 4))]
        return LinearLayout.of({ROW: rows, COLUMN: columns}, sized(part))
