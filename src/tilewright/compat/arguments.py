"""What scripts build to pass to kernels: descriptors, reinterpreted tensors, types of tensors."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from typing_extensions import override

from tilewright.compat.torch_devices import host_memory
from tilewright.language.tl.dtypes import dtype as TlDtype
from tilewright.runtime import descriptors
from tilewright.runtime.arrays import host_array
from tilewright.targets.numpy.dtypes import scalar_type


@dataclass
class TensorDescriptor(descriptors.TensorDescriptor):
    """A block-shaped window onto `base`, made on the host."""

    round_f32_to_tf32: bool = False

    @override
    def __post_init__(self) -> None:
        if self.round_f32_to_tf32:
            raise NotImplementedError(
                "round_f32_to_tf32 is not supported on the CPU: only TMA rounds on load; leave it "
                "out and let tl.dot(..., input_precision='tf32') round its operands"
            )
        self.base = plain_tensor(self.base)
        with host_memory():
            super().__post_init__()

    @override
    @staticmethod
    def from_tensor(
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """A descriptor of the whole of `tensor`."""
        tensor = plain_tensor(tensor)
        with host_memory():
            whole = descriptors.TensorDescriptor.from_tensor(tensor, block_shape, padding)
        return TensorDescriptor(
            tensor, whole.shape, whole.strides, whole.block_shape, padding, round_f32_to_tf32
        )


class TensorWrapper:
    """The memory of `base`, a tensor of torch or an array, read as elements of `dtype`.

    As in Triton a tensor stays what it is and is not copied; kernels get it as a view.
    """

    def __init__(self, base: Any, dtype: TlDtype) -> None:
        self.base = base
        self.dtype = dtype
        self.data = base.data
        """For scripts, which may assign to it; kernels take `base`."""

    @property
    def device(self) -> Any:
        return self.base.device

    @property
    def shape(self) -> Any:
        return self.base.shape

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *axes: int) -> Any:
        return self.base.stride(*axes)

    def element_size(self) -> int:
        return self.base.element_size()

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self) -> TensorWrapper:
        return TensorWrapper(self.base.clone(), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        self.base.copy_(other.base)

    @override
    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"

    def view(self) -> Any:
        """What a kernel takes: the same memory with elements of `dtype`."""
        name = _TORCH_NAMES.get(self.dtype.name, self.dtype.name)
        if _is_torch_dtype(self.base.dtype):
            torch = importlib.import_module("torch")
            element = getattr(torch, name, None)
            if element is not None:
                _check_sizes(self.base.dtype, self.base.element_size(), self.dtype)
                return self.base.detach().view(element)
        with host_memory():
            array = host_array(self.base).array
        _check_sizes(array.dtype, array.itemsize, self.dtype)
        return array.view(_numpy_dtype(self.dtype))


_TORCH_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
    "int1": "bool",
    "uint1": "bool",
}


def _check_sizes(found: object, size_bytes: int, dtype: TlDtype) -> None:
    expected = max(dtype.primitive_bitwidth // 8, 1)
    if expected != size_bytes:
        raise ValueError(
            f"elements of {found} are {size_bytes} bytes and those of {dtype} {expected}: "
            "reinterpret only between types of one size"
        )


def reinterpret(tensor: Any, dtype: TlDtype) -> Any:
    """The memory of `tensor` as elements of `dtype`, which must have the same size."""
    if isinstance(tensor, TensorWrapper):
        tensor = tensor.base
        if tensor.dtype == dtype:
            return tensor
    elif not hasattr(tensor, "data_ptr") and not isinstance(tensor, np.ndarray):
        raise TypeError(f"reinterpret takes a tensor, got {type(tensor).__name__}")
    return TensorWrapper(tensor, dtype)


def plain_tensor(value: Any) -> Any:
    """`value` with the memory itself in place of every `TensorWrapper`, in tuples too."""
    if isinstance(value, TensorWrapper):
        return value.view()
    if isinstance(value, (list, tuple)):
        items = cast("list[Any] | tuple[Any, ...]", value)
        changed = [plain_tensor(item) for item in items]
        if all(new is old for new, old in zip(changed, items, strict=True)):
            return items
        make = getattr(items, "_make", None)  # a named tuple
        return type(items)(changed) if make is None else make(changed)
    return value


def _numpy_dtype(dtype: TlDtype) -> np.dtype[Any]:
    """The dtype of arrays that kernels take for memory of `dtype`."""
    element = scalar_type(dtype.to_ir())
    if element is None:
        raise TypeError(f"there are no arrays of {dtype}")
    if dtype.is_int_unsigned() and not dtype.is_bool():
        return np.dtype(f"uint{dtype.primitive_bitwidth}")  # the IR has integers without a sign
    return element.dtype


class MockTensor:
    """A tensor that only has a type: enough to compile a kernel for it."""

    def __init__(self, dtype: object, shape: Sequence[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = tuple(shape or (1,))

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """`value`, or a tensor of it where it is a dtype of torch."""
        return MockTensor(value) if _is_torch_dtype(value) else value

    @staticmethod
    def data_ptr() -> int:
        return 0

    def materialise(self) -> Any:
        """Uninitialised memory of this type, with the alignment of device allocators."""
        if _is_torch_dtype(self.dtype):
            return importlib.import_module("torch").empty(16, dtype=self.dtype)
        return np.empty(16, _numpy_dtype(cast("TlDtype", self.dtype)))


def _is_torch_dtype(value: object) -> bool:
    kind = type(value)
    return kind.__name__ == "dtype" and kind.__module__ == "torch"
