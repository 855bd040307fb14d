"""Measured times on disk, for the next program that asks.

A time belongs to the IR of a kernel, its configuration, its inputs, how it is compiled, by which
Tilewright and which NVRTC, and the GPU it ran on. Those of GPUs lie in the folder of programs;
those of a CPU say little, and are kept only if ``TILEWRIGHT_CACHE_DIR`` names a folder.
``TILEWRIGHT_AUTOTUNE=fresh`` measures again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tilewright
from tilewright.runtime.cuda.context import current_device, device_facts
from tilewright.runtime.cuda.driver import is_available
from tilewright.targets.cuda.nvrtc import release
from tilewright.targets.triton.cache import cache_dir, digest, our_version

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel


@dataclass(frozen=True)
class Times:
    """Milliseconds of a kernel and of its reference."""

    latency: float
    ref_latency: float | None = None
    is_brief: bool = False
    """Whether it was so slow that it was not measured for long."""


def key_of(
    kernel: CompiledTileKernel,
    config: Mapping[str, Any],
    arguments: object,
    inputs: Sequence[Any] | None = None,
) -> str:
    """What a time depends on, as a name for a file."""
    parts = [
        tilewright.__version__,
        kernel.target,
        kernel.prim_func.script(),
        repr(sorted((name, repr(value)) for name, value in config.items())),
        repr(arguments),
        repr([(getattr(each, "shape", each), getattr(each, "dtype", "")) for each in inputs or ()]),
    ]
    if kernel.gpu is not None:
        chip = device_facts(current_device()).name if is_available() else ""
        parts += [chip, repr(kernel.gpu.settings), our_version(), release()]
    return digest(*parts)


def recall(key: str) -> Times | None:
    """The times that are known."""
    path = _path(key)
    if path is None or os.environ.get("TILEWRIGHT_AUTOTUNE") == "fresh":
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        reference = found["ref_latency"]
        return Times(
            float(found["latency"]),
            None if reference is None else float(reference),
            bool(found["is_brief"]),
        )
    except (OSError, ValueError, KeyError, TypeError):  # absent or damaged: measure
        return None


def remember(key: str, times: Times) -> None:
    """Write down what was measured; other programs see all of it or nothing."""
    path = _path(key)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError:  # a folder that cannot be written costs time, not results
        return
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(times), file)
        Path(draft).replace(path)
    except BaseException as error:
        Path(draft).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise


def _path(key: str) -> Path | None:
    is_kept = is_available() or bool(os.environ.get("TILEWRIGHT_CACHE_DIR"))
    return cache_dir() / "autotune" / f"{key}.json" if is_kept else None
