"""Operators on scalars of a kernel: which type they are computed in, and with which op.

    int and float          the float
    floats                 the one with more bits
    integers               the one with more bits; of one size, the signed one
    index and int32        index

Python scalars are int32 or float32, or the type of the other operand if that is wider. Integers are
divided with ``//``, which rounds down, as ``%`` does; ``/`` is for floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Final, cast

from xdsl.ir import SSAValue

from tilewright.dialects import arith, math
from tilewright.frontend.attributes import has_attribute
from tilewright.language.T.dtypes import boolean, float32, int32
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    Expr,
    as_expr,
    as_type,
    constant,
    convert,
    describe,
    emit,
    from_index,
    index_expr,
    is_python_scalar,
    scalar_dtype,
)
from tilewright.language.T.linear import combined
from tilewright.language.T.symbols import Symbolic

_INTEGER: Final[Mapping[str, Any]] = {
    "+": arith.AddiOp,
    "-": arith.SubiOp,
    "*": arith.MuliOp,
    "&": arith.AndiOp,
    "|": arith.OriOp,
    "^": arith.XoriOp,
    "<<": arith.ShliOp,
}
_SIGNED: Final[Mapping[str, tuple[Any, Any]]] = {
    "//": (arith.FloordivsiOp, arith.DivuiOp),
    ">>": (arith.ShrsiOp, arith.ShruiOp),
    "min": (arith.MinsiOp, arith.MinuiOp),
    "max": (arith.MaxsiOp, arith.MaxuiOp),
    "ceildiv": (arith.CeildivsiOp, arith.CeildivuiOp),
    "truncdiv": (arith.DivsiOp, arith.DivuiOp),
    "truncmod": (arith.RemsiOp, arith.RemuiOp),
}
"""Ops for signed and for unsigned integers."""
_FLOAT: Final[Mapping[str, Any]] = {
    "+": arith.AddfOp,
    "-": arith.SubfOp,
    "*": arith.MulfOp,
    "/": arith.DivfOp,
    "**": math.PowfOp,
    "min": arith.MinnumfOp,
    "max": arith.MaxnumfOp,
    "truncmod": arith.RemfOp,
}
_COMPARED: Final[Mapping[str, tuple[str, str, str]]] = {
    "<": ("slt", "ult", "olt"),
    "<=": ("sle", "ule", "ole"),
    ">": ("sgt", "ugt", "ogt"),
    ">=": ("sge", "uge", "oge"),
    "==": ("eq", "eq", "oeq"),
    "!=": ("ne", "ne", "une"),
}
_BITS: Final = ("&", "|", "^", "<<", ">>")
_STAYS_NATURAL: Final = ("//", "|", ">>", "min", "max", "ceildiv", "truncdiv", "truncmod")
"""What takes two natural numbers to a third, in any number of bits."""
_NATURAL_UNLESS_IT_WRAPS: Final = ("+", "*", "<<")
_NATURAL_BY_ONE: Final = ("&", "max")
"""One natural operand is enough: its sign bit, or the operand itself, bounds the result."""


def promoted(one: Dtype, other: Dtype) -> Dtype:
    """The dtype in which two values are computed.

    Of two integers it is the wider one, of the same width the unsigned one, as in TIR and in C:
    numbers are int32, so that ``x >> 16`` and ``x // 3`` of a uint32 stay unsigned.
    """
    if one == other:
        return one
    if one.is_float != other.is_float:
        return one if one.is_float else other
    if one == boolean or other == boolean:
        return other if one == boolean else one
    if one.bits != other.bits:
        return one if one.bits > other.bits else other
    if one.is_float:
        return float32
    return one if one.is_unsigned else other


def common_dtype(left: Any, right: Any) -> Dtype:
    return promoted(_dtype_of(left), _dtype_of(right))


def _dtype_of(value: Any) -> Dtype:
    return scalar_dtype(value) if is_python_scalar(value) else as_expr(value).dtype


def operands(left: Any, right: Any, dtype: Dtype) -> tuple[Expr, Expr]:
    """Two values as `dtype`, of one IR type: index if one of them is."""
    uses_index = dtype == int32 and any(_is_index(value) for value in (left, right))
    if uses_index:
        return index_expr(left), index_expr(right)
    return _operand(left, dtype), _operand(right, dtype)


def _is_index(value: Any) -> bool:
    return isinstance(value, Symbolic) or (isinstance(value, Expr) and value.is_index)


def _operand(value: Any, dtype: Dtype) -> Expr:
    found = convert(value, dtype)
    linear = found.linear if dtype.is_integer else None
    return Expr(as_type(found, dtype), dtype, is_natural=found.is_natural, linear=linear)


def _supported(value: Any) -> bool:
    return (
        is_python_scalar(value)
        or isinstance(value, (Expr, Symbolic))
        or has_attribute(value, "as_scalar")
    )


def binary(operator: str, left: Any, right: Any) -> Any:
    """``left operator right`` of scalars."""
    if not (_supported(left) and _supported(right)):
        if operator in ("==", "!=") and (left is None or right is None):
            return operator == "!="
        raise TypeError(f"{operator} cannot take {describe(left)} and {describe(right)}")
    left, right = _scalar(left), _scalar(right)
    neutral = _neutral(operator, left, right)
    if neutral is not None:
        return neutral
    dtype = common_dtype(left, right)
    if operator in _COMPARED:
        return compare(operator, left, right, dtype)
    if dtype == boolean and operator not in ("&", "|", "^"):
        dtype = int32
    return _computed(operator, left, right, dtype)


def _scalar(value: Any) -> Any:
    return value if is_python_scalar(value) or isinstance(value, Symbolic) else as_expr(value)


def _neutral(operator: str, left: Any, right: Any) -> Any:
    """``x + 0`` and the like, which need no op; None for anything else.

    The type is that of ``x + 1``, and a variable is read now, as for any other number.
    """
    if isinstance(left, Expr) and isinstance(right, Integral) and left.dtype.is_integer:
        keeps = (operator in ("+", "-", "<<", ">>") and right == 0) or (
            operator in ("*", "//") and right == 1
        )
        operand = left
    elif isinstance(right, Expr) and isinstance(left, Integral) and right.dtype.is_integer:
        keeps = (operator == "+" and left == 0) or (operator == "*" and left == 1)
        operand = right
    else:
        return None
    if not keeps or common_dtype(left, right) != operand.dtype:
        return None
    read = getattr(operand, "value", None)  # of an element
    return operand if read is None else read()


def compare(operator: str, left: Any, right: Any, dtype: Dtype) -> Expr:
    first, second = operands(left, right, dtype)
    signed, unsigned, ordered = _COMPARED[operator]
    if dtype.is_float:
        return Expr(emit(arith.CmpfOp(ordered, first.handle, second.handle)), boolean)
    predicate = unsigned if dtype.is_unsigned else signed
    return Expr(emit(arith.CmpiOp(predicate, first.handle, second.handle)), boolean)


def _computed(operator: str, left: Any, right: Any, dtype: Dtype) -> Expr:
    if dtype.is_float:
        return _floats(operator, *operands(left, right, dtype), dtype)
    if operator == "/":
        raise TypeError(
            f"/ of two integers ({_dtype_of(left)} and {_dtype_of(right)}) is ambiguous: write // "
            "to round down, or convert one of them with T.cast(value, T.float32)"
        )
    if operator == "**":
        return _integer_power(left, right, dtype)
    first, second = operands(left, right, dtype)
    natural = _is_natural(operator, first, second)
    if operator == "%":
        return _modulo(first, second, right)
    if operator in _SIGNED:
        op = _SIGNED[operator][dtype.is_unsigned]
    else:
        op = _INTEGER[operator]
    linear = combined(operator, first.linear, second.linear)
    return Expr(emit(op(first.handle, second.handle)), dtype, is_natural=natural, linear=linear)


def _is_natural(operator: str, first: Expr, second: Expr) -> bool:
    """Whether an integer is known to be natural from its operands alone.

    Additions, multiplications and shifts wrap around to negative numbers in the bits of a dtype. An
    ``index`` is wide enough for those of sizes and loop variables.
    """
    naturals = (first.is_natural, second.is_natural)
    if operator in _NATURAL_BY_ONE and any(naturals):
        return True
    if operator in _NATURAL_UNLESS_IT_WRAPS:
        return all(naturals) and first.is_index
    return all(naturals) and operator in _STAYS_NATURAL


def _floats(operator: str, first: Expr, second: Expr, dtype: Dtype) -> Expr:
    if operator in _BITS:
        raise TypeError(
            f"{operator} is for integers, got {dtype}: use T.reinterpret to access the bits"
        )
    if operator in ("//", "%", "ceildiv"):
        quotient = emit(arith.DivfOp(first.handle, second.handle))
        rounded = emit((math.CeilOp if operator == "ceildiv" else math.FloorOp)(quotient))
        if operator != "%":
            return Expr(rounded, dtype)
        whole = emit(arith.MulfOp(rounded, second.handle))
        return Expr(emit(arith.SubfOp(first.handle, whole)), dtype)
    return Expr(emit(_FLOAT[operator](first.handle, second.handle)), dtype)


def _modulo(first: Expr, second: Expr, divisor: Any) -> Expr:
    """``%`` rounds down: the remainder has the sign of the divisor."""
    dtype = first.dtype
    linear = combined("%", first.linear, second.linear)
    if dtype.is_unsigned:
        rest = emit(arith.RemuiOp(first.handle, second.handle))
        return Expr(rest, dtype, is_natural=True, linear=linear)
    remainder = emit(arith.RemsiOp(first.handle, second.handle))
    if first.is_natural and second.is_natural:
        return Expr(remainder, dtype, is_natural=True, linear=linear)
    positive = isinstance(divisor, Integral) and cast("int", divisor) > 0
    zero = constant(0, dtype, as_index=first.is_index).handle
    wrong = emit(arith.CmpiOp("slt", remainder, zero))
    if not positive:
        is_negative = emit(arith.CmpiOp("slt", second.handle, zero))
        is_rest = emit(arith.CmpiOp("ne", remainder, zero))
        differs = emit(arith.XoriOp(wrong, is_negative))
        wrong = emit(arith.AndiOp(differs, is_rest))
    moved = emit(arith.AddiOp(remainder, second.handle))
    rest = emit(arith.SelectOp(wrong, moved, remainder))
    return Expr(rest, dtype, is_natural=positive, linear=linear)


def _integer_power(left: Any, right: Any, dtype: Dtype) -> Expr:
    first, second = operands(left, right, dtype)
    plain = [as_type(each, dtype) for each in (first, second)]
    return Expr(emit(math.IpowiOp(plain[0], plain[1])), dtype)


def minimum(left: Any, right: Any) -> Any:
    return _extreme("min", left, right)


def maximum(left: Any, right: Any) -> Any:
    return _extreme("max", left, right)


def _extreme(op_name: str, left: Any, right: Any) -> Any:
    if is_python_scalar(left) and is_python_scalar(right):
        return (min if op_name == "min" else max)(left, right)
    return _named(op_name, left, right)


def ceil_division(left: Any, right: Any) -> Any:
    return _named("ceildiv", left, right)


def truncated(op_name: str, left: Any, right: Any) -> Any:
    """``truncdiv`` and ``truncmod``: rounding towards zero, as C does."""
    return _named(op_name, left, right)


def _named(op_name: str, left: Any, right: Any) -> Expr:
    if not (_supported(left) and _supported(right)):
        raise TypeError(f"{op_name} cannot take {describe(left)} and {describe(right)}")
    left, right = _scalar(left), _scalar(right)
    dtype = common_dtype(left, right)
    return _computed(op_name, left, right, int32 if dtype == boolean else dtype)


def unary(operator: str, value: Expr) -> Expr:
    """``-x``, ``~x``, ``abs(x)``."""
    found = Expr(value.handle, value.dtype, is_natural=value.is_natural)
    dtype = found.dtype
    if dtype == boolean and operator != "~":
        found, dtype = convert(found, int32), int32
    match operator:
        case "-" if dtype.is_float:
            return Expr(emit(arith.NegfOp(found.handle)), dtype)
        case "-":
            zero = constant(0, dtype, as_index=found.is_index)
            linear = None if dtype.is_unsigned else value.linear.scaled(-1)
            return Expr(emit(arith.SubiOp(zero.handle, found.handle)), dtype, linear=linear)
        case "~" if dtype.is_float:
            raise TypeError(f"~ is for integers, got {dtype}: use T.reinterpret to access the bits")
        case "~":
            ones = constant(1 if dtype == boolean else -1, dtype, as_index=found.is_index)
            return Expr(emit(arith.XoriOp(found.handle, ones.handle)), dtype)
        case _:
            return absolute(found)


def absolute(value: Expr) -> Expr:
    if value.dtype.is_float:
        return Expr(emit(math.AbsfOp(value.handle)), value.dtype)
    if value.dtype.is_unsigned or from_index(value).is_natural:
        return value
    # Not natural: the magnitude of the least integer is that integer.
    plain: SSAValue = as_type(value, value.dtype)
    return Expr(emit(math.AbsiOp(plain)), value.dtype)
