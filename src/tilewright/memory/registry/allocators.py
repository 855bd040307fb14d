"""The door to the device: allocators are built here, and numba is loaded by the first of them.

An allocator is a device function ``allocate_buffer(shared, persistent) -> array``. Where it takes
its array from is decided when it is built, not when it runs:

    compat   shared[slice], else persistent[slice], else a new local array; slices in elements,
             and a view has the element type of the pool it comes from
    strict   the same choice with slices in bytes; a view has the buffer's own element type

A slice is captured when the allocator is built; a later change of the layout does not reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.memory.registry.buffer import CUDABuffer


def numba_backend() -> ModuleType:
    """The module that builds device functions; loading it loads numba."""
    try:
        return import_module("tilewright.memory.registry.numba_backend")
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] != "numba":
            raise
        raise ImportError(
            "allocators are numba-cuda device functions, and numba-cuda is not installed: "
            "pip install 'tilewright[numba]'"
        ) from missing


def element_allocator(
    buffer: CUDABuffer,
    shared_slice: slice | None,
    persistent_slice: slice | None,
    local_size: int | None,
    zero: bool,
) -> Callable[..., Any]:
    """An allocator whose slices are in elements of the pools."""
    backend = numba_backend()
    if shared_slice is not None:
        take = backend.from_shared(*_bounds(shared_slice))
    elif persistent_slice is not None:
        take = backend.from_persistent(*_bounds(persistent_slice))
    else:
        take = backend.from_local(1 if local_size is None else local_size, buffer.precision)
    return backend.zeroed(take, buffer.size) if zero else take


def byte_allocator(
    buffer: CUDABuffer,
    shared_slice: slice | None,
    persistent_slice: slice | None,
    local_bytes: int | None,
    zero: bool,
) -> Callable[..., Any]:
    """An allocator whose slices are in bytes; pools may have any element type."""
    backend = numba_backend()
    if shared_slice is not None:
        take = backend.view_of_shared(*_bounds(shared_slice), buffer.precision)
    elif persistent_slice is not None:
        take = backend.view_of_persistent(*_bounds(persistent_slice), buffer.precision)
    else:
        take = backend.from_local((local_bytes or 0) // buffer.itemsize or 1, buffer.precision)
    return backend.zeroed(take, buffer.size) if zero else take


def _bounds(window: slice) -> tuple[int, int]:
    """Start and stop. Compilers with static bounds refuse an empty view at the end of a pool, so
    every empty view starts at 0."""
    return (window.start, window.stop) if window.stop > window.start else (0, 0)
