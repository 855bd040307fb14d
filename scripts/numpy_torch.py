"""As much of torch as the host code of TLX's AMD tutorials uses, over NumPy.

A `Tensor` is an array with torch's methods: strides count elements, dtypes are NumPy's (bfloat16
that of ml_dtypes). Random values are drawn from one generator with a fixed seed. For scripts that
run such tutorials where torch is not installed; no part of the package.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

COMPUTE_UNITS = 16
"""What `torch.cuda.get_device_properties` reports: few, so that runs are short."""


class Device(str):
    """A device by its name."""

    def __new__(cls, name: object = "cuda", *_: object) -> Device:
        return super().__new__(cls, str(name))


class Tensor(np.ndarray):
    """An array with the methods of a torch tensor."""

    device = "cuda"
    is_cuda = True
    requires_grad = False

    def stride(self, dim: int | None = None) -> Any:
        counts = tuple(step // self.itemsize for step in self.strides)
        return counts if dim is None else counts[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.size

    def element_size(self) -> int:
        return self.itemsize

    def is_contiguous(self) -> bool:
        return self.flags.c_contiguous

    def contiguous(self) -> Tensor:
        return np.ascontiguousarray(self).view(Tensor)

    def t(self) -> Tensor:
        return self.T

    def transpose(self, *dims: int) -> Tensor:  # type: ignore[override]
        return self.swapaxes(*dims)

    def permute(self, *dims: int) -> Tensor:
        return np.transpose(self, dims)

    def unsqueeze(self, dim: int) -> Tensor:
        return np.expand_dims(self, dim).view(Tensor)

    def expand(self, *shape: int) -> Tensor:
        shape = (
            tuple(
                own if size == -1 else size
                for size, own in zip(shape, self.shape[-len(shape) :], strict=False)
            )
            if -1 in shape
            else shape
        )
        return np.broadcast_to(self, shape).view(Tensor)

    def broadcast_to(self, *shape: int) -> Tensor:
        return self.expand(*shape)

    def view_as_bytes(self) -> Tensor:
        return self.view(np.uint8)

    def to(self, *what: Any, dtype: Any = None, **_: Any) -> Tensor:
        kinds = [each for each in (*what, dtype) if _is_dtype(each)]
        return self.astype(kinds[0]) if kinds else self

    def float(self) -> Tensor:
        return self.astype(np.float32)

    def half(self) -> Tensor:
        return self.astype(np.float16)

    def bfloat16(self) -> Tensor:
        return self.astype(ml_dtypes.bfloat16)

    def abs(self) -> Tensor:
        return np.abs(self)

    def clone(self) -> Tensor:
        return self.copy()

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def cuda(self) -> Tensor:
        return self

    def data_ptr(self) -> int:
        return self.ctypes.data


def _is_dtype(value: object) -> bool:
    return isinstance(value, (type, np.dtype)) and value is not None and not isinstance(value, str)


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return (
        tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
    )


def _made(array: Any, dtype: Any = None) -> Tensor:
    return np.asarray(array, dtype).view(Tensor)


def make(seed: int = 0) -> ModuleType:
    """A module that takes torch's place."""
    torch: Any = ModuleType("torch")
    rng = np.random.default_rng(seed)

    def filled(value: float | None) -> Any:
        def fill(*shape: Any, dtype: Any = np.float32, **_: Any) -> Tensor:
            if value is None:
                return np.empty(_sizes(shape), dtype).view(Tensor)
            return np.full(_sizes(shape), value, dtype).view(Tensor)

        return fill

    def like(value: float | None) -> Any:
        def fill(x: Any, dtype: Any = None, **_: Any) -> Tensor:
            made = np.empty(x.shape, dtype or x.dtype)
            if value is not None:
                made[...] = value
            return made.view(Tensor)

        return fill

    def randn(*shape: Any, dtype: Any = np.float32, **_: Any) -> Tensor:
        return rng.standard_normal(_sizes(shape), np.float32).astype(dtype).view(Tensor)

    class Generator:
        def __init__(self, device: Any = None) -> None: ...

        def manual_seed(self, seed: int) -> Generator:
            return self

    def full(shape: Any, value: Any, dtype: Any = np.float32, **_: Any) -> Tensor:
        return np.full(shape, value, dtype).view(Tensor)

    def check(condition: Any, message: Any = "") -> None:
        assert condition, message

    for name, kind in {
        "float16": np.float16,
        "bfloat16": ml_dtypes.bfloat16,
        "float32": np.float32,
        "float64": np.float64,
        "int8": np.int8,
        "uint8": np.uint8,
        "int16": np.int16,
        "int32": np.int32,
        "int64": np.int64,
        "bool": np.bool_,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
        "int": np.int32,
        "half": np.float16,
    }.items():
        setattr(torch, name, np.dtype(kind))
    torch.Tensor, torch.dtype, torch.Generator = Tensor, np.dtype, Generator
    torch.empty, torch.zeros, torch.ones = filled(None), filled(0), filled(1)
    torch.empty_like, torch.zeros_like = like(None), like(0)
    torch.randn, torch.full = randn, full
    torch.rand = lambda *shape, dtype=np.float32, **_: (
        rng.random(_sizes(shape), np.float32).astype(dtype).view(Tensor)
    )
    torch.randint = lambda low, high, size, dtype=np.int64, **_: (
        rng.integers(low, high, size).astype(dtype).view(Tensor)
    )
    torch.tensor = lambda data, dtype=None, **_: _made(data, dtype)
    torch.arange = lambda *bounds, dtype=None, **_: _made(np.arange(*bounds), dtype)
    torch.finfo = ml_dtypes.finfo
    torch.manual_seed = lambda seed: None
    torch.broadcast_to = lambda x, shape: np.broadcast_to(x, shape).view(Tensor)
    torch._assert = torch._check = check
    torch.device = Device
    torch.no_grad = lambda: lambda function: function
    torch.allclose = lambda a, b, rtol=1e-5, atol=1e-8: bool(
        np.allclose(np.float32(a), np.float32(b), rtol, atol)
    )
    torch.cuda = SimpleNamespace(
        get_device_properties=lambda *_: SimpleNamespace(
            multi_processor_count=COMPUTE_UNITS, gcnArchName="gfx950"
        ),
        current_device=lambda: 0,
        is_available=lambda: True,
        synchronize=lambda: None,
        Event=None,
    )
    torch.version = SimpleNamespace(hip="6.4", cuda=None)
    torch.compiler = SimpleNamespace(is_compiling=lambda: False)
    torch.jit = SimpleNamespace(is_scripting=lambda: False)
    torch.__path__ = []
    torch.nn = ModuleType("torch.nn")
    torch.nn.__path__ = []  # type: ignore[attr-defined]
    torch.nn.functional = ModuleType("torch.nn.functional")
    torch.library = SimpleNamespace()
    torch.autograd = SimpleNamespace(Function=object)
    torch.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
    return torch


def install() -> ModuleType:
    """Put a stand-in where ``import torch`` finds it."""
    torch: Any = make()
    sys.modules["torch"] = torch
    sys.modules["torch.nn"] = torch.nn
    sys.modules["torch.nn.functional"] = torch.nn.functional
    return torch
