"""Arrays in the memory of a GPU: their addresses and element types, whatever library made them.

torch tensors are queried directly, which imports nothing: torch is loaded if one is passed.
Others are read by ``__cuda_array_interface__`` (CuPy, Numba), then by DLPack. Nothing is copied
and nothing waits: work on an array is ordered by the stream it is used in, as in its own library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tilewright.runtime.arrays import element_name, torch_memory
from tilewright.runtime.cuda.context import ensure_context
from tilewright.runtime.cuda.driver import driver, is_available

_CUDA = 2  # kDLCUDA
_CUDA_MANAGED = 13  # kDLCUDAManaged

TORCH_ELEMENTS = {
    "torch.bool": "i1",
    "torch.int8": "i8",
    "torch.int16": "i16",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.uint8": "u8",
    "torch.uint16": "u16",
    "torch.uint32": "u32",
    "torch.uint64": "u64",
    "torch.float16": "fp16",
    "torch.bfloat16": "bf16",
    "torch.float32": "fp32",
    "torch.float64": "fp64",
    "torch.float8_e4m3fn": "fp8e4nv",
    "torch.float8_e5m2": "fp8e5",
    "torch.float8_e4m3fnuz": "fp8e4b8",
    "torch.float8_e5m2fnuz": "fp8e5b16",
    "torch.float8_e8m0fnu": "u8",
    "torch.float4_e2m1fn_x2": "u8",
}

# DLDataTypeCode and bits
_DLPACK_ELEMENTS = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"fp{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    (6, 8): "i1",
    (10, 8): "fp8e4nv",
    (11, 8): "fp8e4b8",
    (12, 8): "fp8e5",
    (13, 8): "fp8e5b16",
}


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Memory on `device`; strides count elements. `owner` is the user's array, and keeps it."""

    address: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int
    device: int
    owner: Any


def device_array(value: Any) -> DeviceArray | None:
    """`value` as memory of a GPU, or None if it is no array or is in host memory."""
    if is_torch(value):
        return _from_torch(value)
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, DeviceArray):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(value, interface)
    if hasattr(value, "__dlpack_device__"):
        kind, index = value.__dlpack_device__()
        return _from_dlpack(value, int(index)) if kind in (_CUDA, _CUDA_MANAGED) else None
    return None


# Read at every launch and by descriptors: cached by type.
_torch_types: dict[type, bool] = {}
_torch_elements: dict[Any, str] = {}


def is_torch(value: object) -> bool:
    """Whether `value` is a tensor of torch; classes derived from it, elsewhere, count too."""
    kind = type(value)
    found = _torch_types.get(kind)
    if found is None:
        names = (each.__module__.partition(".")[0] for each in kind.__mro__[:-1])
        found = _torch_types[kind] = "torch" in names
    return found


def torch_address(tensor: Any) -> tuple[int, int] | None:
    """Address and element size of a tensor on a GPU; None where that takes longer."""
    if torch_memory.as_it_is is not nullcontext or not tensor.is_cuda:
        return None
    if tensor.dtype not in _torch_elements:
        _torch_element(tensor.dtype)
    return tensor.data_ptr(), tensor.element_size()


def _from_torch(tensor: Any) -> DeviceArray | None:
    if torch_memory.as_it_is is nullcontext:
        return _torch_array(tensor)
    with torch_memory.as_it_is():
        return _torch_array(tensor)


def _torch_array(tensor: Any) -> DeviceArray | None:
    if not getattr(tensor, "is_cuda", False):
        return None
    dtype = tensor.dtype
    return DeviceArray(
        tensor.data_ptr(),
        _torch_elements.get(dtype) or _torch_element(dtype),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.element_size(),
        tensor.get_device(),
        tensor,
    )


def _torch_element(dtype: Any) -> str:
    element = TORCH_ELEMENTS.get(str(dtype))
    if element is None:
        raise TypeError(
            f"unsupported tensor element type {dtype}: view it as one of "
            + ", ".join(TORCH_ELEMENTS)
        )
    _torch_elements[dtype] = element
    return element


def _from_interface(value: Any, interface: dict[str, Any]) -> DeviceArray:
    # The dtype names small floats, for which the interface's type string has no letter.
    given = getattr(value, "dtype", None)
    dtype = given if isinstance(given, np.dtype) else np.dtype(interface["typestr"])
    dtype = cast("np.dtype[Any]", dtype)
    shape = tuple(interface["shape"])
    in_bytes = interface.get("strides")
    strides = (
        _contiguous(shape) if in_bytes is None else tuple(s // dtype.itemsize for s in in_bytes)
    )
    address = int(interface["data"][0] or 0)
    device = _device(value, address)
    return DeviceArray(address, element_name(dtype), shape, strides, dtype.itemsize, device, value)


def _device(value: Any, address: int) -> int:
    """The device of an array: its own attribute (CuPy), else the driver's pointer attribute."""
    index = getattr(getattr(value, "device", None), "id", None)
    if isinstance(index, int):
        return index
    return device_of_address(address) if address and is_available() else 0


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


_POINTER_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


def device_of_address(address: int) -> int:
    """The device whose memory `address` is in."""
    ensure_context()
    device = ctypes.c_int()
    driver().call(
        "cuPointerGetAttribute", ctypes.byref(device), _POINTER_ORDINAL, ctypes.c_uint64(address)
    )
    return device.value


class _DLTensor(ctypes.Structure):
    """The beginning of a managed tensor (dlpack.h), which is all that is read of it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _from_dlpack(value: Any, device: int) -> DeviceArray:
    # -1: no synchronisation; the user orders streams, as with every other kind of array.
    capsule = value.__dlpack__(stream=-1)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _DLTensor.from_address(pointer_of(capsule, b"dltensor"))
    element = _DLPACK_ELEMENTS.get((tensor.code, tensor.bits))
    if element is None or tensor.lanes != 1:
        raise TypeError(
            f"unsupported DLPack element type: code {tensor.code}, {tensor.bits} bits, "
            f"{tensor.lanes} lanes"
        )
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _contiguous(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    size = tensor.bits // 8
    # The capsule goes out of scope here and gives its reference back; `value` keeps the memory.
    return DeviceArray(address, element, shape, strides, size, device, value)
