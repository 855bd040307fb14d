"""Arrays in the memory of a GPU for programs that have no library for them.

They hold a kernel's inputs where none are passed, and its results where it was called with such.
``np.asarray`` copies one to the host; kernels see it by ``__cuda_array_interface__``.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.runtime.cuda.context import current_device, ensure_context
from tilewright.runtime.cuda.driver import Driver, driver
from tilewright.runtime.dlpack import CUDA, capsule_of

_Array = np.ndarray[Any, np.dtype[Any]]
_NO_WAIT = -1
"""The stream of a consumer that sees to the order itself."""


class DeviceMemory:
    """An array that lives on the current GPU, contiguous, and that owns its memory."""

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * dtype.itemsize
        ensure_context()
        self.device = f"cuda:{current_device()}"
        cuda = driver()
        address = ctypes.c_uint64()
        # An allocation has at least one byte.
        cuda.call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(max(self.nbytes, 1)))
        self.address = address.value
        weakref.finalize(self, _free, cuda, self.address)

    @staticmethod
    def of(array: _Array) -> DeviceMemory:
        """A copy of `array` on the GPU."""
        found = DeviceMemory(array.shape, array.dtype)
        found.set(array)
        return found

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, int(self.device.rpartition(":")[2])

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> Any:
        """A capsule that shares this memory. Waits for kernels that write it."""
        if stream != _NO_WAIT:
            driver().call("cuCtxSynchronize")
        return capsule_of(self.address, self.shape, self.dtype, self.__dlpack_device__(), self)

    def get(self) -> _Array:
        """The elements, in host memory; waits for kernels that write them."""
        found = np.empty(self.shape, self.dtype)
        self._move("cuMemcpyDtoH", found.ctypes.data, self.address)
        return found

    def set(self, array: _Array) -> None:
        """Take the elements of `array`."""
        given = np.ascontiguousarray(array, self.dtype)
        self._move("cuMemcpyHtoD", self.address, given.ctypes.data)

    def copy(self) -> DeviceMemory:
        found = DeviceMemory(self.shape, self.dtype)
        self._move("cuMemcpyDtoD", found.address, self.address)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array:
        found = self.get()
        return found if dtype is None else found.astype(dtype)

    def _move(self, call: str, to: int, source: int) -> None:
        if self.nbytes:
            driver().call(
                call, ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(self.nbytes)
            )

    def __repr__(self) -> str:
        return f"DeviceMemory({self.shape}, {self.dtype}, on {self.device})"


def _free(cuda: Driver, address: int) -> None:
    """Not checked: at the end of a program the context may be gone before the array."""
    cuda.function("cuMemFree")(ctypes.c_uint64(address))
