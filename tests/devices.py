"""Whether this machine has a GPU, and torch for the tests that need both."""

from __future__ import annotations

import ctypes
from functools import cache
from types import ModuleType
from typing import Any, cast

import pytest


@cache
def missing_device() -> str | None:
    """Why no CUDA device can be used, or None when there is one. Needs no CUDA package."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver (libcuda.so.1) on this machine"
    if status := driver.cuInit(0):
        return f"the CUDA driver failed to initialise (cuInit returned {status})"
    count = ctypes.c_int(0)
    if status := driver.cuDeviceGetCount(ctypes.byref(count)):
        return f"the CUDA driver does not count devices (error {status})"
    return None if count.value else "the CUDA driver found no GPU"


def torch_on_a_device() -> Any:
    """torch, for a module whose tests all run on a GPU; elsewhere the module is skipped.

    Where there is no GPU, torch is not imported, as tests of other modules share the process.
    """
    if (reason := missing_device()) is not None:
        pytest.skip(f"needs a device: {reason}", allow_module_level=True)
    return cast(ModuleType, pytest.importorskip("torch"))
