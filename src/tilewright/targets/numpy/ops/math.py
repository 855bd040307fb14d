"""The `math` dialect: NumPy's functions under their names, and the few it lacks."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.type_utils import rank_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.elementwise import (
    elementwise,
    exprs_of,
    float_rule,
    is_narrow,
    plain_rule,
    widened,
)
from tilewright.targets.numpy.values import Tensor

_FLOAT: Mapping[str, str] = {
    "math.acos": "np.arccos({0})",
    "math.acosh": "np.arccosh({0})",
    "math.asin": "np.arcsin({0})",
    "math.asinh": "np.arcsinh({0})",
    "math.atan": "np.arctan({0})",
    "math.atan2": "np.arctan2({0}, {1})",
    "math.atanh": "np.arctanh({0})",
    "math.cbrt": "np.cbrt({0})",
    "math.ceil": "np.ceil({0})",
    "math.copysign": "np.copysign({0}, {1})",
    "math.cos": "np.cos({0})",
    "math.cosh": "np.cosh({0})",
    "math.erf": "erf({0})",
    "math.erfc": "erfc({0})",
    "math.exp": "np.exp({0})",
    "math.exp2": "np.exp2({0})",
    "math.expm1": "np.expm1({0})",
    "math.floor": "np.floor({0})",
    "math.log": "np.log({0})",
    "math.log10": "np.log10({0})",
    "math.log1p": "np.log1p({0})",
    "math.log2": "np.log2({0})",
    "math.powf": "powf({0}, {1})",
    "math.round": "round_away({0})",
    "math.roundeven": "np.rint({0})",
    "math.sin": "np.sin({0})",
    "math.sinh": "np.sinh({0})",
    "math.softsign": "{0} / (1 + np.abs({0}))",
    "math.sqrt": "np.sqrt({0})",
    "math.tan": "np.tan({0})",
    "math.tanh": "np.tanh({0})",
    "math.trunc": "np.trunc({0})",
}
_PLAIN: Mapping[str, str] = {
    "math.absf": "np.abs({0})",
    "math.absi": "np.abs({0})",
    "math.clampf": "clampf_nan({0}, {1}, {2})",
    "math.ctlz": "ctlz({0})",
    "math.ctpop": "ctpop({0})",
    "math.cttz": "cttz({0})",
    "math.fma": "fma({0}, {1}, {2})",
    "math.ipowi": "ipowi({0}, {1})",
    "math.isfinite": "np.isfinite({0})",
    "math.isinf": "np.isinf({0})",
    "math.isnan": "np.isnan({0})",
}


def _rsqrt(emitter: Emitter, op: Operation) -> None:
    type = emitter.scalar_type(op.results[0])
    if is_narrow(type):
        elementwise(emitter, op, f"narrow(f32(1) / np.sqrt(to_single({{0}})), {type.name})")
    else:
        elementwise(emitter, op, f"{type.name}(1) / np.sqrt({{0}})")


def _fpowi(emitter: Emitter, op: Operation) -> None:
    type = emitter.scalar_type(op.results[0])
    if is_narrow(type):
        elementwise(emitter, op, f"narrow(powf(to_single({{0}}), {{1}}.astype(f32)), {type.name})")
    else:
        elementwise(emitter, op, f"powf({{0}}, {{1}}.astype({type.name}))")


def _isnormal(emitter: Emitter, op: Operation) -> None:
    min_normal = {"f16": "f32(2.0**-14)", "f64": "f64(2.0**-1022)"}
    type = emitter.scalar_type(op.operands[0])
    template = (
        f"np.isfinite({{0}}) & (np.abs({{0}}) >= {min_normal.get(type.name, 'f32(2.0**-126)')})"
    )
    elementwise(emitter, op, widened(template, 1) if is_narrow(type) else template)


def _sincos(emitter: Emitter, op: Operation) -> None:
    type = emitter.scalar_type(op.results[0])
    (x,) = exprs_of(emitter, op.operands, rank_of(op.results[0].type))
    shadows = emitter.shadows(*op.operands)
    for result, name in zip(op.results, ("sin", "cos"), strict=True):
        template = f"np.{name}({{0}})"
        if is_narrow(type):
            template = f"narrow({widened(template, 1)}, {type.name})"
        emitter.define(result, Tensor(emitter.pure(template, x), shadows=shadows))


RULES: dict[str, Rule] = {
    **{name: float_rule(template) for name, template in _FLOAT.items()},
    **{name: plain_rule(template) for name, template in _PLAIN.items()},
    "math.rsqrt": _rsqrt,
    "math.fpowi": _fpowi,
    "math.isnormal": _isnormal,
    "math.sincos": _sincos,
}
