"""What the CUDA driver objects to, and which launch it may be about.

A launch returns before the kernel runs, so a fault of the kernel shows in some later call:

    CUDA error 700 (CUDA_ERROR_ILLEGAL_ADDRESS) in cuModuleLoadData: an illegal memory access ...
      It comes from a kernel that was launched earlier. The latest launches, newest first:
        matmul, launched at gemm.py:41

The last few launches are remembered for that: the code object and the position in it, which cost
next to nothing to take and are resolved to a file and a line only when an error is printed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import CodeType

# Faults of a running kernel (CUresult): reported by whatever is called next, and by all after it.
_FAULTS = frozenset({702, 710, 714, 715, 716, 717, 718, 719, 700})

_OURS = str(Path(__file__).parents[2]) + os.sep
_REMEMBERED = 8
_SHOWN = 4

Launch = tuple[str, CodeType | None, int]

recent: deque[Launch] = deque(maxlen=_REMEMBERED)
"""Kernel, the code that launched it and the instruction there; the newest last."""


class CudaUnavailable(RuntimeError):
    """There is no driver or no device."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(f"{reason}: {fix}" if fix else reason)
        self.reason = reason


class OutOfResources(ValueError):
    """A kernel that needs more of something than the GPU has."""


class CudaError(RuntimeError):
    """A call of the driver that did not succeed."""

    def __init__(self, message: str, status: int, name: str) -> None:
        super().__init__(message)
        self.status = status
        self.name = name


def recent_launches() -> Iterator[str]:
    """The latest launches as text, newest first."""
    for kernel, code, instruction in reversed(recent):
        if code is None or code.co_filename.startswith(_OURS):
            yield kernel  # by tuning, for instance
        else:
            yield f"{kernel}, launched at {code.co_filename}:{_line(code, instruction)}"


def _line(code: CodeType, instruction: int) -> int:
    span = next(islice(code.co_positions(), max(instruction, 0) // 2, None), None)
    return code.co_firstlineno if span is None or span[0] is None else span[0]


def driver_error(call: str, status: int, name: str, text: str, detail: str = "") -> CudaError:
    """The error for `status`, with the launches it may be about and `detail` of the caller."""
    lines = [f"CUDA error {status} ({name}) in {call}: {text}"]
    if detail:
        lines.append(f"  {detail}")
    if status in _FAULTS:
        lines += _suspects()
    return CudaError("\n".join(lines), status, name)


def _suspects() -> list[str]:
    launches = list(islice(recent_launches(), _SHOWN))
    if not launches:
        return ["  The failing kernel was launched earlier, by another library."]
    return [
        "  The failing kernel was launched earlier. The latest launches, newest first:",
        *(f"    {launch}" for launch in launches),
        "  Set TILEWRIGHT_CUDA_BLOCKING=1 to stop at the failing launch; compute-sanitizer "
        "reports the access.",
    ]
