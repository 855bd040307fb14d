"""Measured times on disk, for the next program that asks: ``$TILEWRIGHT_CACHE_DIR/autotune``.

A time belongs to the IR of a kernel, its configuration, its target and this version of Tilewright.
Kernels themselves are not kept: a function is traced to know which kernel it is, and from there
the NumPy program takes less time than the tracing took.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tilewright

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tilewright.runtime.tile.kernel import CompiledTileKernel


def key_of(kernel: CompiledTileKernel, config: Mapping[str, Any], arguments: object) -> str:
    """What a time depends on, as a name for a file."""
    parts = [
        tilewright.__version__,
        kernel.target,
        kernel.prim_func.script(),
        repr(sorted((name, repr(value)) for name, value in config.items())),
        repr(arguments),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def recall(key: str | None) -> tuple[float, float | None] | None:
    """The times of the kernel and of its reference, if they are known."""
    path = _path(key)
    if path is None or not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        reference = found["ref_latency"]
        return float(found["latency"]), None if reference is None else float(reference)
    except (OSError, ValueError, KeyError, TypeError):  # damaged: measure again
        return None


def remember(key: str | None, kernel: CompiledTileKernel) -> None:
    """Write down what was measured; other programs see all of it or nothing."""
    path = _path(key)
    if path is None:
        return
    text = json.dumps({"latency": kernel.latency, "ref_latency": kernel.ref_latency})
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False
    ) as file:
        file.write(text)
    Path(file.name).replace(path)


def _path(key: str | None) -> Path | None:
    folder = os.environ.get("TILEWRIGHT_CACHE_DIR")
    return None if key is None or not folder else Path(folder) / "autotune" / f"{key}.json"
