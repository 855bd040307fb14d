"""Arrays of the host in the memory of a GPU, between zones that no kernel may write.

Allocations of the driver are aligned to 256 bytes; a zone of as many bytes stands on both sides of
each array, and every byte of them must be as it was after the kernel has run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from tilewright.runtime.arrays import element_name
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.cuda.context import current_device, ensure_context
from tilewright.runtime.cuda.driver import driver

ZONE = 4096
POISON = 0xA5


class OnDevice:
    """Copies of arrays in one allocation each."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        ensure_context()
        self.arrays = dict(arrays)
        self.addresses = {name: self._filled(array) for name, array in arrays.items()}

    def _filled(self, array: np.ndarray) -> int:
        framed = np.full(array.nbytes + 2 * ZONE, POISON, np.uint8)
        framed[ZONE : ZONE + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        address = ctypes.c_uint64()
        driver().call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(framed.nbytes))
        driver().call("cuMemcpyHtoD_v2", address, _pointer(framed), ctypes.c_size_t(framed.nbytes))
        return address.value

    def arguments(self) -> list[DeviceArray]:
        return [
            DeviceArray(
                self.addresses[name] + ZONE,
                element_name(array.dtype),
                array.shape,
                tuple(
                    step // array.itemsize for step in np.empty(array.shape, array.dtype).strides
                ),
                array.itemsize,
                current_device(),
                self,
            )
            for name, array in self.arrays.items()
        ]

    def read(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """The arrays as they are now, and what was written outside of them."""
        driver().call("cuCtxSynchronize")
        found: dict[str, np.ndarray] = {}
        outside: list[str] = []
        for name, array in self.arrays.items():
            framed = np.empty(array.nbytes + 2 * ZONE, np.uint8)
            driver().call(
                "cuMemcpyDtoH_v2",
                _pointer(framed),
                ctypes.c_uint64(self.addresses[name]),
                ctypes.c_size_t(framed.nbytes),
            )
            inside = framed[ZONE : ZONE + array.nbytes]
            found[name] = inside.copy().view(array.dtype).reshape(array.shape)
            wrong = np.flatnonzero(framed != POISON) - ZONE
            wrong = wrong[(wrong < 0) | (wrong >= array.nbytes)]
            if wrong.size:
                outside.append(f"{wrong.size} bytes outside of {name} written, first {wrong[0]}")
        return found, outside

    def free(self) -> None:
        for address in self.addresses.values():
            driver().call("cuMemFree", ctypes.c_uint64(address))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
