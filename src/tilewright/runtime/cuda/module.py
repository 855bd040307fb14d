"""Machine code into a context: a cubin becomes a function that can be launched."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod

from tilewright.runtime.cuda.context import current_device, device_properties, ensure_context
from tilewright.runtime.cuda.driver import Driver, driver
from tilewright.runtime.cuda.errors import CudaError, OutOfResources

# CUfunction_attribute
_MAX_THREADS = 0
_STATIC_SHARED = 1
_LOCAL_BYTES = 3
_REGISTERS = 4
_MAX_DYNAMIC_SHARED = 8
_NON_PORTABLE_CLUSTER = 14

_PREFER_SHARED = 1  # CU_FUNC_CACHE_PREFER_SHARED
_NO_BINARY_FOR_GPU = 209

_DEFAULT_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a launch may use without opting in."""
_PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters takes."""


@dataclass(frozen=True)
class Function:
    """A kernel in the context of `device`. `module` keeps its code loaded."""

    handle: int
    name: str
    device: int
    module: int
    shared: int
    registers: int
    local_bytes: int
    static_shared: int
    max_threads: int


def load(
    cubin: bytes, name: str, shared: int = 0, *, cluster: tuple[int, int, int] = (1, 1, 1)
) -> Function:
    """The kernel `name` of `cubin` in the current context, ready for `shared` dynamic bytes."""
    ensure_context()
    cuda, device = driver(), current_device()
    module, handle = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        cuda.call("cuModuleLoadData", ctypes.byref(module), cubin)
    except CudaError as error:
        if error.status != _NO_BINARY_FOR_GPU:
            raise
        properties = device_properties(device)
        gpu = f"{properties.name} (sm_{properties.capability})"
        detail = f"{name} was not compiled for {gpu}"
        raise cuda.error("cuModuleLoadData", error.status, detail) from None
    cuda.call("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
    static_shared = _attribute(cuda, handle, _STATIC_SHARED)
    _allow_shared(cuda, handle, name, shared, static_shared, device)
    if prod(cluster) > _PORTABLE_CLUSTER:
        cuda.call("cuFuncSetAttribute", handle, _NON_PORTABLE_CLUSTER, 1)
    return Function(
        handle=handle.value or 0,
        name=name,
        device=device,
        module=module.value or 0,
        shared=shared,
        registers=_attribute(cuda, handle, _REGISTERS),
        local_bytes=_attribute(cuda, handle, _LOCAL_BYTES),
        static_shared=static_shared,
        max_threads=_attribute(cuda, handle, _MAX_THREADS),
    )


def unload(function: Function) -> None:
    """Drop the code of `function`; it must not be launched again."""
    driver().call("cuModuleUnload", ctypes.c_void_p(function.module))


def _attribute(cuda: Driver, handle: ctypes.c_void_p, which: int) -> int:
    value = ctypes.c_int()
    cuda.call("cuFuncGetAttribute", ctypes.byref(value), which, handle)
    return value.value


def _allow_shared(
    cuda: Driver, handle: ctypes.c_void_p, name: str, shared: int, static: int, device: int
) -> None:
    if shared <= _DEFAULT_SHARED_BYTES:
        return
    properties = device_properties(device)
    if shared + static > properties.shared_optin:
        raise OutOfResources(
            f"{name} needs {shared + static} bytes of shared memory per block, "
            f"{properties.shared_optin} available on {properties.name} "
            f"(sm_{properties.capability}): use fewer stages or smaller tiles"
        )
    cuda.call("cuFuncSetCacheConfig", handle, _PREFER_SHARED)
    cuda.call("cuFuncSetAttribute", handle, _MAX_DYNAMIC_SHARED, shared)
