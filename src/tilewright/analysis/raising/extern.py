"""Functions of the device library that have a form at tile level, by their plain name.

``__nv_tanhf`` and ``__ocml_tanh_f32`` are ``tanh``. ``passes/raising/library.py`` has their code.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import AnyFloat, Float32Type, IntegerType
from xdsl.ir import Attribute

from tilewright.dialects.tt import ExternElementwiseOp
from tilewright.dialects.type_utils import element_type_of

_NAME = re.compile(r"__(?:nv|ocml)_(?:fast_)?(?P<name>[a-z0-9]+?)f?(?:_f32|_f64)?$")

FLOAT_FUNCTIONS = frozenset(
    (
        *("acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "erf", "exp", "exp2"),
        *("expm1", "fabs", "floor", "fma", "fmod", "log", "log10", "log1p", "log2", "pow", "rint"),
        *("rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
    )
)
"""Of floats, with a float as result."""

PREDICATES = frozenset(("isnan", "isinf", "isfinite"))
"""Of one float, with an integer as result."""


def library_name(op: ExternElementwiseOp) -> str | None:
    """The function that an op calls; None if it has no form at tile level."""
    found = _NAME.match(op.symbol.data)
    if found is None:
        return None
    name = found["name"]
    operands: list[Attribute] = [element_type_of(value.type) for value in op.operands]
    result = element_type_of(op.results[0].type)
    if name in FLOAT_FUNCTIONS:
        is_plain = all(isinstance(type, AnyFloat) for type in (*operands, result))
    elif name in PREDICATES:
        is_plain = isinstance(operands[0], AnyFloat) and isinstance(result, IntegerType)
    else:
        is_plain = name == "ldexp" and operands[0] == result == Float32Type()
    return name if is_plain else None
