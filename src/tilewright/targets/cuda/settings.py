"""How a kernel is compiled for a GPU, as a value: part of its cache key."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_ARCH = "sm_90a"


@dataclass(frozen=True)
class Settings:
    """What a user may choose."""

    arch: str = DEFAULT_ARCH
    wgmma: bool = True
    warp_specialize: bool = True
    """Whether extra warps may issue the copies of pipelined loops, through TMA."""
    fast_math: bool = False
    register_level: int | None = None
    """How freely the assembler spends registers on speed, 0 to 10."""
    index_bits: int | None = None
    """How wide numbers that address elements are; None to choose by the extents of tensors."""
    reuse_within_iteration: bool = False
    """Whether buffers may overlap within a loop iteration although they fit without."""
    tolerate_races: bool = False
    """Whether races of warps that the user specialised are warnings."""
    leave_out: tuple[str, ...] = ()
    """Passes that the user disables."""
    flags: tuple[str, ...] = ()
    """Further options of the CUDA compiler."""

    @property
    def options(self) -> tuple[str, ...]:
        """For the CUDA compiler."""
        found: list[str] = []
        if self.fast_math:
            found.append("--use_fast_math")
        if self.register_level is not None:
            found.append(f"--ptxas-options=--register-usage-level={self.register_level}")
        return (*found, *self.flags)
