"""The current CUDA context and what its device can do.

torch, CuPy and the CUDA runtime all work in a device's *primary* context. If the calling thread has
a context, it is used; if not, the primary one of the device is made current, so that memory and
streams of those libraries can be used here and the other way round.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from tilewright.runtime.cuda.driver import Driver, driver

# CUdevice_attribute
_MULTIPROCESSORS = 16
_CLOCK_KHZ = 13
_L2_BYTES = 38
_MAJOR = 75
_MINOR = 76
_SHARED_OPTIN = 97

_NAME_BYTES = 256


@dataclass(frozen=True)
class DeviceProperties:
    """One GPU. `shared_optin` is the most shared memory a block can have, in bytes."""

    index: int
    name: str
    capability: int
    multiprocessors: int
    shared_optin: int
    clock_khz: int
    l2_bytes: int


def ensure_context(device: int | None = None) -> None:
    """Give the calling thread a context if it has none."""
    cuda = driver()
    context = ctypes.c_void_p()
    cuda.call("cuCtxGetCurrent", ctypes.byref(context))
    if context.value is None:
        make_current(_chosen_device() if device is None else device)


def make_current(device: int) -> None:
    """Make the primary context of `device` the current one of this thread."""
    cuda = driver()
    context = ctypes.c_void_p()
    cuda.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cuda.call("cuCtxSetCurrent", context)


def _chosen_device() -> int:
    """The device torch has chosen, if torch uses CUDA; else the first."""
    torch = cast("Any", sys.modules.get("torch"))
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_device())
    return 0


def current_device() -> int:
    """The device of the current context."""
    ensure_context()
    device = ctypes.c_int()
    driver().call("cuCtxGetDevice", ctypes.byref(device))
    return device.value


def wrong_device(device: int) -> ValueError | None:
    """What is wrong with a launch for arrays on `device`, if that is not the current one."""
    current = current_device()
    if device == current:
        return None
    return ValueError(
        f"the arrays are on GPU {device}, but the current GPU is {current}: launch inside `with "
        f"torch.cuda.device({device}):`, or move the arrays"
    )


def device_properties(device: int | None = None) -> DeviceProperties:
    """What `device`, or the current one, can do."""
    return _properties(driver(), current_device() if device is None else device)


@cache
def _properties(cuda: Driver, device: int) -> DeviceProperties:
    def attribute(which: int) -> int:
        value = ctypes.c_int()
        cuda.call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    name = ctypes.create_string_buffer(_NAME_BYTES)
    cuda.call("cuDeviceGetName", name, _NAME_BYTES, device)
    return DeviceProperties(
        index=device,
        name=name.value.decode(errors="replace"),
        capability=attribute(_MAJOR) * 10 + attribute(_MINOR),
        multiprocessors=attribute(_MULTIPROCESSORS),
        shared_optin=attribute(_SHARED_OPTIN),
        clock_khz=attribute(_CLOCK_KHZ),
        l2_bytes=attribute(_L2_BYTES),
    )
