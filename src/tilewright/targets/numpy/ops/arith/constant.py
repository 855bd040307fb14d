"""`arith.constant` and `ub.poison`.

Constants are module-level names that contain their value: `i32_64 = i32(64)`. A NumPy scalar of the
right type costs less in an expression than a Python literal, and never changes a result's type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.type_utils import element_type_of, rank_of, shape_of
from tilewright.ir.text.floats import float_bits
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.values import Expr, Pointer, Shadow, Tensor, all_axes

_NOT_NAME = re.compile(r"\W+")


def scalar_constant(
    emitter: Emitter, value: int | float, type: ScalarType, element: Attribute
) -> Expr:
    """A constant of a scalar type."""
    if type.kind == "b":
        return emitter.constant("np.True_" if value else "np.False_", "yes" if value else "no")
    if not isinstance(element, AnyFloat):
        wrapped = _wrapped(int(value), type.bits)
        return emitter.constant(f"{type.name}({wrapped})", _hint(type, str(wrapped)))
    if math.isnan(value):
        bits = float_bits(float(value), element)
        text = f"{type.unsigned}(0x{bits:x}).view({type.name})"
        return emitter.constant(text, f"{type.name}_nan")
    if math.isinf(value):
        sign = "-" if value < 0 else ""
        return emitter.constant(f"{type.name}({sign}np.inf)", _hint(type, f"{sign}inf"))
    digits = _digits(float(value), type)
    return emitter.constant(f"{type.name}({digits})", _hint(type, digits))


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _digits(value: float, type: ScalarType) -> str:
    """The shortest digits that stand for `value` in `type`."""
    short = str(type.dtype.type(value))
    if short == "-0":
        return "-0.0"  # an integer to Python otherwise, which has no such zero
    same = type.dtype.type(float(short)) == type.dtype.type(value)
    return (
        short if same and math.copysign(1, float(short)) == math.copysign(1, value) else repr(value)
    )


def _hint(type: ScalarType, digits: str) -> str:
    return f"{type.name}_{_NOT_NAME.sub('_', digits.removesuffix('.0').replace('-', 'm'))}"


def _constant(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ConstantOp)
    result, value = op.result, op.value
    type = emitter.scalar_type(result)
    element = element_type_of(result.type)
    if isinstance(value, SplatElementsAttr):
        value = value.scalar
    if isinstance(value, IntegerAttr | FloatAttr):
        emitter.define(result, Tensor(scalar_constant(emitter, value.value.data, type, element)))
    elif isinstance(value, DenseIntOrFPElementsAttr):
        emitter.define(
            result,
            Tensor(_dense(emitter, op, cast("Sequence[int | float]", value.get_values()), type)),
        )
    else:
        raise emitter.unsupported(
            f"constants of kind '{value.name}' are not supported on target numpy"
        )


def _dense(
    emitter: Emitter, op: ConstantOp, values: Sequence[int | float], type: ScalarType
) -> Expr:
    shape = shape_of(op.result.type)
    if len(values) == 1:
        return scalar_constant(emitter, values[0], type, element_type_of(op.result.type))
    if isinstance(element_type_of(op.result.type), IntegerType) and type.kind != "b":
        values = [_wrapped(int(value), type.bits) for value in values]
    listed = ", ".join("np.inf" if v == math.inf else "-np.inf" if v == -math.inf else
                       "np.nan" if v != v else repr(bool(v) if type.kind == "b" else v)
                       for v in values)  # fmt: skip
    text = f"np.array([{listed}], {type.name}).reshape({(1, *shape)})"
    return emitter.constant(text, emitter.hint, all_axes(shape), rank_of(op.result.type))


def zero(emitter: Emitter, type: Attribute) -> Expr:
    """The number 0 of a scalar type, False for truth values."""
    found = scalar_type(type)
    assert found is not None
    return scalar_constant(emitter, 0, found, element_type_of(type))


def undefined(emitter: Emitter, op: Operation) -> None:
    """A value that nothing may depend on."""
    shadow = Shadow(emitter.constant("np.False_", "no"), op.location, "this value is not defined")
    for result in op.results:
        if emitter.scalar_type(result).kind == "p":
            address = emitter.constant("i64(0)", "i64_0")
            emitter.define(result, Pointer((address,), None, (shadow,)))
        else:
            emitter.define(result, Tensor(zero(emitter, result.type), shadows=(shadow,)))


RULES: dict[str, Rule] = {"arith.constant": _constant, "ub.poison": undefined}
