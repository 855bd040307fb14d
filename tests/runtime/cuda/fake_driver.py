"""A CUDA driver that writes down what it is asked for.

It has the functions of ``libcuda`` that are used, takes what ctypes would hand over, and reads the
bytes behind every address as the driver would, before it returns.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any

ERRORS = {
    1: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    201: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    209: (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "no kernel image is available for execution on the device",
    ),
    400: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    700: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    701: ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    912: ("CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"),
}

DEVICE_ATTRIBUTES = {16: 132, 13: 1980000, 38: 52428800, 75: 9, 76: 0, 97: 232448}
FUNCTION_ATTRIBUTES = {0: 1024, 1: 16, 3: 0, 4: 168}

CONFIG = "<IIIIIII4xQQI4x"


SIZES = dict(
    **dict(ptr=8, scratch=8, profile=8, tensormap=128),
    **dict(i1=1, i8=1, i16=2, i32=4, i64=8, u8=1, u16=2, u32=4, u64=8),
    **dict(f16=2, bf16=2, f32=4, f64=8),
)
"""Bytes of each kind of parameter in machine code."""


@dataclass(frozen=True)
class MapFacts:
    element_bytes: int = 2
    box: tuple[int, ...] = (64, 64)
    swizzle_bytes: int = 128
    cuda_type: int = 6
    fp4_padded: bool = False


@dataclass(frozen=True)
class Facts:
    """What a compiler would say of a kernel."""

    parameters: tuple[str, ...]
    threads: int = 128
    shared: int = 1024
    scratch_bytes: int = 0
    scratch_align: int = 1
    profile_bytes: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    tensor_maps: tuple[MapFacts, ...] = ()
    cooperative: bool = False
    pdl: bool = False
    num_ctas: int = 1


@dataclass
class Launch:
    """One launch: its configuration, and the first bytes behind every parameter."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    attributes: list[bytes]
    function: int
    parameters: list[bytes]
    addresses: list[int]


@dataclass
class FakeDriver:
    """Stands in for ``libcuda``.

    `fail` maps a call to the status it returns once; `sizes` are the bytes of each parameter of the
    kernels that are launched, which the real driver finds in the machine code.
    """

    fail: dict[str, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    maps: list[dict[str, Any]] = field(default_factory=list)
    context: int = 0x1000
    device: int = 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            status = self.fail.pop(name, 0)
            if not status:
                handler = getattr(self, f"_{name}", None)
                if handler is not None:
                    handler(*arguments)
            return status

        return call

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    @staticmethod
    def _set(reference: Any, value: Any) -> None:
        reference._obj.value = value

    def _cuGetErrorName(self, status: int, text: Any) -> None:
        self._set(text, ERRORS[status][0].encode())

    def _cuGetErrorString(self, status: int, text: Any) -> None:
        self._set(text, ERRORS[status][1].encode())

    def _cuCtxGetCurrent(self, context: Any) -> None:
        self._set(context, self.context)

    def _cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> None:
        self._set(context, 0x1000 + device)

    def _cuCtxSetCurrent(self, context: Any) -> None:
        self.context = context.value

    def _cuCtxGetDevice(self, device: Any) -> None:
        self._set(device, self.device)

    def _cuDeviceGetAttribute(self, value: Any, which: int, device: int) -> None:
        self._set(value, DEVICE_ATTRIBUTES[which])

    def _cuDeviceGetName(self, text: Any, size: int, device: int) -> None:
        text.value = b"Fake H200"

    def _cuModuleLoadData(self, module: Any, image: bytes) -> None:
        self._set(module, 0x2000)

    def _cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> None:
        self._set(function, 0x3000)

    def _cuFuncGetAttribute(self, value: Any, which: int, function: Any) -> None:
        self._set(value, FUNCTION_ATTRIBUTES[which])

    def _cuPointerGetAttribute(self, value: Any, which: int, address: Any) -> None:
        self._set(value, self.device)

    def _cuMemAllocAsync(self, address: Any, size: Any, stream: Any) -> None:
        self._set(address, 0x7F0000000100)

    def _cuTensorMapEncodeTiled(self, where: Any, kind: int, rank: int, *others: Any) -> None:
        assert ctypes.addressof(where) % 64 == 0
        address, shape, strides, box, steps, interleave, swizzle, promotion, fill = others
        self.maps.append(
            {
                "type": kind,
                "rank": rank,
                "address": address.value,
                "shape": list(shape),
                "strides": list(strides)[: rank - 1],
                "box": list(box),
                "steps": list(steps),
                "interleave": interleave,
                "swizzle": swizzle,
                "promotion": promotion,
                "fill": fill,
            }
        )
        number = len(self.maps)
        ctypes.memmove(where, bytes([number]) * 128, 128)

    def _cuLaunchKernelEx(self, config: Any, function: Any, parameters: Any, extra: None) -> None:
        read = ctypes.string_at(config.value, struct.calcsize(CONFIG))
        *sizes, stream, attributes, count = struct.unpack(CONFIG, read)
        addresses = struct.unpack(
            f"<{len(self.sizes)}Q", ctypes.string_at(parameters.value, len(self.sizes) * 8)
        )
        self.launches.append(
            Launch(
                grid=tuple(sizes[:3]),
                block=tuple(sizes[3:6]),
                shared=sizes[6],
                stream=stream,
                attributes=[ctypes.string_at(attributes + 72 * at, 72) for at in range(count)],
                function=function.value,
                parameters=[
                    ctypes.string_at(address, size)
                    for address, size in zip(addresses, self.sizes, strict=True)
                ],
                addresses=list(addresses),
            )
        )
