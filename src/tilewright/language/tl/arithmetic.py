"""Arithmetic, element by element.

An operation is a row of a table: the op for floats, for signed and for unsigned integers. What is
left to each function is how its operands are promoted (`promotion`) and what pointers have to do
with it:

    pointer + offset, offset + pointer, pointer - offset       tt.addptr

Division follows C and not Python: ``//`` cuts towards zero and ``%`` takes the sign of the left
operand. ``/`` of integers is a division of fp32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith, tt
from tilewright.dialects import math as math_ops
from tilewright.language.tl.constants import full, to_tensor, zero_of
from tilewright.language.tl.conversion import convert, integer_cast
from tilewright.language.tl.dtypes import float32, int8, int64
from tilewright.language.tl.overflow import check_overflow
from tilewright.language.tl.promotion import promote_binary, promote_ternary
from tilewright.language.tl.tensor import emit, operator, tensor, tensor_method

_Binary: TypeAlias = Callable[[SSAValue, SSAValue], Operation]


@dataclass(frozen=True)
class _Ops:
    """The ops of an operation by the type of its operands; ``None`` where there is none."""

    floating: _Binary | None
    signed: _Binary | None
    unsigned: _Binary | None


_OPS: Mapping[str, _Ops] = {
    "add": _Ops(arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "sub": _Ops(arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "mul": _Ops(arith.MulfOp, arith.MuliOp, arith.MuliOp),
    "truediv": _Ops(arith.DivfOp, None, None),
    "floordiv": _Ops(None, arith.DivsiOp, arith.DivuiOp),
    "mod": _Ops(arith.RemfOp, arith.RemsiOp, arith.RemuiOp),
}


def _emit(name: str, lhs: tensor, rhs: tensor) -> tensor:
    ops, type = _OPS[name], lhs.dtype
    if type.is_floating():
        op = ops.floating
    else:
        op = ops.signed if type.is_int_signed() else ops.unsigned
    if op is None or not (type.is_floating() or type.is_int()):
        raise TypeError(f"unexpected type {type}" + _HINTS.get(name, ""))
    return emit(op(lhs.handle, rhs.handle), lhs.type)


_HINTS: Mapping[str, str] = {
    "floordiv": ": // divides integers; for floats write tl.floor(x / y)",
}


# Addition, subtraction, multiplication.


def _checked(name: str, lhs: tensor, rhs: tensor, sanitize_overflow: bool) -> tensor:
    if sanitize_overflow and lhs.dtype.is_int():
        check_overflow(name, lhs, rhs, lambda a, b: _emit(name, a, b))
    return _emit(name, lhs, rhs)


@operator("add")
def add(x: object, y: object, sanitize_overflow: bool = True) -> tensor:
    """x + y."""
    lhs, rhs = promote_binary(x, y, allow_lhs_ptr=True, allow_rhs_ptr=True)
    if lhs.dtype.is_ptr() and rhs.dtype.is_ptr():
        raise TypeError("cannot add pointers together: subtract them, or add an integer offset")
    if rhs.dtype.is_ptr():
        lhs, rhs = rhs, lhs
    if lhs.dtype.is_ptr():
        return _offset(lhs, rhs)
    return _checked("add", lhs, rhs, sanitize_overflow)


def _offset(pointer: tensor, offset: tensor) -> tensor:
    # The op reads its offset as signed: an unsigned one needs a bit more to stay positive.
    if offset.dtype.is_int_unsigned() and offset.dtype.int_bitwidth < 64:
        offset = integer_cast(offset, int64, signed=False)
    return emit(tt.AddPtrOp(pointer.handle, offset.handle), pointer.type)


@operator("sub")
def sub(x: object, y: object, sanitize_overflow: bool = True) -> tensor:
    """x - y."""
    lhs, rhs = promote_binary(x, y, allow_lhs_ptr=True)
    if lhs.dtype.is_ptr():
        return add(lhs, negate(rhs), sanitize_overflow=False)
    return _checked("sub", lhs, rhs, sanitize_overflow)


@operator("mul")
def mul(x: object, y: object, sanitize_overflow: bool = True) -> tensor:
    """x * y."""
    lhs, rhs = promote_binary(x, y)
    return _checked("mul", lhs, rhs, sanitize_overflow)


@operator("neg")
def negate(x: tensor) -> tensor:
    """-x: the difference from 0 for integers, the other sign for floats."""
    if x.dtype.is_ptr():
        raise ValueError(f"wrong type argument to unary minus ({x.dtype!r})")
    if x.dtype.is_floating():
        return emit(arith.NegfOp(x.handle), x.type)
    return sub(zero_of(x.dtype), x)


# Division.


@operator("truediv")
def truediv(x: object, y: object) -> tensor:
    """x / y, of fp32 if both are integers."""
    lhs, rhs = promote_binary(x, y, div_or_mod=True)
    if lhs.dtype.is_int():
        lhs, rhs = convert(lhs, float32), convert(rhs, float32)
    return _emit("truediv", lhs, rhs)


@operator("floordiv")
def floordiv(x: object, y: object) -> tensor:
    """x // y of integers, towards zero."""
    return _emit("floordiv", *promote_binary(x, y, div_or_mod=True))


@operator("mod")
def mod(x: object, y: object) -> tensor:
    """The remainder of x / y, with the sign of x."""
    return _emit("mod", *promote_binary(x, y, div_or_mod=True))


# Functions of `tl.math` that are arithmetic.


@tensor_method
def abs(x: object) -> tensor:
    """The absolute value of x."""
    value = to_tensor(x)
    if value.dtype.is_fp8e4b15():
        mask = full(value.shape, 0x7F, int8)
        return emit(arith.AndiOp(value.handle, mask.handle), value.type)
    if value.dtype.is_floating():
        return emit(math_ops.AbsfOp(value.handle), value.type)
    if value.dtype.is_int_signed():
        return emit(math_ops.AbsiOp(value.handle), value.type)
    if value.dtype.is_int_unsigned():
        return value
    raise TypeError(f"Unexpected dtype {value.dtype}: a pointer has no absolute value")


def fma(x: object, y: object, z: object) -> tensor:
    """x * y + z with one rounding."""
    a, b, c = promote_ternary(x, y, z)
    if not a.dtype.is_floating():
        raise TypeError(f"fma takes floats, got {a.dtype}: write x * y + z for integers")
    return emit(math_ops.FmaOp(a.handle, b.handle, c.handle), a.type)


_UMULHI_TYPES = ("int32", "int64", "uint32", "uint64")


def umulhi(x: object, y: object) -> tensor:
    """The upper half of the bits of x * y, both read as unsigned."""
    for value in (x, y):
        if isinstance(value, tensor) and value.dtype.name not in _UMULHI_TYPES:
            raise ValueError(f"Expected dtype {list(_UMULHI_TYPES)} but got {value.dtype}")
    lhs, rhs = promote_binary(x, y)
    return emit(tt.MulhiUIOp(lhs.handle, rhs.handle), lhs.type)
