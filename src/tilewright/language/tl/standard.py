"""Small functions built from the others, and what Triton has in its module of the same name."""

from __future__ import annotations

import importlib
import warnings
from typing import Any, cast, overload

from tilewright.language.tl.comparison import minimum
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.dtypes import get_int_dtype, is_power_of_two
from tilewright.language.tl.math import exp, fdiv
from tilewright.language.tl.reductions import max, sum
from tilewright.language.tl.tensor import Operand, tensor, tensor_method


@overload
def cdiv(x: int, div: int) -> int: ...
@overload
def cdiv(x: tensor, div: Operand) -> tensor: ...
@overload
def cdiv(x: Operand, div: tensor) -> tensor: ...
def cdiv(x: Any, div: Any) -> Any:
    """`x` divided by `div` and rounded up, of integers that are not negative."""
    return (x + (div - 1)) // div


tensor_method(cdiv)


@tensor_method
def sigmoid(x: tensor) -> tensor:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x))


@tensor_method
def softmax(
    x: tensor,
    dim: int | None = None,
    *,
    keep_dims: bool | None = None,
    ieee_rounding: bool = False,
) -> tensor:
    """exp(x), divided by its sum along `dim`; the first dimension by default."""
    if keep_dims is not None:
        warnings.warn(
            "keep_dims of tl.softmax has no effect: the result always has the shape of x",
            stacklevel=2,
        )
    axis = 0 if dim is None else dim
    largest = cast("tensor", max(x, axis, keep_dims=True))
    numerator = exp(x - largest)
    return fdiv(numerator, sum(numerator, axis, keep_dims=True), ieee_rounding)


def swizzle2d(
    i: Operand, j: Operand, size_i: Operand, size_j: Operand, size_g: Operand
) -> tuple[tensor, tensor]:
    """The new index of (i, j) of a row-major matrix if groups of rows are column-major.

    With `size_g` = 2, a matrix of 4 x 4 is visited in this order:

        0 2 4 6
        1 3 5 7
        8 ...
    """
    linear = to_tensor(i * size_j + j)
    group_size = to_tensor(size_g * size_j)
    group = to_tensor(linear // group_size)
    first_row = to_tensor(group * size_g)
    rows = minimum(size_i - first_row, size_g)
    linear = linear % group_size
    return first_row + linear % rows, linear // rows


# Names without which kernels with their own sort cannot be compiled.


def _log2(i: int) -> int:  # pyright: ignore[reportUnusedFunction]
    return i.bit_length() - 1


_is_power_of_two = is_power_of_two
_get_int_dtype = get_int_dtype


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("tilewright.language.tl"), name)
