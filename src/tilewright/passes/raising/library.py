"""Functions of the device library as ops of ``math`` and ``arith``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.extern import library_name
from tilewright.dialects import math
from tilewright.dialects.arith import (
    AddiOp,
    BitcastOp,
    ExtfOp,
    ExtsiOp,
    ExtuiOp,
    MaxsiOp,
    MinsiOp,
    MulfOp,
    RemfOp,
    ShliOp,
    TruncfOp,
)
from tilewright.dialects.tt import ExternElementwiseOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.passes.raising.builder import Builder

_OPS: Mapping[str, Callable[..., Operation]] = {
    "acos": math.AcosOp,
    "asin": math.AsinOp,
    "atan": math.AtanOp,
    "atan2": math.Atan2Op,
    "ceil": math.CeilOp,
    "copysign": math.CopysignOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.Expm1Op,
    "fabs": math.AbsfOp,
    "floor": math.FloorOp,
    "fma": math.FmaOp,
    "fmod": RemfOp,
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    "pow": math.PowfOp,
    "rint": math.RoundevenOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}
_PREDICATES: Mapping[str, Callable[..., Operation]] = {
    "isnan": math.IsnanOp,
    "isinf": math.IsinfOp,
    "isfinite": math.IsfiniteOp,
}

_LARGEST_SHIFT = 400
"""More than any exponent of f32 needs, and exact in f64."""
_BIAS, _MANTISSA = 1023, 52


def library_call(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, ExternElementwiseOp)
    name = library_name(op)
    assert name is not None
    if name in _PREDICATES:
        found = at.value(_PREDICATES[name](*operands))
        return at.value(ExtuiOp(found, element_type_of(op.results[0].type)))
    if name == "ldexp":
        return _ldexp(at, *operands)
    return at.value(_OPS[name](*operands))


def _ldexp(at: Builder, value: SSAValue, exponent: SSAValue) -> SSAValue:
    """``value * 2**exponent`` in f64, where it is exact; rounded once."""
    wide = at.value(ExtsiOp(exponent, i64))
    wide = at.value(MinsiOp(wide, at.constant(_LARGEST_SHIFT, i64)))
    wide = at.value(MaxsiOp(wide, at.constant(-_LARGEST_SHIFT, i64)))
    bits = at.value(
        ShliOp(at.value(AddiOp(wide, at.constant(_BIAS, i64))), at.constant(_MANTISSA, i64))
    )
    power = at.value(BitcastOp(bits, f64))
    return at.value(TruncfOp(at.value(MulfOp(at.value(ExtfOp(value, f64)), power)), f32))
