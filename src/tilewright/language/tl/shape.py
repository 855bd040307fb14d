"""The same elements in another shape.

Shapes and orders can be given as one sequence or as several arguments: ``x.reshape(4, 8)`` and
``x.reshape((4, 8))`` are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from tilewright.dialects import tt
from tilewright.frontend.builder import current
from tilewright.language.tl.broadcast import broadcast_shape, broadcast_values
from tilewright.language.tl.constants import splat, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import block_type, check_shape
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.tensor import emit, operator, tensor, tensor_method


def _sequence(values: Sequence[object]) -> list[int]:
    """Integers given as one sequence or individually."""
    flat = unwrap(values)
    if len(flat) == 1 and isinstance(flat[0], (list, tuple)):
        flat = cast("Sequence[object]", flat[0])
    return cast("list[int]", list(flat))


def _axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise ValueError(
            f"invalid axis {axis}. Expected {-rank} <= axis < {rank}: dimensions count from 0, and "
            f"there {'is' if rank == 1 else 'are'} {rank}"
        )
    return axis if axis >= 0 else axis + rank


# Broadcasting.


def broadcast(input: tensor, other: tensor) -> tuple[tensor, tensor]:
    """Both blocks in the shape that they have in common."""
    return broadcast_values(to_tensor(input), to_tensor(other))


@tensor_method
def broadcast_to(input: tensor, *shape: int | Sequence[int]) -> tensor:
    """`input` repeated along dimensions of extent 1 until it has `shape`."""
    return broadcast_shape(to_tensor(input), check_shape(_sequence(shape)))


# Reshaping.


@tensor_method
def reshape(input: tensor, *shape: int | Sequence[int], can_reorder: bool = False) -> tensor:
    """The elements of `input` in `shape`, in the same order unless `can_reorder`."""
    extents = check_shape(_sequence(shape))
    if unwrap(can_reorder):
        warn(
            "tl.reshape(can_reorder=True) is deprecated and will be removed in Triton 3.10. "
            "Pass can_reorder=False (the default) to adopt the new behavior."
        )
    if not extents:
        return item(input)
    return reshape_value(input, extents, can_reorder=unwrap(can_reorder))


def reshape_value(value: tensor, shape: Sequence[int], *, can_reorder: bool = False) -> tensor:
    """`value` in another shape, without the checks that only a user's call needs."""
    if not value.type.is_block():
        raise ValueError(
            f"reshape takes a block, got the scalar {value}: use tl.full or expand_dims"
        )
    type = block_type(value.dtype, shape)
    if value.numel != type.numel:
        raise ValueError(
            "reshape() cannot change total number of elements in tensor: "
            f"{list(value.shape)} has {value.numel}, {list(shape)} has {type.numel}"
            + _fitting(value.numel, shape)
        )
    return emit(tt.ReshapeOp(value.handle, type.to_ir(), allow_reorder=can_reorder), type)


def _fitting(count: int, shape: Sequence[int]) -> str:
    """The nearest valid shape: with another last extent."""
    rows = prod(shape[:-1])
    return (
        f"; [{', '.join(map(str, [*shape[:-1], count // rows]))}] fits" if count % rows == 0 else ""
    )


@tensor_method
def view(input: tensor, *shape: int | Sequence[int]) -> tensor:
    """The elements of `input` in `shape`, in any order."""
    warn("view is deprecated, please use reshape with can_reorder being true.")
    return reshape_value(input, check_shape(_sequence(shape)), can_reorder=True)


@tensor_method
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """The elements of `x` in one dimension."""
    return reshape(x, [x.numel], can_reorder=can_reorder)


@tensor_method
def item(input: tensor) -> tensor:
    """The only element of `input` as a scalar."""
    if not input.type.is_block():
        return input
    if input.numel != 1:
        raise ValueError(f"can only unsplat single-element tensors, got {input}")
    return emit(tt.UnsplatOp(input.handle), input.dtype)


# Dimensions of extent 1.


@tensor_method
def expand_dims(input: tensor, axis: int | Sequence[int]) -> tensor:
    """`input` with a dimension of extent 1 at each `axis` of the result."""
    value, positions = to_tensor(input), unwrap(axis)
    given: Sequence[int] = [positions] if isinstance(positions, int) else positions
    rank = len(value.shape) + len(given)
    axes = [_axis(axis, rank) for axis in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expand_dims received duplicate axes, normalized axes = {axes}")
    for axis in sorted(axes):
        value = expand_dims_value(value, axis)
    return value


def expand_dims_value(value: tensor, axis: int) -> tensor:
    """`value` with one dimension of extent 1 more; a scalar becomes a block."""
    shape = list(value.shape)
    if not 0 <= axis <= len(shape):
        raise ValueError(f"invalid axis {axis} for a tensor of rank {len(shape)}")
    shape.insert(axis, 1)
    if not value.type.is_block():
        return splat(value, shape)
    type = block_type(value.dtype, shape)
    return emit(tt.ExpandDimsOp(value.handle, axis, type.to_ir()), type)


def unsqueeze(x: tensor, dim: int) -> tensor:
    """`x` with a dimension of extent 1 put in at `dim`."""
    dim = _axis(unwrap(dim), len(x.shape) + 1)
    return reshape(x, (*x.shape[:dim], 1, *x.shape[dim:]))


def squeeze(x: tensor, dim: int) -> tensor:
    """`x` without its dimension `dim`, which has extent 1."""
    dim = _axis(unwrap(dim), len(x.shape))
    if x.shape[dim] != 1:
        raise ValueError(
            f"squeeze removes dimensions of extent 1, but dimension {dim} of {x} has extent "
            f"{x.shape[dim]}"
        )
    return reshape(x, (*x.shape[:dim], *x.shape[dim + 1 :]))


@operator("index")
def index(x: tensor, key: object) -> tensor:
    """``x[:, None]``: None puts in a dimension of extent 1, ``:`` keeps one.

    A scalar has none to keep: there ``:`` keeps the dimension that a None before it put in.
    """
    key = unwrap(key)
    keys = cast("Sequence[object]", key) if isinstance(key, (list, tuple)) else (key,)
    value, taken = x, 0
    for dimension, part in enumerate(keys):
        if part is None:
            value = expand_dims_value(value, dimension)
        elif isinstance(part, slice) and part == slice(None):
            taken += 1
            if taken > len(x.shape or value.shape):
                raise ValueError(f"too many indices for tensor of rank {len(x.shape)}")
        else:
            raise ValueError(
                f"unsupported tensor index: {part}; only None and `:` can be used, as x[:, None]. "
                + _element_suggestion(x, part)
            )
    return value


def _element_suggestion(x: tensor, index: object) -> str:
    if x.dtype.is_ptr():
        return f"To read memory, use tl.load(pointer + {index})"
    return (
        "For one element load it from memory, or use tl.sum(tl.where(index == i, x, 0), "
        "axis=0); for several use tl.gather"
    )


# Permuting.


@tensor_method
def permute(input: tensor, *dims: int | Sequence[int]) -> tensor:
    """`input` with dimension ``dims[i]`` as dimension i of the result."""
    order = _sequence(dims)
    if len(input.shape) != len(order):
        raise ValueError(
            "permute dims must have the same length as input shape, got "
            f"{len(input.shape)} and {len(order)}"
        )
    if sorted(order) != list(range(len(order))):
        raise ValueError(
            f"permute dims must be a permutation of 0, 1, ..., n-1, but were {tuple(order)}"
        )
    type = block_type(input.dtype, [input.shape[axis] for axis in order])
    return emit(tt.TransOp(input.handle, order, type.to_ir()), type)


@tensor_method
def trans(input: tensor, *dims: int | Sequence[int]) -> tensor:
    """`input` with dimensions in the order `dims`; by default the last two change places."""
    order = _sequence(dims)
    if order:
        return permute(input, order)
    rank = len(input.shape)
    if rank < 2:
        raise ValueError("tl.trans invoked with a 0- or 1-dimensional tensor")
    return permute(input, [*range(rank - 2), rank - 1, rank - 2])


@operator("transpose")
def _transpose(x: tensor) -> tensor:
    return permute(x, (1, 0))


# Joining and splitting.


def join(a: object, b: object) -> tensor:
    """`a` and `b` interleaved in a new last dimension; two scalars become a block of two."""
    lhs, rhs = broadcast_values(to_tensor(a), to_tensor(b))
    if lhs.type.is_block():
        return _join_blocks(lhs, rhs)
    joined = _join_blocks(expand_dims_value(lhs, 0), expand_dims_value(rhs, 0))
    return reshape_value(joined, (2,))


def _join_blocks(lhs: tensor, rhs: tensor) -> tensor:
    if lhs.dtype != rhs.dtype:
        raise TypeError(f"join takes tensors of one type, got {lhs} and {rhs}: cast one of them")
    type = block_type(lhs.dtype, (*lhs.shape, 2))
    return emit(tt.JoinOp(lhs.handle, rhs.handle, type.to_ir()), type)


@tensor_method
def split(a: tensor) -> tuple[tensor, tensor]:
    """The halves of `a` along its last dimension, which has extent 2."""
    if not a.shape or a.shape[-1] != 2:
        extent = f"extent {a.shape[-1]}" if a.shape else "no dimension"
        raise ValueError(f"expected last dimension to be 2 for split, got {extent}: {a}")
    is_pair = len(a.shape) == 1
    source = expand_dims_value(a, 0) if is_pair else a
    type = block_type(source.dtype, source.shape[:-1])
    op = current().insert(tt.SplitOp(source.handle, type.to_ir()))
    lhs, rhs = tensor(op.out_lhs, type), tensor(op.out_rhs, type)
    return (item(lhs), item(rhs)) if is_pair else (lhs, rhs)


def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of `a` and `b` in turn along their last dimension."""
    joined = join(a, b)
    if len(joined.shape) == 1:
        return joined
    return reshape(joined, (*joined.shape[:-2], 2 * joined.shape[-2]))


def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """`input` followed by `other` along `dim`; in any order if `can_reorder`."""
    if unwrap(can_reorder):
        warn(
            "tl.cat(can_reorder=True) is deprecated and will be removed in Triton 3.10, when "
            "concatenation will always be deterministic. Pass can_reorder=False (the default) to "
            "adopt the new behavior."
        )
        return _cat_in_any_order(input, other)
    if len(input.shape) != len(other.shape):
        raise ValueError(f"tensors must have the same rank, got {input} and {other}")
    if input.shape != other.shape:
        raise ValueError(
            "tl.cat requires tensors of the same shape, got "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    rank = len(input.shape)
    dim = _axis(unwrap(dim), rank)
    order = list(range(rank))
    order.insert(dim, rank)
    shape = list(input.shape)
    shape[dim] *= 2
    return reshape(permute(join(input, other), order), shape)


def _cat_in_any_order(input: tensor, other: tensor) -> tensor:
    if len(input.shape) != 1:
        raise ValueError(f"expected 1D input for cat, got {len(input.shape)}D")
    type = block_type(input.dtype, (input.shape[0] + other.shape[0],))
    return emit(tt.CatOp(input.handle, other.handle, type.to_ir()), type)
