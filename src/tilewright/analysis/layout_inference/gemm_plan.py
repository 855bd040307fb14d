"""How one `tile.gemm` is done: what the GPUs of all vendors have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from tilewright.dialects.amd.chips import Chip
from tilewright.dialects.tile import RegionOp
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.type_utils import element_type_of

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


def is_seen_otherwise(buffer: SSAValue) -> bool:
    """Whether a view has elements of another type.

    Bytes of two such elements are next to each other only in a plain layout.
    """
    return any(
        (isinstance(op, ViewOp) and element_type_of(op.result.type) != element_type_of(buffer.type))
        or is_seen_otherwise(op.results[0])
        for op in (use.operation for use in buffer.uses)
        if isinstance(op, ViewOp | RegionOp | SlotOp)
    )
