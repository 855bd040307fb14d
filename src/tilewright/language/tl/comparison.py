"""Comparing, and choosing between values.

A comparison with NaN is false, except ``!=``. What `minimum`, `maximum` and `clamp` make of NaN is
set by `PropagateNan`: NONE gives the other operand, ALL gives NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from xdsl.ir import Operation

from tilewright.dialects import arith, tt
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import int1
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.promotion import (
    IncompatibleTypeErrorImpl,
    promote_binary,
    promote_ternary,
)
from tilewright.language.tl.tensor import emit, operator, tensor


class PropagateNan(Enum):
    """What becomes of NaN in a minimum, a maximum or a clamp."""

    NONE = "none"
    ALL = "all"


_PREDICATES: Mapping[str, tuple[str, str, str]] = {
    # for floats, signed and unsigned integers
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
}


def _compare(name: str, x: object, y: object) -> tensor:
    lhs, rhs = promote_binary(x, y)
    floating, signed, unsigned = _PREDICATES[name]
    operands = (lhs.handle, rhs.handle)
    op: Operation
    if lhs.dtype.is_floating():
        op = arith.CmpfOp(floating, *operands)
    else:
        op = arith.CmpiOp(signed if lhs.dtype.is_int_signed() else unsigned, *operands)
    return emit(op, lhs.type.with_element_ty(int1))


@operator("lt")
def less_than(x: object, y: object) -> tensor:
    """x < y."""
    return _compare("lt", x, y)


@operator("le")
def less_equal(x: object, y: object) -> tensor:
    """x <= y."""
    return _compare("le", x, y)


@operator("gt")
def greater_than(x: object, y: object) -> tensor:
    """x > y."""
    return _compare("gt", x, y)


@operator("ge")
def greater_equal(x: object, y: object) -> tensor:
    """x >= y."""
    return _compare("ge", x, y)


@operator("eq")
def equal(x: object, y: object) -> tensor:
    """x == y."""
    return _compare("eq", x, y)


@operator("ne")
def not_equal(x: object, y: object) -> tensor:
    """x != y."""
    return _compare("ne", x, y)


def where(condition: object, x: object, y: object) -> tensor:
    """Elements of x where `condition` holds, of y elsewhere; both are computed in any case."""
    chosen = to_tensor(condition)
    if chosen.dtype != int1:
        warn(
            "tl.where with a non-boolean condition is deprecated and will error out in a future "
            f"triton release. Got {chosen.dtype}",
        )
    chosen = convert(chosen, int1)
    on_true, on_false = promote_binary(x, y, allow_lhs_ptr=True, allow_rhs_ptr=True)
    if on_true.dtype != on_false.dtype:
        raise IncompatibleTypeErrorImpl(on_true.dtype, on_false.dtype, ": choose between pointers")
    if chosen.type.is_block():
        chosen, on_true = broadcast_values(chosen, on_true)
        on_true, on_false = broadcast_values(on_true, on_false)
    else:
        chosen, _ = broadcast_values(chosen, on_true)
    return emit(
        arith.SelectOp(chosen.handle, on_true.handle, on_false.handle),
        on_true.type,
    )


_EXTREMA: Mapping[str, tuple[Mapping[PropagateNan, type[arith.FloatBinaryOp]], type, type]] = {
    "minimum": (
        {PropagateNan.ALL: arith.MinimumfOp, PropagateNan.NONE: arith.MinnumfOp},
        arith.MinsiOp,
        arith.MinuiOp,
    ),
    "maximum": (
        {PropagateNan.ALL: arith.MaximumfOp, PropagateNan.NONE: arith.MaxnumfOp},
        arith.MaxsiOp,
        arith.MaxuiOp,
    ),
}


def _nan_rule(value: PropagateNan) -> PropagateNan:
    value = unwrap(value)
    if not isinstance(value, PropagateNan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"Unexpected propagate_nan {value!r}: use tl.PropagateNan.NONE or tl.PropagateNan.ALL"
        )
    return value


def _extremum(name: str, x: object, y: object, propagate_nan: PropagateNan) -> tensor:
    lhs, rhs = promote_binary(x, y)
    floating, signed, unsigned = _EXTREMA[name]
    if lhs.dtype.is_floating():
        op = floating[_nan_rule(propagate_nan)]
    else:
        op = signed if lhs.dtype.is_int_signed() else unsigned
    return emit(op(lhs.handle, rhs.handle), lhs.type)


def minimum(x: object, y: object, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The smaller of x and y, element by element."""
    return _extremum("minimum", x, y, propagate_nan)


def maximum(x: object, y: object, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The larger of x and y, element by element."""
    return _extremum("maximum", x, y, propagate_nan)


def clamp(
    x: object, min: object, max: object, propagate_nan: PropagateNan = PropagateNan.NONE
) -> tensor:
    """x limited to the range from `min` to `max`."""
    value, low, high = promote_ternary(x, min, max)
    if not value.dtype.is_floating():
        return minimum(maximum(value, low, propagate_nan), high, propagate_nan)
    rule = _nan_rule(propagate_nan)
    return emit(tt.ClampFOp(value.handle, low.handle, high.handle, rule.value), value.type)
