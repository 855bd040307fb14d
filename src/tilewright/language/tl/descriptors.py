"""Tensor descriptors: a tensor in memory that is accessed by blocks.

    desc = tl.make_tensor_descriptor(base, shape=[M, N], strides=[N, 1], block_shape=[64, 32])
    tile = desc.load([row, column])
    desc.store([row, column], tile)

The innermost dimension is contiguous, other strides are multiples of 16 bytes. A block may reach
past the edge: elements beyond are read as zero (or NaN) and not written. A descriptor can also be
made by the host and passed to a kernel; there it is the same, with `shape` and `strides`:

    argument of a kernel      !tt.tensordesc<64x32xf16>, extents i32, i32, strides i64, i64
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.tt import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    MakeTensorDescOp,
    TensorDescType,
)
from tilewright.dialects.tt.enums import PADDING
from tilewright.frontend.builder import current
from tilewright.frontend.values import Value
from tilewright.language.tl.constants import make_scalar, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import (
    bfloat16,
    block_type,
    dtype,
    float16,
    float32,
    int16,
    int32,
    int64,
    pointer_type,
    uint32,
    uint64,
)
from tilewright.language.tl.operands import indices
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor

_MAX_RANK = 5
_ALIGNMENT_BYTES = 16
_MIN_GATHER_ROWS = 8
_MIN_GATHER_ROW_BITS = 256
_HALF_FLOATS = (float16, bfloat16)
_BITWISE = (uint32, int32, uint64, int64)

_REDUCIBLE: Mapping[str, tuple[dtype, ...]] = {
    "add": (uint32, int32, uint64, float32, *_HALF_FLOATS),
    "min": (*_BITWISE, *_HALF_FLOATS),
    "max": (*_BITWISE, *_HALF_FLOATS),
    "and": _BITWISE,
    "or": _BITWISE,
    "xor": _BITWISE,
}
"""Element types that the memory accelerator can combine, by how."""


class tensor_descriptor(Value):
    """A tensor in memory, accessed by blocks of one shape."""

    def __init__(
        self,
        handle: SSAValue,
        shape: Sequence[tensor],
        strides: Sequence[tensor],
        block_type: block_type,
    ) -> None:
        self.handle = handle
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.block_type = block_type

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The shape of the blocks that are loaded and stored."""
        return self.block_type.shape

    @property
    def dtype(self) -> dtype:
        """The type of an element."""
        return self.block_type.scalar

    @property
    def type(self) -> tensor_descriptor_type:
        return tensor_descriptor_type(self.block_type)

    # As control flow sees it.

    @override
    def handles(self) -> Sequence[SSAValue]:
        return [self.handle, *(part.handle for part in (*self.shape, *self.strides))]

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        handle = next(handles)
        shape = [part.rebuild(handles) for part in self.shape]
        strides = [part.rebuild(handles) for part in self.strides]
        return self.__class__(handle, shape, strides, self.block_type)

    @override
    def kind(self) -> tensor_descriptor_type:
        return self.type

    @override
    def __str__(self) -> str:
        return str(self.type)

    # Blocks.

    def _at(self, offsets: Sequence[Operand]) -> list[SSAValue]:
        rank = len(self.block_shape)
        if len(offsets) != rank:
            raise ValueError(_wrong_count(rank, len(offsets)))
        return [offset.handle for offset in indices(offsets)]

    def _check_block(self, value: tensor, offsets: Sequence[Operand]) -> None:
        if len(offsets) != len(self.block_shape):
            raise ValueError(_wrong_count(len(self.block_shape), len(offsets)))
        if value.shape != self.block_shape:
            raise ValueError(
                f"expected value shape {list(self.block_shape)}, got {list(value.shape)}: a "
                "descriptor stores whole blocks"
            )

    def load(self, offsets: Sequence[Operand]) -> tensor:
        """The block that starts at `offsets`, padded where it reaches over the edge."""
        return emit(DescriptorLoadOp(self.handle, self._at(offsets)), self.block_type)

    def store(self, offsets: Sequence[Operand], value: Operand) -> None:
        """Store a block at `offsets`, converted to the element type, up to the edge."""
        block = to_tensor(value)
        self._check_block(block, offsets)
        block = convert(block, self.dtype)
        current().insert(DescriptorStoreOp(self.handle, self._at(offsets), block.handle))

    def _reduce(self, kind: str, offsets: Sequence[Operand], value: tensor) -> None:
        self._check_block(value, offsets)
        allowed = _REDUCIBLE[kind]
        if self.dtype not in allowed:
            known = ", ".join(map(str, allowed))
            raise ValueError(
                f"Unsupported dtype {self.dtype} for atomic_{kind}; expected one of {known}"
            )
        if kind in ("min", "max") and self.dtype in _HALF_FLOATS and not _has_accelerator():
            raise ValueError(
                f"16-bit float types require native tma support, got {self.dtype} for atomic_{kind}"
            )
        current().insert(DescriptorReduceOp(kind, self.handle, self._at(offsets), value.handle))

    def atomic_add(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Add a block to what is stored at `offsets`."""
        self._reduce("add", offsets, value)

    def atomic_min(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Keep the smaller of a block and what is stored at `offsets`."""
        self._reduce("min", offsets, value)

    def atomic_max(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Keep the greater of a block and what is stored at `offsets`."""
        self._reduce("max", offsets, value)

    def atomic_and(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Keep the bits that a block and what is stored at `offsets` have in common."""
        self._reduce("and", offsets, value)

    def atomic_or(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Set the bits of a block in what is stored at `offsets`."""
        self._reduce("or", offsets, value)

    def atomic_xor(self, offsets: Sequence[Operand], value: tensor) -> None:
        """Flip the bits of a block in what is stored at `offsets`."""
        self._reduce("xor", offsets, value)

    # Rows.

    def gather(self, *args: Operand) -> tensor:
        """The rows given by a tensor of indices, each from a column on."""
        rows, column = self._rows("gather", args)
        type = block_type(self.dtype, [rows.shape[0], self.block_shape[1]])
        op = DescriptorGatherOp(self.handle, rows.handle, column.handle, type.to_ir())
        return emit(op, type)

    def scatter(self, value: tensor, *args: Operand) -> None:
        """Store the rows of `value` to those given by a tensor of indices, from a column on."""
        rows, column = self._rows("scatter", args)
        current().insert(DescriptorScatterOp(self.handle, rows.handle, column.handle, value.handle))

    def _rows(self, what: str, args: Sequence[Operand]) -> tuple[tensor, tensor]:
        if len(args) != 2:
            raise ValueError(
                f"descriptor {what} only supports 2D indexing, by rows and a column, but got "
                f"{len(args)} indices"
            )
        rows, column = args
        if len(self.block_shape) != 2 or self.block_shape[0] != 1:
            raise ValueError(
                f"descriptor of a {what} must be 2D with a block of 1 row, but got "
                f"{list(self.block_shape)}"
            )
        if not isinstance(rows, tensor) or len(rows.shape) != 1:
            raise ValueError(f"x offsets of a descriptor {what} must be 1D, but got {rows}")
        if rows.dtype not in (int16, int32):
            raise ValueError(f"x offsets must have dtype int16 or int32, but got {rows.dtype}")
        if rows.shape[0] < _MIN_GATHER_ROWS:
            raise ValueError(
                f"descriptor {what} must have at least {_MIN_GATHER_ROWS} rows, but got "
                f"{list(rows.shape)}"
            )
        columns = _MIN_GATHER_ROW_BITS // self.dtype.primitive_bitwidth
        if self.block_shape[1] < columns:
            raise ValueError(
                f"descriptor {what} of {self.dtype} must have at least {columns} columns, but got "
                f"{self.block_shape[1]}"
            )
        return rows, indices((column,))[0]


class tensor_descriptor_type:
    """The type of descriptors with blocks of one type."""

    def __init__(self, block_type: block_type) -> None:
        self.block_type = block_type

    def to_ir(self) -> TensorDescType:
        element = self.block_type.scalar
        ir = element.to_ir()
        if isinstance(ir, IntegerType):
            # Descriptors are the one type with signed and unsigned integers.
            sign = Signedness.SIGNED if element.is_int_signed() else Signedness.UNSIGNED
            ir = IntegerType(ir.bitwidth, sign)
        return TensorDescType.get(self.block_type.shape, ir)

    def flattened(self) -> list[Attribute]:
        """The types of a kernel's arguments for one descriptor: itself, extents, strides."""
        rank = len(self.block_type.shape)
        return [self.to_ir(), *[int32.to_ir()] * rank, *[int64.to_ir()] * rank]

    def make(self, values: Iterator[SSAValue]) -> tensor_descriptor:
        """The descriptor whose `flattened` values come next."""
        rank = len(self.block_type.shape)
        handle = next(values)
        shape = [tensor(next(values), int32) for _ in range(rank)]
        strides = [tensor(next(values), int64) for _ in range(rank)]
        return tensor_descriptor(handle, shape, strides, self.block_type)

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and self.block_type == other.block_type

    @override
    def __hash__(self) -> int:
        return hash(self.block_type)

    @override
    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"


def make_tensor_descriptor(
    base: tensor,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A descriptor of the tensor at `base`, accessed by blocks of `block_shape`.

    `base` is aligned to 16 bytes and so are all `strides`, given in elements, but the last, which
    is 1. `padding_option`, "zero" or "nan", is what is read beyond the edge.
    """
    shape, strides, block_shape = unwrap(shape), unwrap(strides), unwrap(block_shape)
    element = _element(base)
    _check_ranks(shape, strides, block_shape)
    _check_alignment(element, strides, block_shape)
    extents = [make_scalar(extent, int32) for extent in shape]
    steps = [make_scalar(stride, int64) for stride in strides]
    type = tensor_descriptor_type(block_type(element, block_shape))
    padding = padding_option or "zero"
    if padding not in PADDING.keywords:
        raise ValueError(f"Padding option {padding} not supported; expected 'zero' or 'nan'")
    if padding == "nan" and element.is_int():
        raise ValueError("Padding option `nan` is not supported for integer blocks")
    op = MakeTensorDescOp(
        base.handle,
        [extent.handle for extent in extents],
        [step.handle for step in steps],
        type.to_ir(),
        padding=padding,
    )
    return tensor_descriptor(current().insert(op).result, extents, steps, type.block_type)


def _element(base: tensor) -> dtype:
    if isinstance(base, tensor) and isinstance(base.type, pointer_type):  # pyright: ignore[reportUnnecessaryIsInstance]
        return base.type.element_ty
    raise TypeError(f"base must be a pointer type, got {base}")


def _check_ranks(
    shape: Sequence[Operand], strides: Sequence[Operand], block_shape: Sequence[int]
) -> None:
    rank = len(shape)
    if not 1 <= rank <= _MAX_RANK:
        raise ValueError(f"Expected 1 <= ndim <= {_MAX_RANK} but got {rank} dimensions")
    if len(strides) != rank:
        raise ValueError(f"Expected {rank} strides but got {len(strides)}")
    if len(block_shape) != rank:
        raise ValueError(
            f"Expected block_shape to have {rank} dimensions but got {len(block_shape)}"
        )


def _check_alignment(
    element: dtype, strides: Sequence[Operand], block_shape: Sequence[int]
) -> None:
    size = element.primitive_bitwidth // 8
    row = block_shape[-1] * size
    if row < _ALIGNMENT_BYTES:
        raise ValueError(
            f"Descriptor block shape must have at least {_ALIGNMENT_BYTES} bytes in the last "
            f"dimension, but got {block_shape[-1]} * {size} = {row} bytes"
        )
    last = strides[-1]
    if isinstance(last, tensor) or last != 1:
        raise ValueError(
            f"Tensor descriptor last dim must be 1 but got {last}: write the literal 1 for a "
            "contiguous last dimension, or exchange dimensions and transpose the loaded block"
        )
    for stride in strides[:-1]:
        if isinstance(stride, int) and stride * size % _ALIGNMENT_BYTES:
            raise ValueError(
                f"Tensor descriptor strides must be {_ALIGNMENT_BYTES}-byte aligned, but got a "
                f"stride of {stride} * {size} = {stride * size} bytes: pad the rows of the tensor"
            )


def _wrong_count(rank: int, count: int) -> str:
    return f"expected {rank} offsets, but got {count}: one for every dimension of the descriptor"


def _has_accelerator() -> bool:
    return current_options().target.is_cuda_from(90)


def load_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[Operand]) -> tensor:
    """The block of `desc` that starts at `offsets`."""
    return desc.load(offsets)


def store_tensor_descriptor(
    desc: tensor_descriptor, offsets: Sequence[Operand], value: Operand
) -> None:
    """Store a block at `offsets` of `desc`."""
    desc.store(offsets, value)
