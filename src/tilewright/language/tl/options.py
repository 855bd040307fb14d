"""For what machine, and how, the kernel at hand is being compiled.

A few functions of the language depend on it: which precisions `dot` may use, whether
`device_assert` emits anything, what `num_warps` is. The caller that traces a kernel sets
so for the duration; without that, a Hopper GPU and no debugging is assumed, whose IR every target
of ours can take:

    with using(Options(target=Target("cuda", 100), debug=True)):
        trace(kernel, arguments)

Differences between GPUs are properties of the `Target`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

_TF32_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_HIP_PRECISIONS = ("ieee", "bf16x3", "bf16x6")
_HOPPER = 90
_CUDA_WARP = 32
_HIP_WARPS = {9: 64}
"""Lanes of a wavefront by generation; those not listed have 32."""

_CUDA_MIN_K: Mapping[int, int] = {8: 32, 16: 16, 32: 8, 64: 4}
"""The shortest sum that a tensor core instruction can make, by bits of an operand's element."""


@dataclass(frozen=True)
class Target:
    """A machine: `cuda` with a number (90 for sm_90), or `hip` with a name (gfx942)."""

    backend: Literal["cuda", "hip"] = "cuda"
    arch: int | str = _HOPPER

    def __post_init__(self) -> None:
        if isinstance(self.arch, int) is not self.is_cuda:
            expected = "an integer, 90 for sm_90" if self.is_cuda else "a name such as gfx942"
            raise TypeError(f"arch of {self.backend} must be {expected}, got {self.arch!r}")

    @property
    def is_cuda(self) -> bool:
        return self.backend == "cuda"

    def is_cuda_from(self, arch: int) -> bool:
        """Whether this is an NVIDIA GPU of compute capability `arch` (90 for 9.0) or later."""
        return isinstance(self.arch, int) and self.arch >= arch

    @cached_property
    def warp_size(self) -> int:
        if isinstance(self.arch, int):
            return _CUDA_WARP
        generation = int(self.arch.removesuffix("-strict").removeprefix("gfx")[:-2])
        return _HIP_WARPS.get(generation, 32)

    @property
    def dot_precisions(self) -> tuple[str, ...]:
        """What `input_precision` of a dot may be."""
        if self.is_cuda:
            return _TF32_PRECISIONS
        return ("tf32", *_HIP_PRECISIONS) if self.arch == "gfx942" else _HIP_PRECISIONS

    @property
    def default_dot_precision(self) -> str:
        """What `input_precision` of a dot is where None is given."""
        return "tf32" if self.is_cuda else "ieee"

    @property
    def max_num_imprecise_acc(self) -> int:
        """How many fp8 multiplications a tensor core may accumulate in fewer bits."""
        return 2**30 if self.arch == _HOPPER else 0

    @property
    def deprecated_dot_types(self) -> tuple[str, ...]:
        """Operand types of a dot that the GPU emulates slowly."""
        if self.is_cuda_from(_HOPPER):
            return ("fp8e4b15",)
        return ("fp8e4b8", "fp8e5b16") if self.arch == "gfx950" else ()

    @property
    def supported_fp8(self) -> tuple[str, ...]:
        """8-bit floats that values of a kernel may have."""
        if not self.is_cuda:
            return ("fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
        return ("fp8e4b15", "fp8e4nv", "fp8e5") if self.is_cuda_from(89) else ("fp8e4b15", "fp8e5")

    def min_dot_size(self, bits: int) -> tuple[int, int, int]:
        """The least M, N and K of a dot whose operands have elements of `bits`."""
        return (1, 1, _CUDA_MIN_K.get(bits, 16)) if self.is_cuda else (1, 1, 1)

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"

    @property
    def arch_name(self) -> str:
        """The architecture as compilers write it: sm_90, gfx942."""
        return f"sm_{self.arch}" if self.is_cuda else str(self.arch)


@dataclass(frozen=True)
class Options:
    """How to compile: the machine, and what the user requested."""

    target: Target = Target()
    debug: bool = False
    sanitize_overflow: bool = False
    """Whether integer additions, subtractions and multiplications are asserted not to overflow."""
    num_warps: int = 4
    widens_scans: bool = False
    """Whether `cumsum` and `cumprod` of bfloat16 are in float32, as before Triton 3.9."""


_stack: list[Options] = [Options()]


def current_options() -> Options:
    """The options of the kernel being traced."""
    return _stack[-1]


@contextmanager
def using(options: Options) -> Generator[Options]:
    """Compile under `options` inside the ``with``."""
    _stack.append(options)
    try:
        yield options
    finally:
        _stack.pop()
