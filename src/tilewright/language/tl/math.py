"""Functions of floats, element by element: `tl.math`, all of them also in `tl`.

Devices compute these for fp32 and fp64 only. Narrower floats are refused rather than widened
silently; `x.to(tl.float32)` is explicit. A function is a row of `_UNARY`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith, tt
from tilewright.dialects import math as ops
from tilewright.language.tl.arithmetic import abs, fma, umulhi
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.promotion import promote_binary
from tilewright.language.tl.tensor import Operand, emit, tensor, tensor_method

_FLOATS = ("fp32", "fp64")
_Function: TypeAlias = Callable[[Operand], tensor]


def _check_types(values: Sequence[object], allowed: Sequence[str]) -> None:
    for value in values:
        if isinstance(value, tensor) and value.dtype.name not in allowed:
            raise ValueError(
                f"Expected dtype {list(allowed)} but got {value.dtype}: convert it first, with "
                ".to(tl.float32)"
            )


def _unary(
    name: str,
    op: Callable[[SSAValue], Operation],
    what: str,
    types: Sequence[str] = _FLOATS,
) -> _Function:
    def function(x: Operand) -> tensor:
        value = to_tensor(x)
        _check_types((value,), types)
        return emit(op(value.handle), value.type)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {what} of each element of `x`."
    return tensor_method(function)


exp = _unary("exp", ops.ExpOp, "exponential")
exp2 = _unary("exp2", ops.Exp2Op, "power of two")
log = _unary("log", ops.LogOp, "natural logarithm")
log2 = _unary("log2", ops.Log2Op, "binary logarithm")
cos = _unary("cos", ops.CosOp, "cosine")
sin = _unary("sin", ops.SinOp, "sine")
sqrt = _unary("sqrt", ops.SqrtOp, "approximate square root")
sqrt_rn = _unary("sqrt_rn", tt.PreciseSqrtOp, "correctly rounded square root", ("fp32",))
rsqrt = _unary("rsqrt", ops.RsqrtOp, "reciprocal of the square root")
erf = _unary("erf", ops.ErfOp, "error function")
floor = _unary("floor", ops.FloorOp, "next smaller integer")
ceil = _unary("ceil", ops.CeilOp, "next larger integer")


def fdiv(x: Operand, y: Operand, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """`x` divided by `y`, both floats.

    ieee_rounding: round to the nearest. approx: for fp32, a few units in the last place may be
    wrong, and denormals too.
    """
    if ieee_rounding and approx:
        raise ValueError("approx and ieee_rounding cannot both be True")
    lhs, rhs = promote_binary(x, y, div_or_mod=True)
    if not lhs.dtype.is_floating():
        raise TypeError(
            f"fdiv requires floating-point operands after type promotion, got {lhs.dtype}"
        )
    if approx and not lhs.dtype.is_fp32():
        raise ValueError(f"approx division requires float32 operands, got {lhs.dtype}")
    if approx:
        return emit(tt.ApproxDivFOp(lhs.handle, rhs.handle), lhs.type)
    if ieee_rounding:
        return emit(tt.PreciseDivFOp(lhs.handle, rhs.handle), lhs.type)
    return emit(arith.DivfOp(lhs.handle, rhs.handle), lhs.type)


def div_rn(x: Operand, y: Operand) -> tensor:
    """`x` divided by `y`, both fp32, correctly rounded."""
    _check_types((x, y), ("fp32",))
    lhs, rhs = promote_binary(x, y)
    return emit(tt.PreciseDivFOp(lhs.handle, rhs.handle), lhs.type)


__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]
