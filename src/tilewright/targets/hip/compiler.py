"""Which compiler makes code objects: hiprtc where ROCm is installed, else clang.

``TILEWRIGHT_HIP_COMPILER=clang`` or ``=hiprtc`` decides otherwise. Both are given the same source
and the same options. hiprtc prints no assembly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tilewright.targets.errors import HipCompilerMissing
from tilewright.targets.hip import clang
from tilewright.targets.hip.clang import Compiled
from tilewright.targets.hip.hiprtc import Hiprtc, hiprtc

VARIABLE = "TILEWRIGHT_HIP_COMPILER"
_COMPILERS = ("hiprtc", "clang")


def compile_source(
    source: str, chip: str, options: Sequence[str] = (), *, name: str = "kernel.hip"
) -> Compiled:
    """The code object of `source` for ``gfx942`` and the like."""
    found = _hiprtc()
    if found is None:
        return clang.compile_source(source, chip, options, name=name)
    return found.compile_source(source, chip, (*clang.COMMON, *options), name=name)


def release(chip: str) -> str:
    """The compiler and its version."""
    found = _hiprtc()
    return str(clang.clang_for(chip)) if found is None else str(found)


def _hiprtc() -> Hiprtc | None:
    """None if clang is to be used."""
    requested = os.environ.get(VARIABLE, "")
    if requested and requested not in _COMPILERS:
        raise HipCompilerMissing(f"{VARIABLE}={requested}: expected {' or '.join(_COMPILERS)}")
    if requested == "clang":
        return None
    found = hiprtc()
    if found is None and requested == "hiprtc":
        raise HipCompilerMissing(
            f"{VARIABLE}=hiprtc, and there is no libhiprtc on this machine: install ROCm, or set "
            f"{VARIABLE}=clang"
        )
    return found
