"""Special registers of an AMD GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tilewright.language.tl.dtypes import dtype, int32, int64
from tilewright.language.tl.inline_asm import inline_asm_elementwise
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import tensor

_CLOCKS: Mapping[str, tuple[str, str]] = {
    "gfx9": ("s_memrealtime $0", "s_waitcnt vmcnt(0)"),
    "gfx11": ("s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)", "s_waitcnt lgkmcnt(0)"),
    "gfx12": ("s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)", "s_wait_kmcnt 0"),
}
"""How the real-time counter is read, and how to wait for it, by generation."""

_UNITS: Mapping[str, str] = {
    "gfx9": "s_getreg_b32 $0, hwreg(4, 8, 8)",
    "gfx11": "s_getreg_b32 $0, hwreg(23, 10, 4)",
    "gfx12": "s_getreg_b32 $0, hwreg(23, 10, 4)",
}
"""The register with the number of the compute unit or, since RDNA 3, work-group processor."""


def _generation(known: Mapping[str, object], function: str) -> str:
    target = current_options().target
    found = [name for name in known if str(target.arch).startswith(name)]
    if not found:
        raise ValueError(f"{function} is not supported on {target}")
    return found[0]


def _read(asm: str, type: dtype, *, is_pure: bool) -> tensor:
    return cast("tensor", inline_asm_elementwise(asm, "=r", [], type, is_pure, 1))


def memrealtime() -> tensor:
    """The 64-bit counter of real time."""
    return _read("\n".join(_CLOCKS[_generation(_CLOCKS, "memrealtime")]), int64, is_pure=False)


def smid() -> tensor:
    """The number of the compute unit that the program runs on, within its shader array or XCC."""
    return _read(_UNITS[_generation(_UNITS, "smid")], int32, is_pure=True)


def num_threads() -> int:
    """How many threads run one program."""
    options = current_options()
    return options.num_warps * options.target.warp_size


def num_warps() -> int:
    """How many wavefronts run one program."""
    return current_options().num_warps
