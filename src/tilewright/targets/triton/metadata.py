"""What a launcher must know of a finished kernel, as values that can be written to disk.

The machine code lacks its launch metadata: how many threads it expects, how much memory and which
arguments in which form is agreed between the compiler and the launcher. This is that agreement. It
is made by `compile`, stored next to the cubin in the disk cache, and read by `runtime.cuda`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

WARP_SIZE = 32

# Parameters that no user wrote; Triton appends them to every kernel, in this order.
SCRATCH = "scratch"
PROFILE = "profile"
HIDDEN = (SCRATCH, PROFILE)

TENSOR_MAP = "tensormap"
POINTER = "ptr"


@dataclass(frozen=True)
class TensorMapSpec:
    """How the host encodes one tensor descriptor for TMA."""

    element_bytes: int
    box: tuple[int, ...]
    """Elements one copy moves, outermost dimension first."""
    swizzle_bytes: int
    """Over how many bytes rows are swizzled: 0 (not at all), 32, 64 or 128."""
    cuda_type: int
    """Value of ``CUtensorMapDataType``."""
    fp4_padded: bool = False
    """Elements of 4 bits, each pair in the lower half of its memory: extents count twice."""


@dataclass(frozen=True)
class KernelMetadata:
    """Everything besides the machine code that a launch needs."""

    name: str
    """The entry point in the machine code."""
    arch: int | str
    """The compute capability (90 for sm_90), or the name of an AMD architecture (gfx942)."""
    num_warps: int
    """All warps of a CTA, those of tasks included: a CTA has `warp_size` times as many threads."""
    shared: int
    """Bytes of dynamic shared memory."""
    parameters: tuple[str, ...]
    """The kind of every parameter in order: ``ptr``, ``i1`` to ``i64``, ``f16``, ``bf16``, ``f32``,
    ``f64``, ``tensormap``; at the end the hidden ``scratch`` and ``profile``."""
    tensor_maps: tuple[TensorMapSpec, ...] = ()
    """One for each ``tensormap``, in order."""
    tmem: int = 0
    """Columns of tensor memory."""
    scratch_bytes: int = 0
    """Global memory for each CTA, for descriptors that are made on the device."""
    scratch_align: int = 1
    profile_bytes: int = 0
    profile_align: int = 1
    cluster: tuple[int, int, int] = (1, 1, 1)
    num_ctas: int = 1
    """With 2 or more, one program is a cluster: a launch has that many CTAs for each program."""
    cooperative: bool = False
    pdl: bool = False
    """Programmatic dependent launch: the kernel may start before the one ahead of it ends."""
    registers: int = 0
    spill_bytes: int = 0
    """Bytes of registers stored to local memory and loaded back, the larger of the two."""
    stack_bytes: int = 0
    compiler: str = ""
    """The releases of Triton and of the assembler that made it."""
    warp_size: int = WARP_SIZE
    scalar_registers: int = 0
    """SGPRs of a wave; AMD only, where `registers` are VGPRs and AGPRs together."""
    accumulation_registers: int = 0
    """AGPRs, those of AMD that only matrix instructions and copies use."""

    @property
    def threads(self) -> int:
        return self.warp_size * self.num_warps

    @property
    def arch_name(self) -> str:
        """The architecture as compilers write it: sm_90, gfx942."""
        return f"sm_{self.arch}" if isinstance(self.arch, int) else self.arch

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> KernelMetadata:
        """The metadata that `to_json` wrote; raises ValueError or TypeError on anything else."""
        loaded: dict[str, Any] = json.loads(text)
        described: list[dict[str, Any]] = loaded.pop("tensor_maps")
        maps = tuple(TensorMapSpec(box=tuple(each.pop("box")), **each) for each in described)
        x, y, z = loaded.pop("cluster")
        parameters = tuple(loaded.pop("parameters"))
        return KernelMetadata(**loaded, parameters=parameters, tensor_maps=maps, cluster=(x, y, z))
