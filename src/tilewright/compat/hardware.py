"""GPU properties that test files read before they select their tests.

They are of the GPU that is described (`driver`), unless the script sets another driver. Kernels
with what only Blackwell has can be compiled and run whatever that is, but a script that reads them
gets values that fit the rest of the description. With ``TRITON_INTERPRET=1`` there is no GPU, as in
Triton.
"""

from __future__ import annotations

import os
from typing import Any

from tilewright.compat.described_gpu import capability
from tilewright.compat.driver import driver

_AMPERE, _HOPPER = 8, 9
_BLACKWELL = (10, 11)
_BLACKWELL_CONSUMER = 12
_BLACKWELL_ULTRA, _RUBIN = (10, 3), (10, 7)
_LDS_BYTES, _LDS_BYTES_CDNA4 = 64 * 1024, 160 * 1024


def is_interpreter() -> bool:
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def is_compile_warmup() -> bool:
    """Whether a test run only compiles; there is no such run here."""
    return False


def get_current_target() -> Any:
    """The GPU that kernels are compiled for, none in the interpreter."""
    return None if is_interpreter() else driver.active.get_current_target()


def _is_backend(name: str) -> bool:
    target = get_current_target()
    return target is not None and target.backend == name


def _capability() -> tuple[int, int]:
    return capability() if is_cuda() else (0, 0)


def is_cuda() -> bool:
    return _is_backend("cuda")


def is_ampere_or_newer() -> bool:
    return _capability()[0] >= _AMPERE


def is_hopper() -> bool:
    return _capability()[0] == _HOPPER


def is_hopper_or_newer() -> bool:
    return _capability()[0] >= _HOPPER


def is_blackwell() -> bool:
    return _capability()[0] in _BLACKWELL


def is_blackwell_ultra() -> bool:
    return _capability() == _BLACKWELL_ULTRA


def is_rubin() -> bool:
    return _capability() == _RUBIN


def is_sm12x() -> bool:
    return _capability()[0] == _BLACKWELL_CONSUMER


def is_hip() -> bool:
    return _is_backend("hip")


def is_xpu() -> bool:
    return _is_backend("xpu")


def _is_arch(*parts: str) -> bool:
    return is_hip() and any(part in str(get_current_target().arch) for part in parts)


def is_hip_cdna2() -> bool:
    return _is_arch("gfx90a")


def is_hip_cdna3() -> bool:
    return _is_arch("gfx942")


def is_hip_cdna4() -> bool:
    return _is_arch("gfx950")


def is_hip_cdna3_or_newer() -> bool:
    return is_hip_cdna3() or is_hip_cdna4()


def is_hip_cdna() -> bool:
    return is_hip_cdna2() or is_hip_cdna3_or_newer()


def is_hip_rdna3() -> bool:
    return _is_arch("gfx110", "gfx115")


def is_hip_rdna4() -> bool:
    return _is_arch("gfx120")


def is_hip_rdna4m() -> bool:
    return _is_arch("gfx117")


def is_hip_rdna() -> bool:
    return is_hip_rdna3() or is_hip_rdna4() or is_hip_rdna4m()


def is_hip_gfx1250() -> bool:
    return _is_arch("gfx1250")


def get_hip_lds_size() -> int:
    return _LDS_BYTES_CDNA4 if is_hip_cdna4() else _LDS_BYTES


def supports_tma(byval_only: bool = False) -> bool:
    return is_interpreter() or is_hopper_or_newer()


def supports_ws() -> bool:
    return is_interpreter() or is_hopper_or_newer()


def supports_clc() -> bool:
    return is_blackwell()


def tma_skip_msg(byval_only: bool = False) -> str:
    return "needs TMA: a Hopper GPU or newer"
