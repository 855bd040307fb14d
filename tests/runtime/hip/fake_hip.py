"""AMD's Python bindings, replaced by an object that records the calls and launches nothing.

Signatures and types are those that ``hip-python`` documents: every call returns a tuple whose first
element is the status; modules, functions and memory are pointer objects; parameters of a launch are
a list of what can be converted to a pointer. What the pointers point to is read as a launch would.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from types import SimpleNamespace
from typing import Any


class hipError_t(IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorNoBinaryForGpu = 209
    hipErrorLaunchFailure = 719


class hipFuncAttribute(IntEnum):
    hipFuncAttributeMaxDynamicSharedMemorySize = 8


class Pointer:
    """A pointer object of the bindings: a number that knows what it is."""

    def __init__(self, what: str, value: int) -> None:
        self.what, self._value = what, value

    def __int__(self) -> int:
        return self._value


class FakeHip:
    """One GPU, or several alike."""

    hipError_t = hipError_t
    hipFuncAttribute = hipFuncAttribute

    def __init__(self, chip: str = "gfx942:sramecc+:xnack-", devices: int = 1) -> None:
        self.chip, self.devices, self.device = chip, devices, 0
        self.calls: list[tuple[Any, ...]] = []
        self.launches: list[dict[str, Any]] = []
        self.sizes: tuple[int, ...] = ()
        """Bytes of each parameter of the kernel, from its code object."""
        self.fails: dict[str, int] = {}
        self.is_old = False
        """Whether it is a release whose texts of errors come alone, as bytes."""

    def _done(self, name: str, *values: Any) -> tuple[Any, ...]:
        status = hipError_t(self.fails.get(name, 0))
        return (status, *values)

    def hipGetErrorString(self, hipError: hipError_t) -> Any:
        assert isinstance(hipError, self.hipError_t)
        text = f"text of {hipError.name}"
        return text.encode() if self.is_old else (self.hipError_t.hipSuccess, text)

    def hipGetDeviceCount(self) -> tuple[Any, ...]:
        return self._done("hipGetDeviceCount", self.devices)

    def hipGetDevice(self) -> tuple[Any, ...]:
        return self._done("hipGetDevice", self.device)

    def hipGetDeviceProperties(self, deviceId: int) -> tuple[Any, ...]:
        found = SimpleNamespace(
            name=b"AMD Instinct", gcnArchName=self.chip.encode(), multiProcessorCount=304
        )
        return self._done("hipGetDeviceProperties", found)

    def hipModuleLoadData(self, image: bytes) -> tuple[Any, ...]:
        assert isinstance(image, bytes)
        self.calls.append(("load", image))
        return self._done("hipModuleLoadData", Pointer("module", 0x100 + len(self.calls)))

    def hipModuleGetFunction(self, module: Pointer, kname: bytes) -> tuple[Any, ...]:
        assert module.what == "module"
        assert isinstance(kname, bytes)
        self.calls.append(("function", kname.decode()))
        return self._done("hipModuleGetFunction", Pointer(kname.decode(), 0x200))

    def hipFuncSetAttribute(
        self, func: Pointer, attr: hipFuncAttribute, value: int
    ) -> tuple[Any, ...]:
        assert isinstance(attr, hipFuncAttribute)
        self.calls.append(("attribute", func.what, attr.name, value))
        return self._done("hipFuncSetAttribute")

    def hipMallocAsync(self, size: int, stream: object) -> tuple[Any, ...]:
        self.calls.append(("malloc", size))
        return self._done("hipMallocAsync", Pointer("memory", 0x5000))

    def hipFreeAsync(self, dev_ptr: Pointer, stream: object) -> tuple[Any, ...]:
        self.calls.append(("free", int(dev_ptr)))
        return self._done("hipFreeAsync")

    def hipModuleLaunchKernel(
        self,
        f: Pointer,
        gridDimX: int,
        gridDimY: int,
        gridDimZ: int,
        blockDimX: int,
        blockDimY: int,
        blockDimZ: int,
        sharedMemBytes: int,
        stream: ctypes.c_void_p | None,
        kernelParams: list[ctypes.c_void_p],
        extra: None,
    ) -> tuple[Any, ...]:
        assert extra is None
        grid, block = (gridDimX, gridDimY, gridDimZ), (blockDimX, blockDimY, blockDimZ)
        self._launch(f, grid, block, sharedMemBytes, stream, kernelParams, cooperative=False)
        return self._done("hipModuleLaunchKernel")

    def hipModuleLaunchCooperativeKernel(
        self,
        f: Pointer,
        gridDimX: int,
        gridDimY: int,
        gridDimZ: int,
        blockDimX: int,
        blockDimY: int,
        blockDimZ: int,
        sharedMemBytes: int,
        stream: ctypes.c_void_p | None,
        kernelParams: list[ctypes.c_void_p],
    ) -> tuple[Any, ...]:
        grid, block = (gridDimX, gridDimY, gridDimZ), (blockDimX, blockDimY, blockDimZ)
        self._launch(f, grid, block, sharedMemBytes, stream, kernelParams, cooperative=True)
        return self._done("hipModuleLaunchCooperativeKernel")

    def _launch(
        self,
        function: Pointer,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: ctypes.c_void_p | None,
        parameters: list[ctypes.c_void_p],
        *,
        cooperative: bool,
    ) -> None:
        sizes = self.sizes or (8,) * len(parameters)
        assert len(sizes) == len(parameters)
        given = [ctypes.string_at(each, size) for each, size in zip(parameters, sizes, strict=True)]
        self.launches.append(
            {
                "kernel": function.what,
                "grid": grid,
                "block": block,
                "shared": shared,
                "stream": None if stream is None else stream.value,
                "parameters": given,
                "cooperative": cooperative,
            }
        )
