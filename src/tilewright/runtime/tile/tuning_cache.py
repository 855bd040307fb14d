"""Measured times of `T` kernels on disk.

A time belongs to the IR of a kernel, its configuration, its inputs, how it is compiled, by which
Tilewright and which compiler, and the GPU it ran on. Those of GPUs are cached with the programs;
those of a CPU are of little use, and are cached only if ``TILEWRIGHT_CACHE_DIR`` names a directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tilewright._version import __version__
from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.tuning_times import Times, keep, stored
from tilewright.targets import store
from tilewright.targets.cuda.nvrtc import release
from tilewright.targets.hip.settings import HipSettings

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel, GpuSide

_KIND: Final = "autotune"


def key_of(
    kernel: CompiledTileKernel,
    config: Mapping[str, Any],
    arguments: object,
    inputs: Sequence[Any] | None = None,
) -> str:
    """What a time depends on, as a name for a file."""
    parts = [
        __version__,
        kernel.target,
        kernel.prim_func.script(),
        repr(sorted((name, repr(value)) for name, value in config.items())),
        repr(arguments),
        repr([(getattr(each, "shape", each), getattr(each, "dtype", "")) for each in inputs or ()]),
    ]
    if kernel.gpu is not None:
        gpu_name, compiler = _machine(kernel.gpu)
        parts += [gpu_name, repr(kernel.gpu.settings), store.our_version(), compiler]
    return store.digest(*parts)


def _machine(gpu: GpuSide) -> tuple[str, str]:
    """The GPU that is here, and the compiler."""
    if isinstance(gpu.settings, HipSettings):
        from tilewright.runtime.hip import bindings
        from tilewright.targets.hip.compiler import release as hip_release

        name = bindings.hip().properties().name if bindings.is_available() else ""
        return name, hip_release(gpu.settings.arch)
    return device_properties(current_device()).name if is_available() else "", release()


def recall(key: str) -> Times | None:
    """The times that are known."""
    found: Any = stored(_KIND, key) if _is_cached() else None
    try:
        reference = found["ref_latency"]
        return Times(
            float(found["latency"]),
            None if reference is None else float(reference),
            bool(found["is_brief"]),
        )
    except store.DAMAGED:  # measure
        return None


def remember(key: str, times: Times) -> None:
    """Cache what was measured."""
    if _is_cached():
        keep(_KIND, key, asdict(times))


def _is_cached() -> bool:
    return is_available() or bool(os.environ.get("TILEWRIGHT_CACHE_DIR"))
