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
from tilewright.runtime.arrays import NumpyArray, host_array
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
        with host_memory():
            array = host_array(tensor).array
        strides = [stride // array.itemsize for stride in array.strides]
        return TensorDescriptor(
            tensor, list(array.shape), strides, list(block_shape), padding, round_f32_to_tf32
        )


def reinterpret(tensor: Any, dtype: TlDtype) -> NumpyArray:
    """The memory of `tensor` as elements of `dtype`, which must have the same size."""
    with host_memory():
        array = host_array(tensor).array
    element = _numpy_dtype(dtype)
    if element.itemsize != array.itemsize:
        raise ValueError(
            f"elements of {array.dtype} are {array.itemsize} bytes and those of {dtype} "
            f"{element.itemsize}: reinterpret only between types of one size"
        )
    return array.view(element)


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
