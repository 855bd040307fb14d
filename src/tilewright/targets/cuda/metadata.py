"""What a launcher needs of a kernel, as values."""

from __future__ import annotations

from dataclasses import dataclass

_WARP = 32


@dataclass(frozen=True)
class TensorMapSpec:
    """The tensor map that a kernel requires."""

    element: str
    """The element type, as printed in IR."""
    element_bytes: int
    box: tuple[int, ...]
    swizzle_bytes: int
    fill: str = "zero"
    cuda_type: int = 0
    fp4_padded: bool = False


@dataclass(frozen=True)
class KernelMetadata:
    """A kernel as a launch sees it."""

    name: str
    threads: int
    shared: int
    parameters: tuple[str, ...]
    """Kinds in order: ``ptr``, ``i32``, ``f32``, ``tensormap``, ..."""
    tensor_maps: tuple[TensorMapSpec, ...] = ()
    cluster: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False
    registers: int = 0
    spill_bytes: int = 0
    stack_bytes: int = 0
    pdl: bool = False
    num_ctas: int = 1
    scratch_bytes: int = 0
    scratch_align: int = 1
    index_bits: int = 32
    """How wide the numbers are that address elements."""
    performance_remarks: tuple[str, ...] = ()
    """What the assembler reports that costs speed, for example serialised MMAs."""

    @property
    def num_warps(self) -> int:
        return -(-self.threads // _WARP)
