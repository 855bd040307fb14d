"""Reductions and scans along an axis.

`reduce` and `associative_scan` take any function that combines two elements, or two tuples of
elements. It is run once, on scalars, and what it emits is the region of the op:

    tl.reduce(x, 0, lambda a, b: a + b)      "tt.reduce"(%x) <{axis = 0}> ({
                                             ^bb0(%a: f32, %b: f32):
                                               %c = arith.addf %a, %b
                                               tt.reduce.return %c })

The named ones below are these two with a function of our own. Elements narrower than 32 bits are
widened first: a sum of many small integers must not overflow, and 16-bit maxima cost as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from xdsl.ir import Block, Operation, Region

from tilewright.dialects.tt import ReduceOp, ReduceReturnOp, ScanOp, ScanReturnOp
from tilewright.frontend.builder import current
from tilewright.language.tl.bitwise import logical_and, logical_or
from tilewright.language.tl.broadcast import broadcast_shape
from tilewright.language.tl.comparison import maximum, minimum, where
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.create import arange
from tilewright.language.tl.dtypes import block_type, dtype, float32, int32, uint32
from tilewright.language.tl.operands import returned
from tilewright.language.tl.options import current_options
from tilewright.language.tl.shape import expand_dims, reshape_value
from tilewright.language.tl.tensor import tensor, tensor_method

Combine: TypeAlias = Callable[..., Any]
"""A function of two elements, or of the elements of two tuples, that returns one or a tuple."""

_WIDTH = 32


# Any function.


def _wrap_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(
            f"invalid axis {axis}. Expected {-rank} <= axis < {rank}: dimensions count from 0, and "
            f"there {'is' if rank == 1 else 'are'} {rank}"
        )
    return axis + rank if axis < 0 else axis


def _blocks(input: tensor | Sequence[tensor], function: str) -> tuple[tensor, ...]:
    inputs = (input,) if isinstance(input, tensor) else tuple(input)
    if not inputs:
        raise ValueError(f"{function} needs at least one tensor")
    for value in inputs:
        if not isinstance(value, tensor) or not value.type.is_block():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{function} takes blocks, got {value}: a scalar has no axis")
        if value.shape != inputs[0].shape:
            raise ValueError(
                f"all {function} inputs must have the same shape, got {list(inputs[0].shape)} and "
                f"{list(value.shape)}"
            )
    return inputs


def _region(inputs: Sequence[tensor], combine: Combine, end: type[Operation]) -> Region:
    """The region that combines two elements, made by running `combine` on its arguments."""
    types = [value.dtype for value in inputs] * 2
    block = Block(arg_types=[type.to_ir() for type in types])
    with current().at(block):
        arguments = [tensor(value, type) for value, type in zip(block.args, types, strict=True)]
        found = returned(combine(*arguments))
        _check_combined(found, types[: len(inputs)])
        current().insert(end(*(value.handle for value in found)))
    return Region(block)


def _check_combined(found: Sequence[tensor], expected: Sequence[dtype]) -> None:
    if len(found) != len(expected):
        raise TypeError(
            f"the combine function must return as many values as it combines: {len(expected)}, "
            f"got {len(found)}"
        )
    for index, (value, type) in enumerate(zip(found, expected, strict=True)):
        if value.type.to_ir() != type.to_ir():
            raise TypeError(
                f"the combine function must return elements of the type it combines: value {index} "
                f"has type {value.type}, expected {type}; convert it with .to({type!r})"
            )


def _wrapped(op: Operation, inputs: Sequence[tensor], shape: Sequence[int]) -> tuple[tensor, ...]:
    return tuple(
        tensor(result, block_type(value.dtype, shape) if shape else value.dtype)
        for result, value in zip(op.results, inputs, strict=True)
    )


@overload
def reduce(
    input: tensor, axis: int | None, combine_fn: Combine, keep_dims: bool = False
) -> tensor: ...
@overload
def reduce(
    input: Sequence[tensor], axis: int | None, combine_fn: Combine, keep_dims: bool = False
) -> tuple[tensor, ...]: ...
def reduce(
    input: tensor | Sequence[tensor],
    axis: int | None,
    combine_fn: Combine,
    keep_dims: bool = False,
) -> tensor | tuple[tensor, ...]:
    """All elements along `axis` (everywhere if None) combined into one by `combine_fn`.

    `combine_fn` is associative and commutative. For a tuple of tensors it gets all elements of the
    first tuple, then all of the second, and returns a tuple.
    """
    inputs = _blocks(input, "reduce")
    rank = len(inputs[0].shape)
    if axis is None:
        sources = [reshape_value(value, (value.numel,), can_reorder=True) for value in inputs]
        along = 0
    else:
        sources, along = inputs, _wrap_axis(axis, rank)
    shape = sources[0].shape
    region = _region(sources, combine_fn, ReduceReturnOp)
    op = current().insert(ReduceOp([value.handle for value in sources], along, region))
    results = _wrapped(op, sources, (*shape[:along], *shape[along + 1 :]))
    if keep_dims:
        reduced = [along] if axis is not None else [0] * rank
        results = tuple(_expanded(value, reduced) for value in results)
    return results[0] if isinstance(input, tensor) else results


tensor_method(reduce)


def _expanded(value: tensor, axes: Sequence[int]) -> tensor:
    for axis in axes:
        value = expand_dims(value, axis)
    return value


@overload
def associative_scan(
    input: tensor, axis: int, combine_fn: Combine, reverse: bool = False
) -> tensor: ...
@overload
def associative_scan(
    input: Sequence[tensor], axis: int, combine_fn: Combine, reverse: bool = False
) -> tuple[tensor, ...]: ...
def associative_scan(
    input: tensor | Sequence[tensor], axis: int, combine_fn: Combine, reverse: bool = False
) -> tensor | tuple[tensor, ...]:
    """For each element along `axis`, it and all before it combined by `combine_fn`.

    With `reverse`, it and all after it. `combine_fn` is associative.
    """
    inputs = _blocks(input, "associative_scan")
    along = _wrap_axis(axis, len(inputs[0].shape))
    region = _region(inputs, combine_fn, ScanReturnOp)
    handles = [value.handle for value in inputs]
    op = current().insert(ScanOp(handles, along, region, reverse=bool(reverse)))
    results = _wrapped(op, inputs, inputs[0].shape)
    return results[0] if isinstance(input, tensor) else results


tensor_method(associative_scan)


# Cumulative addition and multiplication.


def _sum_type(element: dtype, requested: dtype | None) -> dtype:
    """What a sum is computed in: small integers get 32 bits."""
    if requested is not None:
        return requested
    if element.is_int() and element.int_bitwidth < _WIDTH:
        return int32 if element.is_int_signed() else uint32
    return element


def _add(a: tensor, b: tensor) -> tensor:
    return a + b


def _multiply(a: tensor, b: tensor) -> tensor:
    return a * b


def _xor(a: tensor, b: tensor) -> tensor:
    return a ^ b


def _or(a: tensor, b: tensor) -> tensor:
    return a | b


def _check_integers(input: tensor, function: str) -> None:
    if not input.dtype.is_int():
        raise TypeError(f"{function} only supported for integers, got {input}")


@tensor_method
def sum(
    input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: dtype | None = None
) -> tensor:
    """The sum along `axis`, of everything if None; computed in `dtype`.

    By default integers of fewer than 32 bits are summed in 32, everything else as it is.
    """
    return reduce(convert(input, _sum_type(input.dtype, dtype)), axis, _add, keep_dims)


@tensor_method
def xor_sum(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """All elements along `axis` combined by exclusive or."""
    _check_integers(input, "xor_sum")
    return reduce(input, axis, _xor, keep_dims)


@tensor_method
def reduce_or(input: tensor, axis: int | None, keep_dims: bool = False) -> tensor:
    """All elements along `axis` combined by or."""
    _check_integers(input, "reduce_or")
    return reduce(input, axis, _or, keep_dims)


def _scanned(input: tensor, requested: dtype | None) -> tensor:
    """The operand of `cumsum` or `cumprod`, in the type that it is computed in."""
    widens = current_options().widens_scans and input.dtype.is_bf16()
    element = float32 if widens else input.dtype
    return convert(convert(input, element), _sum_type(element, requested))


@tensor_method
def cumsum(
    input: tensor, axis: int = 0, reverse: bool = False, dtype: dtype | None = None
) -> tensor:
    """For each element, the sum of it and all before it along `axis`; computed in `dtype`."""
    return associative_scan(_scanned(input, dtype), axis, _add, reverse)


@tensor_method
def cumprod(
    input: tensor, axis: int = 0, reverse: bool = False, dtype: dtype | None = None
) -> tensor:
    """The cumulative multiplication along `axis`; computed in `dtype`."""
    return associative_scan(_scanned(input, dtype), axis, _multiply, reverse)


# Largest and smallest elements, and where they are.


def _choice(*, greater: bool, tie_break_left: bool) -> Combine:
    """Of two elements with indices, the better one; of equal ones the left with tie-breaking."""

    def combine(
        value1: tensor, index1: tensor, value2: tensor, index2: tensor
    ) -> tuple[tensor, tensor]:
        if tie_break_left:
            tie = logical_and(value1 == value2, index1 < index2)
        else:
            tie = to_tensor(False)
        is_better = value1 > value2 if greater else value1 < value2
        is_first = logical_or(is_better, tie)
        return where(is_first, value1, value2), where(is_first, index1, index2)

    return combine


def _with_indices(
    input: tensor, axis: int | None, combine: Combine, keep_dims: bool
) -> tuple[tensor, tensor]:
    if axis is None:
        raise ValueError(
            "an index needs an axis: pass axis=, or flatten the tensor with tl.ravel and use axis=0"
        )
    along = _wrap_axis(axis, len(input.shape))
    index = arange(0, input.shape[along])
    if len(input.shape) > 1:
        others = [other for other in range(len(input.shape)) if other != along]
        index = broadcast_shape(expand_dims(index, others), input.shape)
    value, indices = reduce((input, index), axis, combine, keep_dims)
    return value, indices


def _widened(input: tensor) -> tensor:
    if input.dtype.primitive_bitwidth >= _WIDTH:
        return input
    return convert(input, float32 if input.dtype.is_floating() else int32)


def _extremum(
    input: tensor,
    axis: int | None,
    return_indices: bool,
    tie_break_left: bool,
    keep_dims: bool,
    *,
    greater: bool,
) -> tensor | tuple[tensor, tensor]:
    if return_indices:
        choice = _choice(greater=greater, tie_break_left=tie_break_left)
        return _with_indices(input, axis, choice, keep_dims)
    combine: Combine = _larger if greater else _smaller
    return reduce(_widened(input), axis, combine, keep_dims)


def _larger(a: tensor, b: tensor) -> tensor:
    return maximum(a, b)


def _smaller(a: tensor, b: tensor) -> tensor:
    return minimum(a, b)


@tensor_method
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor | tuple[tensor, tensor]:
    """The largest element along `axis`; with `return_indices` where it is, too.

    Of several equal ones the leftmost counts, unless `return_indices_tie_break_left` is false.
    """
    tie_left = return_indices_tie_break_left
    return _extremum(input, axis, return_indices, tie_left, keep_dims, greater=True)


@tensor_method
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor | tuple[tensor, tensor]:
    """The smallest element along `axis`; with `return_indices` where it is, too.

    Of several equal ones the leftmost counts, unless `return_indices_tie_break_left` is false.
    """
    tie_left = return_indices_tie_break_left
    return _extremum(input, axis, return_indices, tie_left, keep_dims, greater=False)


@tensor_method
def argmax(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """Where the largest element along `axis` is."""
    choice = _choice(greater=True, tie_break_left=tie_break_left)
    return _with_indices(input, axis, choice, keep_dims)[1]


@tensor_method
def argmin(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """Where the smallest element along `axis` is."""
    choice = _choice(greater=False, tie_break_left=tie_break_left)
    return _with_indices(input, axis, choice, keep_dims)[1]
