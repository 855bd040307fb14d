"""How one `tile.gemm` is done: what the GPUs of all vendors have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tilewright.layouts.hardware.amd_chips import Chip

Gpu: TypeAlias = int | Chip
"""What a kernel is compiled for: the number in NVIDIA's ``sm_90``, or an AMD chip."""


@dataclass(frozen=True)
class GemmPlan:
    """How one `tile.gemm` is done."""

    instruction: str
    """``wgmma`` or ``mma``; AMD: ``mfma`` or ``wmma``."""
    warps: tuple[int, int]
    """Warps along the rows and the columns of C; for wgmma, groups of four rows of warps."""
    shape: tuple[int, int, int]
    """Of one instruction."""
    reason: str | None = None
    """Why it is not the faster instruction."""
    transposed: bool = False
    """AMD: whether B is the first operand, and lanes hold columns of a row of C next to each other.
    """
    k_width: int = 0
    """AMD: elements of an operand along K that a lane holds next to each other."""

    @property
    def groups(self) -> tuple[int, int]:
        return self.warps[0] // 4, self.warps[1]
