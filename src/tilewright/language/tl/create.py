"""Blocks made from nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects import tt
from tilewright.language.tl.constants import full
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import block_type, dtype, int32, is_power_of_two
from tilewright.language.tl.tensor import emit, tensor

__all__ = ["arange", "full", "zeros", "zeros_like"]

_INT32_BITS = 32


def arange(start: int, end: int) -> tensor:
    """The integers from `start` up to, but not including, `end`; a power of two of them."""
    start, end = unwrap(start), unwrap(end)
    if not isinstance(start, int) or not isinstance(end, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        role, given = ("end", end) if isinstance(start, int) else ("start", start)
        given = getattr(given, "type", given)
        raise ValueError(
            f"arange's arguments must be of type tl.constexpr, but its {role} is {given}, "
            "not a compile-time integer: declare it `: tl.constexpr`, as a parameter or where it "
            "is assigned; for a run-time start use start + tl.arange(0, SIZE)"
        )
    if start >> _INT32_BITS or end >> _INT32_BITS:
        raise ValueError(f"arange must fit in int32, got {start} and {end}")
    if end <= start:
        raise ValueError(
            "arange's end argument must be greater than the start argument, got "
            f"{start} and {end}: the start comes first"
        )
    if not is_power_of_two(end - start):
        larger = 1 << (end - start).bit_length()
        raise ValueError(
            f"arange's range must be a power of 2, but {start} to {end} are {end - start} values: "
            f"use {larger} and a mask"
        )
    return emit(tt.MakeRangeOp(start, end), block_type(int32, (end - start,)))


def zeros(shape: Sequence[int] | int, dtype: dtype) -> tensor:
    """A block of `shape` filled with 0."""
    return full(shape, 0, dtype)


def zeros_like(input: tensor) -> tensor:
    """A block of zeros of the type and shape of `input`."""
    return zeros(input.shape, input.dtype)
