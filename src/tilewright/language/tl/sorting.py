"""Sorting, and moving elements along an axis.

A block of 2^n elements is seen as a hypercube, n dimensions of extent 2, so that an element and the
one it is compared with are adjacent along one dimension. The other's bits are the element's
bits xor the xor of both, and that is a reduction:

    other = x ^ xor_sum(x, dimension, keep_dims=True)

A bitonic merge of stage s makes runs of 2^s sorted elements: it compares along dimension s-1, then
s-2, down to 0. Which of two adjacent elements gets the smaller value is decided by its index and by
whether its run is to ascend; up to the last stage runs ascend and descend in turn.
"""

from __future__ import annotations

from typing import cast

from tilewright.dialects.tt import GatherOp, HistogramOp
from tilewright.language.tl.broadcast import broadcast_shape
from tilewright.language.tl.comparison import where
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.conversion import bitcast, convert
from tilewright.language.tl.create import arange
from tilewright.language.tl.dtypes import (
    block_type,
    get_int_dtype,
    int1,
    int32,
    is_power_of_two,
)
from tilewright.language.tl.memory import check_mask
from tilewright.language.tl.reductions import max, min, xor_sum
from tilewright.language.tl.shape import reshape_value
from tilewright.language.tl.tensor import Operand, emit, tensor, tensor_method

_ALTERNATING = 2
"""Runs ascend and descend in turn; 0 and 1 are all ascending and all descending."""


def _log2(count: int) -> int:
    return count.bit_length() - 1


def _last_dimension(x: tensor, dim: int | None) -> int:
    last = len(x.shape) - 1
    if dim is not None and dim != last:
        raise ValueError(
            f"only minor dimension is currently supported: sort along dim={last}, got {dim}; "
            "use tl.trans to move another one there"
        )
    return last


# Compare and swap of adjacent elements in a hypercube.


def _position(rank: int, dimension: int) -> tensor:
    """0 or 1: which of two adjacent elements along a dimension, counted from the innermost one."""
    shape = [1] * (rank - dimension - 1) + [2] + [1] * dimension
    return reshape_value(arange(0, 2), shape)


def _compare_and_swap(x: tensor, flip: Operand, dimension: int) -> tensor:
    """Adjacent elements along a dimension in order, reversed where `flip` is 1."""
    rank = _log2(x.numel)
    bits = bitcast(x, get_int_dtype(x.dtype.primitive_bitwidth, True))
    neighbour = bitcast(bits ^ xor_sum(bits, rank - 1 - dimension, True), x.dtype)
    is_right = _position(rank, dimension)
    is_wrong = (x > neighbour) != convert(flip ^ is_right, int1)
    return where(is_wrong, neighbour, x)


def _merge_hypercube(x: tensor, stage: int, order: int) -> tensor:
    """Bitonic runs of 2^stage elements sorted, in an `order`."""
    flip = _position(_log2(x.numel), stage) if order == _ALTERNATING else to_tensor(order)
    for step in range(stage):
        x = _compare_and_swap(x, flip, stage - 1 - step)
    return x


# Sorting.


def _sort(x: tensor, k: int | None, dim: int | None, descending: int) -> tensor:
    dim = _last_dimension(x, dim)
    _check_top(k, x.shape[dim])
    steps = _log2(x.shape[dim])
    result_steps = steps if k is None else _log2(k)
    if result_steps == 0:
        return _best(x, dim, descending, keep_dims=True)
    cube = reshape_value(x, [2] * _log2(x.numel))
    for stage in range(1, result_steps + 1):
        cube = _merge_hypercube(cube, stage, _ALTERNATING if stage < steps else descending)
    # The better of each two sorted runs of k elements is a bitonic run again.
    for stage in range(result_steps + 1, steps + 1):
        cube = _best(cube, _log2(cube.numel) - 1 - result_steps, descending)
        cube = _merge_hypercube(cube, result_steps, _ALTERNATING if stage < steps else descending)
    return reshape_value(cube, (*x.shape[:-1], 2**result_steps))


def _best(x: tensor, axis: int, descending: int, *, keep_dims: bool = False) -> tensor:
    select = max if descending else min
    return cast("tensor", select(x, axis, keep_dims=keep_dims))


def _check_top(k: int | None, extent: int) -> None:
    if k is None:
        return
    if k <= 0:
        raise ValueError(f"topk: k must be greater than 0, got {k}")
    if not is_power_of_two(k):
        raise ValueError(f"topk: k must be a power of two, got {k}")
    if k > extent:
        raise ValueError(
            f"topk: k must not exceed the size of the selected dimension, got {k} > {extent}"
        )


@tensor_method
def sort(x: tensor, dim: int | None = None, descending: bool | int = 0) -> tensor:
    """The elements along the last dimension in ascending or `descending` order."""
    return _sort(x, None, dim, descending)


def topk(x: tensor, k: int, dim: int | None = None, descending: bool | int = True) -> tensor:
    """The `k` largest elements along the last dimension, largest first; smallest if ascending."""
    return _sort(x, k, dim, descending)


def bitonic_merge(x: tensor, dim: int | None = None, descending: bool | int = 0) -> tensor:
    """A bitonic run along the last dimension sorted: it ascends, then descends, or the reverse."""
    _last_dimension(x, dim)
    cube = reshape_value(x, [2] * _log2(x.numel))
    return reshape_value(_merge_hypercube(cube, _log2(x.shape[-1]), descending), x.shape)


@tensor_method
def flip(x: tensor, dim: int | None = None) -> tensor:
    """The elements in reverse order along `dim`, the last one by default."""
    rank = len(x.shape)
    axis = rank - 1 if dim is None else dim
    if not -rank <= axis < rank:
        raise ValueError(f"flip: dim must be None or in [-rank, rank), got {dim} for rank {rank}")
    axis %= rank
    steps = _log2(x.shape[axis])
    bits = bitcast(x, get_int_dtype(x.dtype.primitive_bitwidth, True))
    cube = reshape_value(bits, (*x.shape[:axis], *[2] * steps, *x.shape[axis + 1 :]))
    for step in range(steps):
        cube = cube ^ xor_sum(cube, axis + step, True)
    return bitcast(reshape_value(cube, x.shape), x.dtype)


# Counting and choosing.


@tensor_method
def histogram(input: tensor, num_bins: int, mask: Operand | None = None) -> tensor:
    """The count of each integer 0 to ``num_bins - 1`` where `mask` is true."""
    if len(input.shape) != 1:
        raise ValueError(f"histogram only supports 1D input, got {input}: use tl.ravel")
    if not input.dtype.is_int() or input.dtype.int_bitwidth != 32:
        raise ValueError(
            f"histogram only supports 32-bit integer input, but got {input.dtype}: use "
            ".to(tl.int32)"
        )
    valid = None
    if mask is not None:
        valid = check_mask(broadcast_shape(to_tensor(mask), input.shape)).handle
    type = block_type(int32, [num_bins])
    return emit(HistogramOp(input.handle, type.to_ir(), valid), type)


@tensor_method
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """Elements of `src` at `index` along `axis`, in the shape of `index`."""
    rank = len(src.shape)
    if not index.dtype.is_int():
        raise TypeError(f"index must be an integer tensor, got {index}")
    if len(index.shape) != rank:
        raise ValueError(f"source and index tensors must have the same rank, got {src} and {index}")
    if not -rank <= axis < rank:
        raise ValueError(f"gather axis {axis} must be < source rank ({rank})")
    axis %= rank
    for dimension, (found, expected) in enumerate(zip(index.shape, src.shape, strict=True)):
        if dimension != axis and found != expected:
            raise ValueError(
                f"index dim {dimension} must match the corresponding source dim: got {found}, "
                f"expected {expected}"
            )
    type = block_type(src.dtype, index.shape)
    return emit(GatherOp(src.handle, index.handle, axis), type)
