"""The architectures that our own compilers know, for both ways to name a target of a kernel.

`runtime.choice` (kernels of `tl` and `tlx`) and `runtime.tile.targets` (`T`) parse the name of a
target; here is whether there is such hardware. An unknown one is refused where it is named, not by
a pass of the first kernel that is compiled.
"""

from __future__ import annotations

from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.memory.targets import TARGETS

CUDA_ARCHS = tuple(name for name in TARGETS if name.startswith("sm_"))


def check_cuda(target: str, arch: str) -> None:
    """Raise ValueError unless `arch` of `target` is an NVIDIA architecture: sm_90, sm_90a."""
    if arch.rstrip("af") not in CUDA_ARCHS:
        raise ValueError(
            f"unknown target {target!r}: expected cuda or an architecture of "
            f"{', '.join(CUDA_ARCHS)}, for example cuda:sm_90a (H100, H200) or cuda:sm_80 (A100)"
        )


def check_hip(target: str, arch: str) -> None:
    """Raise ValueError unless `arch` of `target` is an AMD architecture."""
    if arch not in CHIPS:
        raise ValueError(
            f"unknown target {target!r}: expected hip or an architecture of {', '.join(CHIPS)}, "
            "for example hip:gfx942 (MI300)"
        )


def check_tenstorrent(target: str, arch: str) -> None:
    """Raise ValueError unless `arch` of `target` is a Tenstorrent chip."""
    from tilewright.dialects.tensix.chips import chip_named  # loads xDSL

    try:
        chip_named(arch)
    except ValueError as error:
        raise ValueError(f"unknown target {target!r}: {error}") from None
