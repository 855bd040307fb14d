"""Tensor descriptors made on the host and passed to a kernel as one argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.frontend.callers import located
from tilewright.runtime.arrays import element_name, host_array
from tilewright.runtime.cuda.arrays import DeviceArray, device_array, is_torch, torch_address
from tilewright.runtime.fake_tensors import is_fake
from tilewright.runtime.launch_errors import BAD_LAUNCH

_ALIGNMENT_BYTES = 16  # required by TMA for base and strides
_MAX_RANK = 5


def _padded(stride: int, itemsize: int) -> int:
    """The next stride that TMA supports."""
    step = max(_ALIGNMENT_BYTES // itemsize, 1)
    return -(-stride // step) * step


def _memory(base: Any) -> DeviceArray:
    """Address and element type of `base`. On a GPU it stays there; `device` is -1 for the host."""
    on_device = device_array(base)
    if on_device is not None:
        return on_device
    array = host_array(base).array
    size = array.dtype.itemsize
    strides = tuple(stride // size for stride in array.strides)
    return DeviceArray(
        array.ctypes.data, element_name(array.dtype), array.shape, strides, size, -1, base
    )


def _address(base: Any) -> tuple[int, int]:
    """Address and element size of `base`. Descriptors are made in every call of many a program."""
    quick = torch_address(base) if is_torch(base) else None
    if quick is not None:
        return quick
    memory = _memory(base)
    return memory.address, memory.element_bytes


@dataclass
class TensorDescriptor:
    """A block-shaped window onto `base`; strides count elements, the last one must be 1."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        try:
            self._check()
        except (TypeError, ValueError) as error:
            raise located(error, BAD_LAUNCH) from None

    def _check(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= _MAX_RANK:
            raise ValueError(f"a tensor descriptor has 1 to {_MAX_RANK} dimensions, got {rank}")
        if len(self.strides) != rank or len(self.block_shape) != rank:
            raise ValueError(
                f"shape {tuple(self.shape)}, strides {tuple(self.strides)} and block_shape "
                f"{tuple(self.block_shape)} of a tensor descriptor must have the same length"
            )
        if min(self.shape) <= 0:
            raise ValueError(f"every extent of a tensor must be positive, got {tuple(self.shape)}")
        if self.strides[-1] != 1:
            raise ValueError(
                f"the last dimension must be contiguous, its stride is {self.strides[-1]}: "
                "swap dimensions or copy the tensor"
            )
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"padding must be 'zero' or 'nan', got {self.padding!r}")
        self._check_alignment()

    def _check_alignment(self) -> None:
        if is_fake(self.base):
            return
        address, element_bytes = _address(self.base)
        if address % _ALIGNMENT_BYTES:
            raise ValueError(f"the base of a descriptor must be {_ALIGNMENT_BYTES}-byte aligned")
        for dimension, stride in enumerate(self.strides[:-1]):
            size_bytes = stride * element_bytes
            if size_bytes % _ALIGNMENT_BYTES:
                raise ValueError(
                    f"stride {stride} of dimension {dimension} is {size_bytes} bytes, not a "
                    f"multiple of {_ALIGNMENT_BYTES}: pad the rows to "
                    f"{_padded(stride, element_bytes)} elements"
                )

    @property
    def element(self) -> str:
        """How kernels call the element type."""
        return _memory(self.base).element

    @staticmethod
    def from_tensor(
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
    ) -> TensorDescriptor:
        """A descriptor of the whole of `tensor`."""
        if is_torch(tensor):
            shape, strides = tensor.shape, tensor.stride()
        else:
            memory = _memory(tensor)
            shape, strides = memory.shape, memory.strides
        return TensorDescriptor(tensor, list(shape), list(strides), list(block_shape), padding)
