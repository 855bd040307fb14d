"""Scratch device memory of a launch.

torch's allocator hands it out when torch uses CUDA here: it is cheap, and right inside the capture
of a CUDA graph. Otherwise it comes from the stream's memory pool and goes back after the launch.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from tilewright.runtime.cuda.driver import driver

# Both allocators align to at least this.
_ALIGNMENT = 256


@contextmanager
def scratch(size: int, align: int, device: int, stream: int) -> Generator[int]:
    """The address of `size` bytes that work put into `stream` inside the ``with`` may use."""
    if align > _ALIGNMENT:
        size += align
    torch = cast("Any", sys.modules.get("torch"))
    if torch is not None and torch.cuda.is_initialized():
        yield from _from_torch(torch, size, align, device, stream)
    else:
        yield from _from_pool(size, align, stream)


def _aligned(address: int, align: int) -> int:
    return -(-address // align) * align


def _from_torch(torch: Any, size: int, align: int, device: int, stream: int) -> Generator[int]:
    if stream == torch.cuda.current_stream(device).cuda_stream:
        # Freed and used again in this stream only, hence after the kernel.
        memory = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
    else:
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
            memory = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
    yield _aligned(memory.data_ptr(), align)


def _from_pool(size: int, align: int, stream: int) -> Generator[int]:
    cuda = driver()
    address = ctypes.c_uint64()
    cuda.call(
        "cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_void_p(stream)
    )
    try:
        yield _aligned(address.value, align)
    finally:
        cuda.call("cuMemFreeAsync", address, ctypes.c_void_p(stream))


def clear(address: int, size: int, stream: int) -> None:
    """Set bytes to zero, in the order of a stream."""
    driver().call(
        "cuMemsetD8Async",
        ctypes.c_uint64(address),
        ctypes.c_ubyte(0),
        ctypes.c_size_t(size),
        ctypes.c_void_p(stream),
    )
