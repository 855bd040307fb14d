"""Functions of the device library that ``math`` has too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from tilewright.dialects import math
from tilewright.dialects.tt import ExternElementwiseOp
from tilewright.dialects.type_utils import element_type_of

_NAME = re.compile(r"__(?:nv|ocml)_(?:fast_)?(?P<name>[a-z0-9]+?)f?(?:_f32|_f64)?$")

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
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    "pow": math.PowfOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}


def library_op(op: ExternElementwiseOp) -> Callable[..., Operation] | None:
    """The op of ``math`` that computes the same; None if there is none."""
    found = _NAME.match(op.symbol.data)
    types = [element_type_of(value.type) for value in (*op.operands, *op.results)]
    if found is None or any(not isinstance(type, AnyFloat) for type in types):
        return None
    return _OPS.get(found["name"])
