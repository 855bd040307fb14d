"""Where a `T` kernel runs.

``auto`` (or nothing) follows the arguments: arrays on a GPU run there, others on this machine's
processor. ``cuda``, ``cuda:sm_80`` or ``cuda -arch=sm_80`` select what is compiled; NumPy arrays
still run on the processor, so that one program can check its own results. ``tenstorrent:wormhole``,
``tenstorrent:blackhole`` and ``tenstorrent:sim`` run on a model of the hardware.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, cast

from tilewright.dialects.tensix.chips import chip_named
from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.driver import is_available
from tilewright.targets.cuda.settings import DEFAULT_ARCH

NUMPY, CUDA, TENSTORRENT = "numpy", "cuda", "tenstorrent"
_OTHER_KINDS = ("hip",)
_DEFAULT_TENSTORRENT = "wormhole"
_ARCH = re.compile(r"sm_\d+[af]?")
_SPECIFIC = 90
"""From this generation on, the instructions of tensor cores need the letter: ``sm_90a``."""
_noticed: set[str] = set()


def checked_target(target: object) -> str:
    """``numpy``, ``cuda`` (for the GPU that is there) or ``cuda:sm_90a``."""
    if isinstance(target, Mapping):  # {"kind": "cuda", "arch": "sm_90a"}
        given = cast("Mapping[str, Any]", target)
        target = f"{given.get('kind')}:{given.get('arch', '')}"
    text = "auto" if target is None else str(target)
    kind = re.split(r"[: ]", text, maxsplit=1)[0]
    if kind == "auto":
        return CUDA if is_available() else NUMPY
    if kind in (NUMPY, "c", "llvm", "cpu"):
        return NUMPY
    if kind == CUDA:
        arch = _ARCH.search(text)
        if arch is None and text.partition(":")[2].strip():
            raise ValueError(
                f"unknown target {text!r}: expected cuda or an architecture, for example "
                "cuda:sm_90a (H100, H200) or cuda:sm_80 (A100)"
            )
        return CUDA if arch is None else f"{CUDA}:{_complete(arch[0])}"
    if kind == TENSTORRENT:
        return _tenstorrent_target(text)
    if kind not in _OTHER_KINDS:
        raise ValueError(
            f"unknown target {text!r}: expected auto, numpy, cuda, tenstorrent or one of "
            f"{', '.join(_OTHER_KINDS)}"
        )
    if text not in _noticed:
        _noticed.add(text)
        warnings.warn(
            f"target {text!r}: T kernels run on the CPU (target numpy) for now", stacklevel=4
        )
    return NUMPY


def _tenstorrent_target(text: str) -> str:
    """``tenstorrent:wormhole``; the default architecture if none is given."""
    arch = text.partition(":")[2].strip() or _DEFAULT_TENSTORRENT
    try:
        chip_named(arch)
    except ValueError as error:
        raise ValueError(f"unknown target {text!r}: {error}") from None
    return f"{TENSTORRENT}:{arch}"


def is_tenstorrent(target: str) -> bool:
    return target.startswith(TENSTORRENT)


def is_gpu(target: str) -> bool:
    return target.startswith(CUDA)


def arch_of(target: str) -> str:
    """The architecture of a target: its own, that of the machine's GPU, or Hopper."""
    _, _, arch = target.partition(":")
    if arch:
        return arch
    if not is_available():
        return DEFAULT_ARCH
    return _complete(f"sm_{device_properties(current_device()).capability}")


def _complete(arch: str) -> str:
    is_plain = arch[-1].isdigit()
    return f"{arch}a" if is_plain and int(arch.removeprefix("sm_")) >= _SPECIFIC else arch
