"""Block pointers: a block of a tensor, given by where it starts.

    block = tl.make_block_ptr(base, (M, N), (N, 1), (row, 0), (64, 32), order=(1, 0))
    tile = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    block = tl.advance(block, (0, 32))

A block pointer is its parts (base, shape, strides, offsets) and no value of the IR. A load or store
expands to the pointers and the mask it stands for, each dimension in 64 bits:

    index[d]  = offsets[d] + range(block_shape[d])
    pointers  = base + sum of index[d] * strides[d]
    mask      = all of 0 <= index[d] < shape[d], for the dimensions to be checked

so block pointers work wherever blocks of pointers do, in releases of Triton without them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, cast

from typing_extensions import override
from xdsl.ir import SSAValue

from tilewright.language.tl.broadcast import broadcast_shape
from tilewright.language.tl.constants import splat
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.create import arange
from tilewright.language.tl.dtypes import (
    block_type,
    check_shape,
    dtype,
    int1,
    int64,
    pointer_type,
)
from tilewright.language.tl.memory import AddressDescription, PointerBlock, as_bytes
from tilewright.language.tl.operands import indices
from tilewright.language.tl.shape import expand_dims
from tilewright.language.tl.tensor import Operand, tensor

_PADDINGS = ("", "zero", "nan")


class block_pointer(AddressDescription):
    """A block of a tensor in memory, at offsets that `advance` moves."""

    def __init__(
        self,
        base: tensor,
        shape: Sequence[tensor],
        strides: Sequence[tensor],
        offsets: Sequence[tensor],
        block_shape: Sequence[int],
        order: Sequence[int],
    ) -> None:
        self.base = base
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.offsets = tuple(offsets)
        self.block_shape = tuple(block_shape)
        self.order = tuple(order)

    @property
    def element(self) -> dtype:
        """The type of an element."""
        return cast("pointer_type", self.base.type).element_ty

    @property
    def type(self) -> pointer_type:
        return pointer_type(block_type(self.element, self.block_shape))

    @property
    def dtype(self) -> pointer_type:
        """As of any pointer: what it points to is ``dtype.element_ty``, a block to cast to."""
        return self.type

    # As control flow sees it.

    def _parts(self) -> tuple[tensor, ...]:
        return (self.base, *self.shape, *self.strides, *self.offsets)

    @override
    def handles(self) -> Sequence[SSAValue]:
        return [part.handle for part in self._parts()]

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        base, *rest = (part.rebuild(handles) for part in self._parts())
        rank = len(self.block_shape)
        groups = (rest[:rank], rest[rank : 2 * rank], rest[2 * rank :])
        return self.__class__(base, *groups, self.block_shape, self.order)

    @override
    def kind(self) -> object:
        return (str(self.type), self.order, *(part.kind() for part in self._parts()))

    # What it stands for.

    def advance(self, offsets: Sequence[Operand]) -> Self:
        """The block that many elements further along each dimension."""
        steps = indices(offsets)
        if len(steps) != len(self.offsets):
            raise ValueError(
                f"tl.advance expects {len(self.offsets)} offsets, one per dimension of the "
                f"block, got {len(steps)}"
            )
        moved = [offset + step for offset, step in zip(self.offsets, steps, strict=True)]
        return self.__class__(
            self.base, self.shape, self.strides, moved, self.block_shape, self.order
        )

    @override
    def access(self, boundary_check: Sequence[int] | int, padding_option: str) -> PointerBlock:
        checked = _dimensions(boundary_check, len(self.block_shape))
        other = _padding(padding_option, self.element)
        along_each = [self._index(dimension) for dimension in range(len(self.block_shape))]
        pointers = splat(self.base, self.block_shape)
        for along, stride in zip(along_each, self.strides, strict=True):
            pointers += broadcast_shape(along * stride, self.block_shape)
        mask = None
        for dimension in checked:
            index = along_each[dimension]
            inside = (index >= 0) & (index < self.shape[dimension])
            inside = broadcast_shape(inside, self.block_shape)
            mask = inside if mask is None else mask & inside
        return PointerBlock(pointers, mask, None if mask is None else other)

    def _index(self, dimension: int) -> tensor:
        """Indices along one dimension; all others have extent 1."""
        extent = self.block_shape[dimension]
        index = convert(self.offsets[dimension], int64) + convert(arange(0, extent), int64)
        others = [other for other in range(len(self.block_shape)) if other != dimension]
        return expand_dims(index, others) if others else index

    @override
    def __str__(self) -> str:
        return f"block pointer to {self.element}{list(self.block_shape)}"


def _dimensions(boundary_check: Sequence[int] | int, rank: int) -> list[int]:
    boundary_check = unwrap(boundary_check)
    requested = [boundary_check] if isinstance(boundary_check, int) else list(boundary_check)
    if any(not 0 <= dimension < rank for dimension in requested):
        raise ValueError(
            f"boundary_check lists dimensions of the block, 0 to {rank - 1}, got {requested}"
        )
    if len(set(requested)) != len(requested):
        raise ValueError(f"boundary_check lists a dimension twice: {requested}")
    return sorted(requested)


def _padding(option: str, element: dtype) -> Operand | None:
    """What is loaded for out-of-bounds elements, undefined without padding."""
    if option not in _PADDINGS:
        raise ValueError(f"Padding option {option} not supported; expected 'zero' or 'nan'")
    if option == "nan" and element.is_int():
        raise ValueError("Padding option `nan` is not supported for integer block pointers")
    if not option:
        return None
    return float("nan") if option == "nan" else 0


def make_block_ptr(
    base: tensor,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    offsets: Sequence[Operand],
    block_shape: Sequence[int],
    order: Sequence[int],
) -> block_pointer:
    """A pointer to the block of `block_shape` at `offsets` of the tensor at `base`.

    `shape` and `strides` are those of the whole tensor, in elements; `order` lists the dimensions
    from the one with the smallest stride on.
    """
    if not isinstance(base, tensor) or not isinstance(base.type, pointer_type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"Expected `base` to be a pointer type (but not a block of pointers), got {base}"
        )
    if base.type.element_ty == int1:
        base = as_bytes(base)
    extents, steps = indices(shape, wide=True), indices(strides, wide=True)
    starts = indices(offsets)
    block_shape, order = check_shape(block_shape), tuple(unwrap(order))
    if sorted(order) != list(range(len(order))):
        raise ValueError(
            f"Expected `order` to be a permutation of (0, 1, ..., rank-1), got {order}"
        )
    ranks = {len(extents), len(steps), len(starts), len(block_shape), len(order)}
    if len(ranks) != 1:
        raise ValueError(
            "Expected shape/strides/offsets/block_shape/order to have the same length, got "
            f"{len(extents)}, {len(steps)}, {len(starts)}, {len(block_shape)}, {len(order)}"
        )
    return block_pointer(base, extents, steps, starts, block_shape, order)


def advance(base: block_pointer, offsets: Sequence[Operand]) -> block_pointer:
    """The block that many elements further along each dimension; `base` itself stays."""
    if not isinstance(base, block_pointer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tl.advance expects a pointer from tl.make_block_ptr, got {base}")
    return base.advance(offsets)
