"""Scalars of a kernel: `Expr`, an SSA value with its dtype, and how numbers become one.

Loop variables, block ids and sizes are ``index`` in the IR and int32 in the language; what comes
from memory has the type of the memory. ``index`` wins where they are combined, so that addresses
are computed in one type:

    bx * 64 + offsets[0]      %o = arith.index_cast %loaded : i32 to index
                              %s = arith.addi %scaled, %o : index

Conversion follows C: integers are extended by their own sign, floats are rounded to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any, NoReturn, Self, cast

from numpy import errstate
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from tilewright.dialects import arith
from tilewright.frontend.attributes import attribute_of
from tilewright.frontend.builder import insert
from tilewright.frontend.values import Value
from tilewright.language.T.dtypes import (
    DTYPES,
    boolean,
    float32,
    int32,
    int64,
    set_converter,
)
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.linear import Linear, of_constant
from tilewright.language.T.operators import Operators
from tilewright.language.T.symbols import Symbolic, set_materialiser

INDEX = IndexType()

LIMITS: Mapping[str, float] = {
    "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}
"""The largest finite value of each float."""

_INT32_MAX = 2**31 - 1


class Expr(Operators, Value):
    """A scalar of the kernel: an SSA value, and the dtype that the language sees."""

    def __init__(
        self,
        handle: SSAValue,
        dtype: Dtype,
        *,
        is_natural: bool = False,
        linear: Linear | None = None,
    ) -> None:
        self._handle = handle
        self.dtype = dtype
        self.is_natural = is_natural
        """Whether it is known not to be negative."""
        self._linear = linear

    @property
    def linear(self) -> Linear:
        """What it is built from, as far as integers go."""
        return Linear.atom(self.handle) if self._linear is None else self._linear

    @property
    def handle(self) -> SSAValue:
        return self._handle

    @property
    def is_index(self) -> bool:
        return isinstance(self.handle.type, IndexType)

    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return cast("Self", Expr(next(handles), self.dtype))

    def kind(self) -> object:
        return _Kind(self.dtype, self.handle.type)

    def agreement(self, other: Value) -> str:
        return f"convert one of them with T.cast, for example T.cast(value, {self.dtype!r})"

    def binary(self, operator: str, left: Any, right: Any) -> Any:
        return binary_operation(operator, left, right)

    def unary(self, operator: str) -> Any:
        return unary_operation(operator, self)

    def astype(self, dtype: object) -> Expr:
        """The value converted to another dtype."""
        return convert(self, Dtype(dtype))

    def undecided(self) -> str:
        return (
            f"a run-time value of type {self.dtype} is used where Python requires a constant: "
            "use if, and, or, not in the kernel function itself, T.if_then_else to choose, "
            "T.cast to convert"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(f"a value of type {self.dtype} is a scalar: it has no items")

    def __len__(self) -> NoReturn:
        raise TypeError(f"a value of type {self.dtype} is a scalar: it has no len()")

    def __repr__(self) -> str:
        return f"<{self.dtype} of the kernel>"


class _Kind:
    """What must agree where two scalars are merged; shown by its dtype."""

    def __init__(self, dtype: Dtype, type: Attribute) -> None:
        self._parts = (str(dtype), type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __str__(self) -> str:
        return self._parts[0]


# -- numbers -----------------------------------------------------------------------------------


def is_python_scalar(value: object) -> bool:
    """Whether `value` is a number of Python or NumPy."""
    return isinstance(value, (int, float, Integral, Real)) and not isinstance(value, Operators)


def scalar_dtype(value: object) -> Dtype:
    """The dtype of a Python scalar without another operand."""
    if isinstance(value, bool):
        return boolean
    if isinstance(value, Integral):
        integer = int(value)
        return int32 if -_INT32_MAX - 1 <= integer <= _INT32_MAX else int64
    return float32


def constant(value: object, dtype: Dtype, *, as_index: bool = False) -> Expr:
    """A number as a value of the kernel."""
    scalar = cast("Any", value)
    if as_index:
        type: Attribute = INDEX
        scalar = int(scalar)
    else:
        type = dtype.type
        if isinstance(type, IntegerType):
            scalar = int(scalar != 0) if dtype == boolean else _wrapped(int(scalar), dtype)
        else:
            scalar = float(scalar)
    _check_range(scalar, dtype)
    handle = emit(arith.ConstantOp.of(scalar, type))
    linear = of_constant(scalar) if isinstance(scalar, int) else None
    return Expr(handle, dtype, is_natural=bool(scalar >= 0), linear=linear)


def _check_range(value: int | float, dtype: Dtype) -> None:
    limit = LIMITS.get(dtype)
    if limit is not None and limit < abs(value) < inf and not _rounds_to(limit, value, dtype):
        raise ValueError(f"{value} exceeds maximum of {dtype}, which is {limit}")


def _rounds_to(limit: float, value: int | float, dtype: Dtype) -> bool:
    """Whether `number` is the largest value of `dtype`, written with fewer digits."""
    with errstate(all="ignore"):
        return abs(float(dtype.as_numpy().type(value))) == limit


def _wrapped(value: int, dtype: Dtype) -> int:
    """`number` as the signless constant with its bits."""
    bits = dtype.bits
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def emit(op: Any) -> OpResult:
    """The result of an op, inserted where the kernel is."""
    return insert(op).results[0]


def as_expr(value: object, dtype: Dtype | None = None) -> Expr:
    """A value of the kernel for `value`: numbers take `dtype`, or the one that suits them."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Symbolic):
        return symbol_value(value)
    if is_python_scalar(value):
        return constant(value, dtype or scalar_dtype(value))
    scalar = attribute_of(value, "as_scalar")
    if scalar is not None:
        return scalar()
    raise TypeError(f"expected a Python scalar or a value of the kernel, got {describe(value)}")


def describe(value: object) -> str:
    """A value in an error: short, without the text of a long object."""
    if isinstance(value, (Expr, Symbolic)) or value is None:
        return repr(value)
    text = repr(value)
    if len(text) > 60 or " at 0x" in text:
        return f"a value of type {type(value).__name__}"
    return text


def as_type(value: object, dtype: Dtype) -> SSAValue:
    """`value` as an SSA value of exactly the IR type of `dtype`."""
    if is_python_scalar(value):
        return constant(value, dtype).handle
    expression = convert(as_expr(value), dtype)
    return from_index(expression).handle


def as_index(value: object) -> int | SSAValue:
    """`value` as a number, or as an SSA value of type ``index``."""
    if isinstance(value, Integral) and not isinstance(value, Operators):
        return int(value)
    expression = as_expr(value)
    if expression.is_index:
        return expression.handle
    return index_expr(expression).handle


def index_expr(value: object) -> Expr:
    """`value` as an ``index``."""
    if is_python_scalar(value):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"an index must be an integer, got {value!r}")
        return constant(value, int32, as_index=True)
    expression = as_expr(value)
    if expression.is_index:
        return expression
    if not (expression.dtype.is_integer or expression.dtype == boolean):
        raise TypeError(
            f"an index must be an integer, got a value of type {expression.dtype}: convert it with "
            "T.cast(value, T.int32)"
        )
    op = arith.IndexCastuiOp if expression.dtype.is_unsigned else arith.IndexCastOp
    natural = expression.is_natural or expression.dtype.is_unsigned
    linear = expression.linear
    handle = emit(op(expression.handle, INDEX))
    return Expr(handle, int32, is_natural=natural, linear=linear)


def condition(value: object) -> SSAValue:
    """`value` as an ``i1``: zero is false."""
    return as_type(value, boolean)


def from_index(value: Expr) -> Expr:
    """`value` with the IR type of its dtype."""
    if not value.is_index:
        return value
    return Expr(
        emit(arith.IndexCastOp(value.handle, value.dtype.type)),
        value.dtype,
        is_natural=value.is_natural and not _is_computed(value.handle),
        linear=value.linear,
    )


def _is_computed(index: SSAValue) -> bool:
    """Whether an ``index`` may exceed an int32: variables, ids, sizes and constants do not."""
    seen, open_values = set[SSAValue](), [index]
    while open_values:
        value = open_values.pop()
        if value in seen:
            continue
        seen.add(value)
        match value.owner:
            case arith.AddiOp() | arith.MuliOp() | arith.ShliOp():
                return True
            case arith.RemsiOp() | arith.AndiOp() as op:
                open_values.append(op.operands[1])
            case Operation() as op if op.name.startswith("arith."):
                open_values.extend(op.operands)
            case _:
                pass
    return False


# -- conversion --------------------------------------------------------------------------------


def convert(value: object, dtype: Dtype) -> Expr:
    """`value` as a `dtype`."""
    if is_python_scalar(value):
        return constant(value, dtype)
    found = as_expr(value)
    if found.dtype == dtype:
        return found
    linear = found.linear if dtype.is_integer and found.dtype.bits <= dtype.bits else None
    if found.is_index:
        # What is computed of variables is an int32, and may have been too large for one.
        is_variable = isinstance(found.handle, BlockArgument)
        if is_variable and dtype in (int64, DTYPES["uint64"]):
            handle = emit(arith.IndexCastOp(found.handle, dtype.type))
            return Expr(handle, dtype, is_natural=found.is_natural, linear=linear)
        found = from_index(found)
    natural = _stays_natural(found, dtype)
    return Expr(_converted(found, dtype), dtype, is_natural=natural, linear=linear)


def _stays_natural(value: Expr, to: Dtype) -> bool:
    """Whether a natural number is one after a conversion: not if its highest bit becomes a sign."""
    source = value.dtype
    if source == boolean or to.is_unsigned:
        return True
    if not (source.is_integer and to.is_integer):
        return False
    if source.is_unsigned:
        return to.bits > source.bits
    return value.is_natural and to.bits >= source.bits


def _converted(value: Expr, to: Dtype) -> SSAValue:
    source = value.dtype
    check_conversion(source, to)
    if to == boolean:
        return _is_not_zero(value)
    if source.is_float and to.is_float:
        return _float_to_float(value.handle, source, to)
    if source.is_float:
        op = arith.FptouiOp if to.is_unsigned else arith.FptosiOp
        return emit(op(_widened(value.handle, source), to.type))
    if to.is_float:
        op = arith.UitofpOp if source.is_unsigned else arith.SitofpOp
        return emit(op(value.handle, to.type))
    if source.type == to.type:
        return value.handle
    if source.bits < to.bits:
        op = arith.ExtuiOp if source.is_unsigned else arith.ExtsiOp
        return emit(op(value.handle, to.type))
    return emit(arith.TrunciOp(value.handle, to.type))


def check_conversion(source: Dtype, to: Dtype) -> None:
    """Values of some types are known by their bits only."""
    if source == to:
        return
    for each in (source, to):
        if each == "handle" or (each.is_float and isinstance(each.type, IntegerType)):
            raise TypeError(
                f"cannot convert {source} to {to} by value: {each} has no conversion. Use "
                "T.reinterpret, or external code with T.call_extern"
            )


def _is_not_zero(value: Expr) -> SSAValue:
    zero = constant(0, value.dtype).handle
    if value.dtype.is_float:
        return emit(arith.CmpfOp("une", value.handle, zero))
    return emit(arith.CmpiOp("ne", value.handle, zero))


def _widened(handle: SSAValue, source: Dtype) -> SSAValue:
    """Small floats as float32, from which integers are made."""
    return handle if source.bits >= 16 else emit(arith.ExtfOp(handle, float32.type))


def _float_to_float(handle: SSAValue, source: Dtype, to: Dtype) -> SSAValue:
    if source.type == to.type:
        return handle
    if source.bits < to.bits:
        return emit(arith.ExtfOp(handle, to.type))
    if source.bits > to.bits:
        return emit(arith.TruncfOp(handle, to.type))
    wide = emit(arith.ExtfOp(handle, float32.type))
    return emit(arith.TruncfOp(wide, to.type))


# -- what other modules do ---------------------------------------------------------------------


def binary_operation(operator: str, left: Any, right: Any) -> Any:
    """``left operator right``; see `arithmetic`, which builds on this module."""
    from tilewright.language.T.arithmetic import binary

    return binary(operator, left, right)


def unary_operation(operator: str, value: Expr) -> Any:
    from tilewright.language.T.arithmetic import unary

    return unary(operator, value)


def symbol_value(size: Symbolic) -> Expr:
    """A size as a value of the kernel being traced."""
    from tilewright.language.T.session import size_value

    return size_value(size)


set_converter(lambda value, dtype: convert(value, dtype) if _in_kernel(value) else value)
set_materialiser(symbol_value)


def _in_kernel(value: object) -> bool:
    """Whether a constant can be a value of a kernel; outside it stays a number."""
    from tilewright.frontend.builder import is_tracing

    return is_tracing() or isinstance(value, Expr)
