"""Operands of a dot in registers.

Under an MMA parent, a lane owns `k_width` consecutive elements along K; there are four lanes along
K and eight along M or N; A then has two such tiles in each direction and B two along K. Warps that
differ only along the other dimension of the result own the same elements.

Under a blocked parent a thread holds the whole K of its rows or columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.layouts.encodings.blocked import Blocked
from tilewright.layouts.encodings.nvidia_mma import NvidiaMma, instruction_tile
from tilewright.layouts.encodings.tiling import CgaBases, counting, spread
from tilewright.layouts.linear import LANE, REGISTER, WARP, LinearLayout, dim


@dataclass(frozen=True)
class DotOperand:
    """``#ttg.dot_op``; operand 0 is A (M x K) and operand 1 is B (K x N)."""

    op_idx: int
    parent: NvidiaMma | Blocked
    k_width: int = 0

    def __post_init__(self) -> None:
        if self.op_idx not in (0, 1):
            raise ValueError(f"op_idx is {self.op_idx}, expected 0 or 1")
        if isinstance(self.parent, NvidiaMma):
            if self.k_width < 1:
                raise ValueError("an operand of an MMA instruction needs k_width")
            if self.parent.is_wgmma and self.op_idx == 1:
                raise ValueError("operand B of wgmma must be in shared memory, not in registers")

    @property
    def rank(self) -> int:
        return len(self.parent.warps_per_cta)

    @property
    def k_axis(self) -> int:
        return self.rank - 1 if self.op_idx == 0 else self.rank - 2

    @property
    def cga(self) -> CgaBases:
        return tuple(
            tuple(0 if axis == self.k_axis else value for axis, value in enumerate(basis))
            for basis in self.parent.cga
        )

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        if isinstance(self.parent, Blocked):
            tile = self._blocked_tile(self.parent, shape[self.k_axis])
        else:
            tile = self._mma_tile(self.parent)
        return spread(tile, shape, self.cga, REGISTER)

    def _without_k(self, source: str, sizes: Sequence[int], order: Sequence[int]) -> LinearLayout:
        """`source` counts through all dimensions but K, along which it holds copies."""
        layout = LinearLayout.empty()
        for axis in order:
            if axis == self.k_axis:
                layout = layout * LinearLayout.zeros(sizes[axis], source, dim(axis))
            else:
                layout = layout * LinearLayout.identity(sizes[axis], source, dim(axis))
        return layout

    def _mma_tile(self, parent: NvidiaMma) -> LinearLayout:
        other = dim(self.rank - 2 if self.op_idx == 0 else self.rank - 1)
        height = 16 if self.op_idx == 0 else 8
        tile = instruction_tile(other, dim(self.k_axis), height, 8 * self.k_width, self.k_width)
        for axis in reversed(range(self.rank - 2)):
            tile = tile * LinearLayout.identity(1, REGISTER, dim(axis))
        return tile * self._without_k(WARP, parent.warps_per_cta, parent.warp_order)

    def _blocked_tile(self, parent: Blocked, depth: int) -> LinearLayout:
        sizes = list(parent.size_per_thread)
        sizes[self.k_axis] = depth
        whole = replace(parent, size_per_thread=tuple(sizes))
        return (
            counting(REGISTER, whole.size_per_thread, whole.order)
            * self._without_k(LANE, whole.threads_per_warp, whole.order)
            * self._without_k(WARP, whole.warps_per_cta, whole.order)
        )
