"""``tilelang.contrib.nvcc``: questions about the GPU that a kernel is compiled for.

The GPU is the one of this machine, else the one that is described (`compat.described_gpu`).
"""

from __future__ import annotations

from tilewright.compat.described_gpu import CAPABILITY
from tilewright.runtime.cuda.driver import is_available

Capability = tuple[int, int]


def _capability() -> Capability:
    if not is_available():
        return CAPABILITY
    from tilewright.runtime.cuda.context import device_properties

    return divmod(device_properties(None).capability, 10)


def get_target_compute_version(target: object = None) -> str:
    """The compute capability of a target, as ``9.0``: by its name, else that of the GPU."""
    name = str(target or "")
    _, _, arch = name.partition("sm_")
    digits = "".join(each for each in arch if each.isdigit())
    major, minor = (int(digits[:-1]), int(digits[-1])) if len(digits) > 1 else _capability()
    return f"{major}.{minor}"


def parse_compute_version(compute_version: str) -> Capability:
    """``9.0`` as two integers."""
    major, _, minor = str(compute_version).partition(".")
    return int(major), int(minor or 0)


def get_target_arch(compute_version: str | Capability) -> str:
    """``90a`` for ``9.0``: Hopper and later have instructions of one architecture only."""
    major, minor = (
        compute_version
        if isinstance(compute_version, tuple)
        else parse_compute_version(compute_version)
    )
    return f"{major}{minor}a" if major >= 9 else f"{major}{minor}"


def _major(target: object) -> int:
    return parse_compute_version(get_target_compute_version(target))[0]


def have_fp16(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (5, 3)


def have_int8(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (6, 0)


def have_tensorcore(compute_version: str | None = None, target: object = None) -> bool:
    found = get_target_compute_version(target) if compute_version is None else compute_version
    return parse_compute_version(found) >= (7, 0)


def have_bf16(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (8, 0)


def have_fp8(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (8, 9)


def have_tma(target: object) -> bool:
    return _major(target) >= 9


def have_pdl(target: object) -> bool:
    return _major(target) >= 9


def have_mbarrier(target: object) -> bool:
    return _major(target) >= 9


def is_hopper(target: object) -> bool:
    return parse_compute_version(get_target_compute_version(target)) == (9, 0)
