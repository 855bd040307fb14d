"""DLPack capsules of memory that we own, for libraries that take nothing else.

A capsule holds a `DLManagedTensor` (DLPack 0.8, which every consumer takes): an address, its
device, shape, strides and element type, and a function that releases it. The struct and the owner
of the memory are held until the consumer calls that function, or until a capsule without a consumer
is gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

CPU, CUDA = 1, 2
_NAME = b"dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_SMALL_FLOATS = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
}


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Element(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("element", _Element),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("release", _Release)]
_Destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_held: dict[int, tuple[Any, ...]] = {}
"""What must live as long as a tensor that a consumer has, by the address of its struct."""


def _released(managed: Any) -> None:
    _held.pop(ctypes.addressof(managed.contents), None)


def _destroyed(capsule: int) -> None:
    # A consumer renames the capsule that it takes, and calls `release` itself.
    if _is_valid(capsule, _NAME):
        _held.pop(_pointer_in(capsule, _NAME), None)


# Prototypes of our own: attributes of `pythonapi` are shared with every other library.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destroy)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_release, _destroy = _Release(_released), _Destroy(_destroyed)


def capsule_of(
    address: int,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    owner: object,
) -> Any:
    """A capsule for contiguous memory at `address` on `device`; `owner` keeps the memory alive."""
    code = _SMALL_FLOATS.get(dtype, _CODES.get(dtype.kind))
    if code is None:
        raise TypeError(f"DLPack has no element type {dtype}")
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    managed = _Managed()
    managed.tensor = _Tensor(
        address,
        _Device(*device),
        len(shape),
        _Element(code, dtype.itemsize * 8, 1),
        ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)),
        None,  # contiguous
        0,
    )
    managed.release = _release
    _held[ctypes.addressof(managed)] = (managed, extents, owner)
    return _new_capsule(ctypes.addressof(managed), _NAME, _destroy)


class HostExport:
    """A NumPy array for consumers of DLPack, of any element type: NumPy exports no small floats."""

    def __init__(self, array: np.ndarray[Any, np.dtype[Any]]) -> None:
        self._array = np.ascontiguousarray(array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0

    def __dlpack__(self, **_: object) -> Any:
        array = self._array
        return capsule_of(array.ctypes.data, array.shape, array.dtype, (CPU, 0), array)
