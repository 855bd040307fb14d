"""What a launcher must know of a finished kernel, as values that can be written to disk.

The machine code lacks its launch metadata: how many threads it expects, how much memory and which
arguments in which form is agreed between the compiler and the launcher. This is that agreement,
whichever compiler made the kernel. It is stored next to the machine code in the disk cache and
read by `runtime.cuda`. What was stored in another format counts as damaged, and is compiled anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

FORMAT = 1
"""Count this up when fields change their meaning."""
WARP_SIZE = 32

# Parameters that no user wrote; Triton appends them to every kernel, in this order.
SCRATCH = "scratch"
PROFILE = "profile"
HIDDEN = (SCRATCH, PROFILE)

TENSOR_MAP = "tensormap"
POINTER = "ptr"

_FORMAT_KEY = "format"


@dataclass(frozen=True)
class TensorMapSpec:
    """How the host encodes one tensor descriptor for TMA."""

    element_bytes: int
    box: tuple[int, ...]
    """Elements one copy moves, outermost dimension first."""
    swizzle_bytes: int
    """Over how many bytes rows are swizzled: 0 (not at all), 32, 64 or 128."""
    cuda_type: int = 0
    """Value of ``CUtensorMapDataType``; 0 for `T` kernels, which name the `element`."""
    fp4_padded: bool = False
    """Elements of 4 bits, each pair in the lower half of its memory: extents count twice."""
    element: str = ""
    """The element type, as printed in IR."""
    fill: str = "zero"


@dataclass(frozen=True)
class KernelMetadata:
    """Everything besides the machine code that a launch needs."""

    name: str
    """The entry point in the machine code."""
    arch: int | str
    """The compute capability (90 for sm_90), or the name of an architecture (sm_90a, gfx942)."""
    threads: int
    """Of a CTA, those of tasks included; kernels of `T` may end in the middle of a warp."""
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
    """In blocks."""
    num_ctas: int = 1
    """With 2 or more, one program is a cluster: a launch has that many CTAs for each program, and
    the grid of a user, which counts programs, is multiplied by it along x."""
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
    index_bits: int = 32
    """How wide the integers are that address elements."""
    performance_remarks: tuple[str, ...] = ()
    """What the assembler reports that costs speed, for example serialised MMAs."""

    @property
    def num_warps(self) -> int:
        return -(-self.threads // self.warp_size)

    @property
    def arch_name(self) -> str:
        """The architecture as compilers write it: sm_90, gfx942."""
        return f"sm_{self.arch}" if isinstance(self.arch, int) else self.arch

    def as_values(self) -> dict[str, Any]:
        """What JSON can hold; with the number of warps, for readers of the file."""
        return stamped({**asdict(self), "num_warps": self.num_warps})

    def to_json(self) -> str:
        return json.dumps(self.as_values())

    @staticmethod
    def from_values(given: Mapping[str, Any]) -> KernelMetadata:
        """What `as_values` gave; raises ValueError, TypeError or KeyError on anything else."""
        values = unstamped(given)
        del values["num_warps"]
        maps = tuple(TensorMapSpec(**tupled(each)) for each in values.pop("tensor_maps"))
        return KernelMetadata(**values, tensor_maps=maps)

    @staticmethod
    def from_json(text: str) -> KernelMetadata:
        return KernelMetadata.from_values(json.loads(text))


def stamped(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the format that they are written in."""
    return {_FORMAT_KEY: FORMAT, **values}


def unstamped(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were `stamped`; raises KeyError or ValueError for another format."""
    values = tupled(given)
    found = values.pop(_FORMAT_KEY)
    if found != FORMAT:
        raise ValueError(f"metadata of format {found!r}, expected {FORMAT}")
    return values


def tupled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as the tuples that they were before they were written."""
    return {
        name: tuple(cast("list[Any]", each)) if isinstance(each, list) else each
        for name, each in given.items()
    }
