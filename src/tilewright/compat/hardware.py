"""GPU properties that test files read before they select their tests.

They are of the GPU that is described (`driver`). Kernels with what only Blackwell has can be
compiled and run whatever that is, but a script that reads them gets values that fit the rest of
the description.
"""

from __future__ import annotations

from tilewright.compat.driver import capability
from tilewright.runtime.options import current_target

_HOPPER, _BLACKWELL = 9, 10


def is_cuda() -> bool:
    return current_target().is_cuda


def is_hopper() -> bool:
    return is_cuda() and capability()[0] == _HOPPER


def is_hopper_or_newer() -> bool:
    return is_cuda() and capability()[0] >= _HOPPER


def is_blackwell() -> bool:
    return is_cuda() and capability()[0] == _BLACKWELL


def is_hip() -> bool:
    return not is_cuda()


def is_hip_cdna3() -> bool:
    return current_target().arch == "gfx942"


def is_hip_cdna4() -> bool:
    return current_target().arch == "gfx950"


def is_hip_gfx1250() -> bool:
    return current_target().arch == "gfx1250"


def is_xpu() -> bool:
    return False


def is_interpreter() -> bool:
    return False
