"""`tl.target_info`: what a kernel is compiled for, as constants that an `if` can decide on."""

from __future__ import annotations

from tilewright.language.tl.options import Target, current_options


def current_target() -> Target:
    """The machine that the kernel is being compiled for."""
    return current_options().target


def is_cuda() -> bool:
    return current_target().is_cuda


def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether it is an NVIDIA GPU of compute capability `major`.`minor` or later."""
    return current_target().is_cuda_from(major * 10 + minor)


def is_hip() -> bool:
    return current_target().backend == "hip"


def is_hip_cdna3() -> bool:
    return current_target().arch == "gfx942"


def is_hip_cdna4() -> bool:
    return current_target().arch == "gfx950"


def is_hip_gfx1250() -> bool:
    return str(current_target().arch).startswith("gfx1250")
