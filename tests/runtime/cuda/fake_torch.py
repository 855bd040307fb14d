"""As much of torch as a launch touches: tensors on GPUs that are only addresses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from types import ModuleType, SimpleNamespace

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "complex64": 8}


class DType:
    """Like a dtype of torch: one object each, compared by identity."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.itemsize = BYTES[name]

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(eq=False)
class Tensor:
    address: int
    shape: tuple[int, ...]
    dtype: DType
    index: int = 0
    before: int = 0
    """Elements of the storage before the first one of the tensor."""
    after: int = 0
    """Elements of the storage after the last one."""

    @property
    def is_cuda(self) -> bool:
        return self.index >= 0

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return self.index

    def element_size(self) -> int:
        return BYTES[self.dtype.name]

    def stride(self) -> tuple[int, ...]:
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def storage_offset(self) -> int:
        return self.before

    def untyped_storage(self) -> SimpleNamespace:
        count = self.before + prod(self.shape) + self.after
        size, start = self.element_size(), self.address - self.before * self.element_size()
        return SimpleNamespace(nbytes=lambda: count * size, data_ptr=lambda: start)

    def __dlpack__(self) -> object:
        raise AssertionError("tensors on a GPU are not to be exported")


class Parameter(Tensor):
    """A class derived from tensors."""


Tensor.__module__ = Parameter.__module__ = "torch"


def fake_torch(stream: int = 0x55) -> ModuleType:
    """A module whose current stream is `stream`, on a device that can be set."""
    torch = ModuleType("torch")
    state = SimpleNamespace(device=0, stream=stream)
    current = SimpleNamespace
    torch.state = state
    torch.Tensor, torch.Parameter = Tensor, Parameter
    for name in BYTES:
        setattr(torch, name, DType(name))
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: True,
        current_device=lambda: state.device,
        current_stream=lambda device: current(cuda_stream=state.stream),
    )
    torch._C = SimpleNamespace(
        _cuda_getDevice=lambda: state.device,
        _cuda_getCurrentRawStream=lambda device: state.stream + device,
    )
    return torch
