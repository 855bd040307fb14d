"""Arithmetic with IEEE's rounding modes: ``T.ieee_add(x, y, "rz")`` and the like.

A result is rounded once, and never joined with other arithmetic: additions and multiplications are
written as fused multiply-adds, ``x * 1 + y`` and ``x * y - 0``, which no compiler contracts. Of the
other modes there is no op: the result to nearest is corrected by one unit in the last digit where
its exact error has the wrong sign. The errors are those of Knuth's TwoSum, of a fused remainder,
and of Boldo and Muller's "Exact and approximated error of the FMA" (2011).

    rn  nearest, halves to even     rz  towards zero     ru  upwards     rd  downwards

As on GPUs, 16-bit floats are only rounded to nearest. Of subnormal results the error may underflow;
they are then rounded to nearest.
"""

from __future__ import annotations

from typing import Any

from tilewright.frontend.errors import FrontendError
from tilewright.language.T import arithmetic, scalars
from tilewright.language.T.arithmetic import common_dtype
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import Expr, as_type, constant, convert
from tilewright.language.T.loop_forms import BAD_ARGUMENT

_MODES = ("rn", "rz", "ru", "rd")


def _operands(name: str, mode: Any, *values: Any) -> list[Expr]:
    """`values` in their common type, as numbers of the kernel."""
    if mode not in _MODES:
        raise ValueError(f"Invalid rounding mode {mode!r}: expected one of {', '.join(_MODES)}")
    dtype = common_dtype(values[0], values[-1])
    for value in values[1:-1]:
        dtype = arithmetic.promoted(dtype, common_dtype(value, values[-1]))
    if not dtype.is_float or dtype.bits < 16:
        raise TypeError(f"T.{name} only supports floating-point inputs, but got {dtype}")
    if mode != "rn" and dtype.bits < 32:
        raise FrontendError(
            f"T.{name}: Only rounding mode 'rn' is available for half precision, as {dtype}: use "
            "it, or cast to float32",
            code=BAD_ARGUMENT,
        )
    return [Expr(as_type(value, dtype), dtype) for value in values]


def _rounded(nearest: Any, error: Any, mode: str, dtype: Dtype) -> Any:
    """`nearest` in another mode; the sign of `error` is that of what `nearest` lacks."""
    if mode == "rn":
        return nearest
    bits = DTYPES[f"int{dtype.bits}"]
    zero = constant(0.0, dtype)
    pattern = scalars.reinterpret(nearest, bits)
    away = scalars.reinterpret(pattern + constant(1, bits), dtype)
    closer = scalars.reinterpret(pattern - constant(1, bits), dtype)
    smallest = scalars.reinterpret(constant(1, bits), dtype)
    up = scalars.if_then_else(
        nearest == zero, smallest, scalars.if_then_else(nearest > zero, away, closer)
    )
    down = scalars.if_then_else(
        nearest == zero, -smallest, scalars.if_then_else(nearest > zero, closer, away)
    )
    lacks, exceeds = error > zero, error < zero
    if mode == "rz":
        lacks = scalars.all_of(lacks, nearest < zero)
        exceeds = scalars.all_of(exceeds, nearest > zero)
    result = nearest
    if mode != "rd":
        result = scalars.if_then_else(lacks, up, result)
    if mode != "ru":
        result = scalars.if_then_else(exceeds, down, result)
    return scalars.if_then_else(scalars.isfinite(nearest), result, nearest)


def _sum(x: Any, y: Any) -> Any:
    return scalars.fma(x, constant(1.0, x.dtype), y)


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """The sum, and what it lacks."""
    total = _sum(x, y)
    part = _sum(total, -x)
    return total, _sum(_sum(x, -_sum(total, -part)), _sum(y, -part))


def _multiplied(x: Any, y: Any) -> Any:
    return scalars.fma(x, y, constant(-0.0, x.dtype))


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """``x + y``, rounded once."""
    one, other = _operands("ieee_add", rounding_mode, x, y)
    if rounding_mode == "rn":
        return _sum(one, other)
    return _rounded(*_two_sum(one, other), rounding_mode, one.dtype)


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """``x - y``, rounded once."""
    one, other = _operands("ieee_sub", rounding_mode, x, y)
    return ieee_add(one, -other, rounding_mode)


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """``x * y``, rounded once."""
    one, other = _operands("ieee_mul", rounding_mode, x, y)
    nearest = _multiplied(one, other)
    if rounding_mode == "rn":
        return nearest
    return _rounded(nearest, scalars.fma(one, other, -nearest), rounding_mode, one.dtype)


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Any:
    """``x * y + z``, rounded once."""
    one, other, third = _operands("ieee_fmaf", rounding_mode, x, y, z)
    nearest = scalars.fma(one, other, third)
    if rounding_mode == "rn":
        return nearest
    rounded = _multiplied(one, other)
    rest = scalars.fma(one, other, -rounded)
    first, first_error = _two_sum(third, rest)
    second, second_error = _two_sum(rounded, first)
    gap = _sum(_sum(second, -nearest), second_error)
    return _rounded(nearest, _sum(gap, first_error), rounding_mode, one.dtype)


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """``x / y``, rounded once."""
    one, other = _operands("ieee_fdiv", rounding_mode, x, y)
    nearest = one / other
    if rounding_mode == "rn":
        return nearest
    rest = scalars.fma(-nearest, other, one)
    zero = constant(0.0, one.dtype)
    error = scalars.if_then_else(other > zero, rest, -rest)
    return _rounded(nearest, error, rounding_mode, one.dtype)


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Any:
    """``1 / x``, rounded once."""
    (found,) = _operands("ieee_frcp", rounding_mode, x)
    return ieee_fdiv(constant(1.0, found.dtype), found, rounding_mode)


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Any:
    """The square root, rounded once."""
    (found,) = _operands("ieee_fsqrt", rounding_mode, x)
    nearest = scalars.sqrt(found)
    if rounding_mode == "rn":
        return nearest
    return _rounded(nearest, scalars.fma(-nearest, nearest, found), rounding_mode, found.dtype)


def ieee_frsqrt(x: Any) -> Any:
    """One over the square root, to nearest."""
    (found,) = _operands("ieee_frsqrt", "rn", x)
    if found.dtype == "float64":
        raise FrontendError(
            "T.ieee_frsqrt: frsqrt is not supported for float64, of which no GPU has one: write "
            "T.ieee_frcp(T.ieee_fsqrt(x))",
            code=BAD_ARGUMENT,
        )
    if found.dtype == "float32":  # both steps in float64 are exact enough
        wide = convert(found, DTYPES["float64"])
        return convert(constant(1.0, wide.dtype) / scalars.sqrt(wide), found.dtype)
    return scalars.rsqrt(found)


def fast_rcp(x: Any) -> Any:
    """``1 / x``, which may be less exact."""
    (found,) = _operands("fast_rcp", "rn", x)
    return constant(1.0, found.dtype) / found
