"""The fake driver and the fake tensors, as C code sees them.

`FakeLibrary` is a `FakeDriver` whose launches are a C function, with an address. `exchanging` gives
a class of fake tensors the functions of DLPack 1 by which C code looks at a tensor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.runtime.cuda.fake_driver import FakeDriver

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


class FakeLibrary(FakeDriver):
    """Everything is written down as by a `FakeDriver`."""

    def __init__(self) -> None:
        super().__init__()
        launch = super().__getattr__("cuLaunchKernelEx")
        self.cuLaunchKernelEx = _LAUNCH(
            lambda config, function, parameters, _: launch(
                ctypes.c_void_p(config),
                ctypes.c_void_p(function),
                ctypes.c_void_p(parameters),
                None,
            )
        )


class View(ctypes.Structure):
    """DLTensor."""

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


_VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))
_CODES = {"int32": 0, "float16": 2, "float32": 2, "bfloat16": 4, "complex64": 5}
_NAME = b"dlpack_exchange_api"
_CUDA = 2
_retained: list[Any] = []  # what C code has addresses of


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("others", ctypes.c_void_p * 4),
        ("view", _VIEW),
        ("stream", ctypes.c_void_p),
    )


@_VIEW
def _viewed(tensor: Any, out: Any) -> int:
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    both = (ctypes.c_int64 * (2 * len(shape) + 1))(*shape, *strides)
    _retained.append(both)
    start = ctypes.addressof(both)
    view = out.contents
    view.data, view.byte_offset = tensor.data_ptr(), 0
    view.device_type, view.device_id = _CUDA, tensor.get_device()
    view.ndim, view.lanes = len(shape), 1
    view.code, view.bits = _CODES[tensor.dtype.name], 8 * tensor.element_size()
    view.shape = ctypes.cast(start, ctypes.POINTER(ctypes.c_int64))
    view.strides = ctypes.cast(start + 8 * len(shape), ctypes.POINTER(ctypes.c_int64))
    return 0


_EXCHANGE = Exchange(major=1, minor=3, view=_viewed)


@contextmanager
def exchanging(tensors: Any) -> Iterator[None]:
    """`tensors`, a class, has the functions of DLPack inside the ``with``."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    tensors.__dlpack_c_exchange_api__ = new(ctypes.addressof(_EXCHANGE), _NAME, None)
    try:
        yield
    finally:
        del tensors.__dlpack_c_exchange_api__
        _retained.clear()
