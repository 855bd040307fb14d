"""Accumulators of tensor-core instructions: ``mma.sync`` (version 2) and ``wgmma`` (version 3).

All of them build on one 8 x 8 pattern: a lane owns two consecutive elements of a row, four lanes a
row, 32 lanes eight rows. ``mma.sync`` stacks two of them (16 x 8); ``wgmma`` goes on along N. Warps
follow row by row under ``mma.sync`` and down the rows under ``wgmma``, whose four warps share M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.encodings.tiling import CgaBases, Shape, counting, spread
from tilewright.layouts.linear import LANE, REGISTER, WARP, LinearLayout, dim

WGMMA_VERSION = 3


def instruction_tile(
    rows: str, columns: str, height: int, width: int, per_lane: int
) -> LinearLayout:
    """The 8 x 8 pattern and its repetitions down to `height` and across to `width`."""
    tile = (
        LinearLayout.identity(per_lane, REGISTER, columns)
        * LinearLayout.identity(4, LANE, columns)
        * LinearLayout.identity(8, LANE, rows)
    )
    tile = tile * LinearLayout.identity(height // 8, REGISTER, rows)
    return tile * LinearLayout.identity(width // (4 * per_lane), REGISTER, columns)


@dataclass(frozen=True)
class NvidiaMma:
    """``#ttg.nvidia_mma``."""

    version: tuple[int, int]
    warps_per_cta: Shape
    instr_shape: Shape
    cga: CgaBases = ()

    def __post_init__(self) -> None:
        if self.version[0] not in (2, WGMMA_VERSION):
            raise ValueError(f"version {self.version[0]} is neither mma.sync (2) nor wgmma (3)")

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def is_wgmma(self) -> bool:
        return self.version[0] == WGMMA_VERSION

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Rows and columns of one instruction, for one warp."""
        if self.is_wgmma:
            return self.instr_shape[0], self.instr_shape[1]
        return self.instr_shape[-2], self.instr_shape[-1]

    @property
    def warp_order(self) -> list[int]:
        axes = list(range(self.rank))
        return axes if self.is_wgmma else axes[::-1]

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        rows, columns = dim(self.rank - 2), dim(self.rank - 1)
        height, width = self.tile_shape
        tile = instruction_tile(rows, columns, height, width, per_lane=2)
        for axis in reversed(range(self.rank - 2)):
            tile = tile * LinearLayout.identity(1, REGISTER, dim(axis))
        tile = tile * counting(WARP, self.warps_per_cta, self.warp_order)
        return spread(tile, shape, self.cga, REGISTER)
