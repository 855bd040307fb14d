"""Bits of integers, and conditions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith
from tilewright.language.tl.constants import all_ones_of, is_python_scalar, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import bitcast
from tilewright.language.tl.dtypes import int1
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.promotion import IncompatibleTypeErrorImpl, promote_binary
from tilewright.language.tl.tensor import emit, operator, tensor


def _integers(x: object, y: object) -> tuple[tensor, tensor]:
    lhs, rhs = promote_binary(x, y)
    if not lhs.dtype.is_int() or not rhs.dtype.is_int():
        raise IncompatibleTypeErrorImpl(
            lhs.dtype,
            rhs.dtype,
            ": bitwise operators require integers; reinterpret floats with x.to(tl.int32, "
            "bitcast=True), or write a comparison",
        )
    return lhs, rhs


def _emit(op: Callable[[SSAValue, SSAValue], Operation], x: object, y: object) -> tensor:
    lhs, rhs = _integers(x, y)
    return emit(op(lhs.handle, rhs.handle), lhs.type)


@operator("and_")
def and_(x: object, y: object) -> tensor:
    """x & y."""
    return _emit(arith.AndiOp, x, y)


@operator("or_")
def or_(x: object, y: object) -> tensor:
    """x | y."""
    return _emit(arith.OriOp, x, y)


@operator("xor")
def xor(x: object, y: object) -> tensor:
    """x ^ y."""
    return _emit(arith.XoriOp, x, y)


@operator("invert")
def invert(x: tensor) -> tensor:
    """~x."""
    if not x.dtype.is_int():
        raise ValueError(f"wrong type argument to unary invert ({x.dtype!r})")
    return xor(x, all_ones_of(x.dtype))


# Shifts. Of two operands, the one whose method Python calls (`owner`) decides about the sign.


@operator("lshift")
def lshift(x: object, y: object, owner: tensor) -> tensor:
    """x << y."""
    _warn_about_width(x, y)
    return _emit(arith.ShliOp, x, y)


@operator("rshift")
def rshift(x: object, y: object, owner: tensor) -> tensor:
    """x >> y, keeping the sign of signed integers."""
    _warn_about_width(x, y)
    return _emit(arith.ShrsiOp if owner.dtype.is_int_signed() else arith.ShruiOp, x, y)


def _warn_about_width(x: object, y: object) -> None:
    shift = unwrap(y)
    if not isinstance(x, tensor) or not is_python_scalar(shift):
        return
    width = x.dtype.primitive_bitwidth
    if shift >= width:
        warn(
            f"Value {shift} exceeds the maximum bitwidth ({width}) for type '{x.dtype}'. "
            "This may result in undefined behavior."
        )


# Conditions.


def _condition(value: tensor, spelling: str) -> tensor:
    """A condition is one bit; a pointer holds unless it is null."""
    if value.dtype.primitive_bitwidth != 1 and not value.dtype.is_ptr():
        raise ValueError(
            f"Cannot bitcast data-type of size {value.dtype.primitive_bitwidth} to data-type of "
            f"size 1: `{spelling}` takes conditions, not {value}; write a comparison such as x != 0"
        )
    return bitcast(value, int1)


@operator("logical_and")
def logical_and(x: object, y: object) -> tensor:
    """x and y, both conditions."""
    return and_(_condition(to_tensor(x), "and"), _condition(to_tensor(y), "and"))


@operator("logical_or")
def logical_or(x: object, y: object) -> tensor:
    """x or y, both conditions."""
    return or_(_condition(to_tensor(x), "or"), _condition(to_tensor(y), "or"))


def logical_not(x: tensor) -> tensor:
    """not x, a condition."""
    return invert(_condition(x, "not"))
