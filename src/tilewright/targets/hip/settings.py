"""How a kernel is compiled for an AMD GPU, as a value: part of its cache key."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.layouts.hardware.amd_chips import DEFAULT_CHIP

_FAST = ("-fapprox-func", "-freciprocal-math", "-fgpu-flush-denormals-to-zero")
"""What ``--use_fast_math`` is to NVIDIA's compiler; NaNs and infinities keep their meaning."""


@dataclass(frozen=True)
class HipSettings:
    """What a user may choose."""

    arch: str = DEFAULT_CHIP
    fast_math: bool = False
    index_bits: int | None = None
    """How wide indices are; None to choose by the extents of tensors."""
    reuse_within_iteration: bool = False
    """Whether buffers may overlap within a loop iteration although they fit without."""
    leave_out: tuple[str, ...] = ()
    """Passes that the user disables."""
    flags: tuple[str, ...] = ()
    """Further options of clang or hiprtc."""

    @property
    def options(self) -> tuple[str, ...]:
        """For the compiler."""
        return (*(_FAST if self.fast_math else ()), *self.flags)
