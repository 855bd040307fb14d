"""Where a `T` kernel runs: ``"auto"`` is this machine's processor until there is a GPU target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, cast

_GPU_KINDS = ("cuda", "hip", "tenstorrent")
_noticed: set[str] = set()


def checked_target(target: object) -> str:
    """The target that will run the kernel; a GPU's name runs on the CPU here, and is told once."""
    if isinstance(target, Mapping):  # {"kind": "cuda", "arch": "sm_90a"}
        target = cast("Mapping[str, Any]", target).get("kind")
    text = "auto" if target is None else str(target)
    kind = text.partition(":")[0].partition(" ")[0]
    if kind in ("auto", "numpy", "c", "llvm", "cpu"):
        return "numpy"
    if kind not in _GPU_KINDS:
        raise ValueError(
            f"unknown target {text!r}: it is auto, numpy, or one of {', '.join(_GPU_KINDS)}"
        )
    if text not in _noticed:
        _noticed.add(text)
        warnings.warn(
            f"target {text!r}: T kernels run on the CPU (target numpy) for now", stacklevel=4
        )
    return "numpy"
