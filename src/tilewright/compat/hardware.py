"""GPU properties that test files read before they select their tests.

The GPU that is described is a Hopper (`driver`). Kernels with what only Blackwell has can be
compiled and run as well, but a script that reads them gets values that fit the rest of the
description.
"""

from __future__ import annotations

from tilewright.compat.driver import CAPABILITY

_HOPPER, _BLACKWELL = 9, 10
_major: int = CAPABILITY[0]


def is_cuda() -> bool:
    return True


def is_hopper() -> bool:
    return _major == _HOPPER


def is_hopper_or_newer() -> bool:
    return _major >= _HOPPER


def is_blackwell() -> bool:
    return _major == _BLACKWELL


def is_hip() -> bool:
    return False


def is_hip_cdna3() -> bool:
    return False


def is_hip_cdna4() -> bool:
    return False


def is_hip_gfx1250() -> bool:
    return False


def is_xpu() -> bool:
    return False


def is_interpreter() -> bool:
    return False
