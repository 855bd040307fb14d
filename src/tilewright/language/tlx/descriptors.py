"""Tensor descriptors that a kernel makes in memory, for TMA to read.

places = tlx.allocate_tensor_descriptor(2)
tlx.make_tensor_descriptor(places[0], base, [M, N], [N, 1], [64, 64])
desc = tlx.reinterpret_tensor_descriptor(places[0], [64, 64], tl.float16)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from typing_extensions import override
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects.tt import AddPtrOp, MakeTensorDescOp
from tilewright.dialects.ttg import GlobalScratchAllocOp
from tilewright.dialects.ttng import ReinterpretTensorDescOp
from tilewright.frontend.builder import current
from tilewright.frontend.values import Value
from tilewright.language.tl.constants import make_scalar, scalar_constant
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.descriptors import tensor_descriptor, tensor_descriptor_type
from tilewright.language.tl.dtypes import block_type, dtype, int8, int32, int64, pointer_type
from tilewright.language.tl.tensor import Operand, emit, tensor

DESCRIPTOR_BYTES = 128
_MAX_RANK = 5
_MIN_ROW_BYTES = 16


@dataclass(frozen=True)
class tensor_descriptor_ptr_type:
    """The type of storage for `num` descriptors."""

    num: int
    descriptor_size: int = DESCRIPTOR_BYTES

    def mangle(self) -> str:
        return f"tensor_descriptor_ptr_{self.num}_{self.descriptor_size}"

    @override
    def __str__(self) -> str:
        return f"tensor_descriptor_ptr<{self.num}, {self.descriptor_size}>"


class tensor_descriptor_ptr(Value):
    """Storage for descriptors in global memory; indexed by descriptor."""

    __slots__ = ("_type", "handle")

    def __init__(self, handle: SSAValue, num: int, descriptor_size: int = DESCRIPTOR_BYTES) -> None:
        self.handle = handle
        self._type = tensor_descriptor_ptr_type(num, descriptor_size)

    @property
    def type(self) -> tensor_descriptor_ptr_type:
        return self._type

    @property
    def num(self) -> int:
        return self._type.num

    @property
    def descriptor_size(self) -> int:
        return self._type.descriptor_size

    def __getitem__(self, index: Operand) -> tensor_descriptor_ptr:
        """The address of one descriptor."""
        known = unwrap(index)
        if not isinstance(known, (int, tensor)):
            raise TypeError(f"Index must be int, constexpr, or tensor, got {type(known)}")
        position = known if isinstance(known, tensor) else scalar_constant(known, int32)
        size = scalar_constant(self.descriptor_size, int32)
        offset = emit(arith.MuliOp(position.handle, size.handle), int32)
        address = emit(AddPtrOp(self.handle, offset.handle), pointer_type(int8))
        return tensor_descriptor_ptr(address.handle, self.num, self.descriptor_size)

    @override
    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return self.__class__(next(handles), self.num, self.descriptor_size)

    @override
    def kind(self) -> tensor_descriptor_ptr_type:
        return self._type

    @override
    def __str__(self) -> str:
        return str(self._type)


def allocate_tensor_descriptor(num: int | constexpr) -> tensor_descriptor_ptr:
    """Allocate storage for `num` descriptors."""
    count = unwrap(num)
    if not isinstance(count, int):
        raise ValueError("`num` must be a constexpr")
    op = current().insert(
        GlobalScratchAllocOp(DESCRIPTOR_BYTES * count, DESCRIPTOR_BYTES, pointer_type(int8).to_ir())
    )
    return tensor_descriptor_ptr(op.result, count)


def make_tensor_descriptor(
    desc_ptr: tensor_descriptor_ptr | None,
    base: tensor,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A descriptor of the tensor at `base`, written to `desc_ptr` if that is given."""
    if desc_ptr is not None and not isinstance(desc_ptr, tensor_descriptor_ptr):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"desc_ptr must be None or tlx.tensor_descriptor_ptr, got {desc_ptr.__class__}. Use "
            "tlx.allocate_tensor_descriptor() to allocate descriptor storage."
        )
    element = _element(base)
    extents, steps, block = unwrap(tuple(shape)), unwrap(tuple(strides)), unwrap(tuple(block_shape))
    _check(element, extents, steps, block)
    padding = unwrap(padding_option) or "zero"
    if padding not in ("zero", "nan"):
        raise ValueError(f"Padding option {padding} not supported")
    if padding == "nan" and element.is_int():
        raise ValueError("Padding option `nan` is not supported for integer blocks")
    sizes = [make_scalar(extent, int32) for extent in extents]
    widths = [make_scalar(step, int64) for step in steps]
    type = tensor_descriptor_type(block_type(element, block))
    op = MakeTensorDescOp(
        base.handle,
        [size.handle for size in sizes],
        [width.handle for width in widths],
        type.to_ir(),
        desc_ptr=None if desc_ptr is None else desc_ptr.handle,
        padding=padding,
    )
    return tensor_descriptor(current().insert(op).result, sizes, widths, type.block_type)


def _element(base: tensor) -> dtype:
    if isinstance(base.type, pointer_type):
        return base.type.element_ty
    raise AssertionError(f"base must be a pointer, got {base}")


def _check(
    element: dtype, shape: Sequence[object], strides: Sequence[object], block: Sequence[int]
) -> None:
    rank = len(shape)
    if not 1 <= rank <= _MAX_RANK:
        raise ValueError(f"Expected 1 <= ndim <= {_MAX_RANK} but got {rank} dimensions")
    if len(strides) != rank:
        raise ValueError(f"Expected {rank} strides but got {len(strides)}")
    if len(block) != rank:
        raise ValueError(f"Expected block_shape to have {rank} dimensions but got {len(block)}")
    size = element.primitive_bitwidth // 8
    row = block[-1] * size
    if row < _MIN_ROW_BYTES:
        raise ValueError(
            f"Descriptor block shape must have at least {_MIN_ROW_BYTES} bytes in the last "
            f"dimension, but got {block[-1]} * {size} = {row} bytes"
        )
    last = strides[-1]
    if isinstance(last, tensor) or last != 1:
        raise ValueError(f"Tensor descriptor last dim must be 1 but got {last}")


def reinterpret_tensor_descriptor(
    desc_ptr: tensor_descriptor_ptr, block_shape: Sequence[int], dtype: dtype
) -> tensor_descriptor:
    """The descriptor that is at `desc_ptr`."""
    if not isinstance(desc_ptr, tensor_descriptor_ptr):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"desc_ptr must be tlx.tensor_descriptor_ptr, got {desc_ptr.__class__}. Use "
            "tlx.allocate_tensor_descriptor() to allocate descriptor storage."
        )
    type = tensor_descriptor_type(block_type(unwrap(dtype), unwrap(tuple(block_shape))))
    op = current().insert(ReinterpretTensorDescOp(desc_ptr.handle, type.to_ir()))
    return _BareDescriptor(op.result, (), (), type.block_type)


class _BareDescriptor(tensor_descriptor):
    """A descriptor whose extents and strides are in memory: they are unknown here."""

    @override
    def kind(self) -> Any:
        return ("reinterpreted", self.type)
