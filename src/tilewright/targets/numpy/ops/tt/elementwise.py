"""`tt` ops that work element by element, device-library functions among them.

A device library has no code for a CPU, but most of its functions are functions of the standard
library of C, which NumPy has: those are taken by name (`__nv_tanhf`, `__ocml_tanh_f32` → `tanh`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from xdsl.ir import Operation

from tilewright.dialects.tt.elementwise import (
    ClampFOp,
    ElementwiseInlineAsmOp,
    ExternElementwiseOp,
    FpToFpOp,
)
from tilewright.dialects.tt.enums import PROPAGATE_NAN, ROUNDING
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.type_utils import element_type_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.casts import bitcast, narrowed
from tilewright.targets.numpy.ops.elementwise import (
    elementwise,
    float_rule,
    is_narrow,
    plain_rule,
)

_PLAIN_NAME = re.compile(r"^__(?:nv|ocml|ockl|triton_hip)_(?:fast_)?(?P<name>\w+?)(?:_[fiu]\d+)?$")

_LIBRARY: Mapping[str, str] = {
    "abs": "np.abs({0})",
    "acos": "np.arccos({0})",
    "acosh": "np.arccosh({0})",
    "asin": "np.arcsin({0})",
    "asinh": "np.arcsinh({0})",
    "atan": "np.arctan({0})",
    "atan2": "np.arctan2({0}, {1})",
    "atanh": "np.arctanh({0})",
    "cbrt": "np.cbrt({0})",
    "ceil": "np.ceil({0})",
    "clz": "ctlz({0})",
    "copysign": "np.copysign({0}, {1})",
    "cos": "np.cos({0})",
    "cosh": "np.cosh({0})",
    "cospi": "np.cos({0} * {0}.dtype.type(np.pi))",
    "erf": "erf({0})",
    "erfc": "erfc({0})",
    "exp": "np.exp({0})",
    "exp10": "np.power({0}.dtype.type(10), {0})",
    "exp2": "np.exp2({0})",
    "expm1": "np.expm1({0})",
    "fabs": "np.abs({0})",
    "fdim": "np.maximum({0} - {1}, {0}.dtype.type(0))",
    "fdiv": "{0} / {1}",
    "fdividef": "{0} / {1}",
    "floor": "np.floor({0})",
    "fma": "fma({0}, {1}, {2})",
    "fmax": "maxnumf({0}, {1})",
    "fmin": "minnumf({0}, {1})",
    "fmod": "np.fmod({0}, {1})",
    "hypot": "np.hypot({0}, {1})",
    "iabs": "np.abs({0})",
    "isfinite": "np.isfinite({0})",
    "isinf": "np.isinf({0})",
    "isnan": "np.isnan({0})",
    "finitef": "np.isfinite({0})",
    "isfinited": "np.isfinite({0})",
    "ldexp": "np.ldexp({0}, {1})",
    "llrint": "np.rint({0})",
    "log": "np.log({0})",
    "log10": "np.log10({0})",
    "log1p": "np.log1p({0})",
    "log2": "np.log2({0})",
    "max": "np.maximum({0}, {1})",
    "min": "np.minimum({0}, {1})",
    "mulhi": "mulhisi({0}, {1})",
    "nearbyint": "np.rint({0})",
    "nextafter": "np.nextafter({0}, {1})",
    "popc": "ctpop({0})",
    "popcount": "ctpop({0})",
    "popcll": "ctpop({0})",
    "pow": "powf({0}, {1})",
    "powi": "powf({0}, {1}.astype({0}.dtype))",
    "rcbrt": "{0}.dtype.type(1) / np.cbrt({0})",
    "rint": "np.rint({0})",
    "round": "round_away({0})",
    "rsqrt": "{0}.dtype.type(1) / np.sqrt({0})",
    "saturate": "np.fmin(np.fmax({0}, {0}.dtype.type(0)), {0}.dtype.type(1))",
    "signbit": "np.signbit({0})",
    "sin": "np.sin({0})",
    "sinh": "np.sinh({0})",
    "sinpi": "np.sin({0} * {0}.dtype.type(np.pi))",
    "sqrt": "np.sqrt({0})",
    "tan": "np.tan({0})",
    "tanh": "np.tanh({0})",
    "trunc": "np.trunc({0})",
    "umulhi": "mulhiui({0}, {1})",
}


def _library_template(symbol: str) -> str | None:
    match = _PLAIN_NAME.match(symbol)
    if match is None:
        return None
    name = match["name"]
    for symbol_name in (
        name,
        name.removesuffix("f"),
        name.removesuffix("d"),
        name.removesuffix("ll"),
    ):
        found = _LIBRARY.get(symbol_name)
        if found is not None:
            return found
    return None


def _extern(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExternElementwiseOp)
    symbol = op.symbol.data
    template = _library_template(symbol)
    if template is None:
        raise emitter.unsupported(
            f"the device-library function '{symbol}' has no counterpart in NumPy",
            "write it with tl operations, or compile for a GPU",
        )
    target = emitter.scalar_type(op.result)
    sources = [emitter.scalar_type(operand) for operand in op.srcs]
    if target.kind == "i" and any(source.kind == "f" for source in sources):
        template = f"({template}).astype({target.name})"  # predicates return integers
    elif is_narrow(target):
        template = f"narrow({_widened_floats(emitter, op, template)}, {target.name})"
    elementwise(emitter, op, template)


def _widened_floats(emitter: Emitter, op: Operation, template: str) -> str:
    """`template` with its narrow floats in single precision; integers stay."""
    return template.format(
        *[
            f"to_single({{{index}}})" if is_narrow(emitter.scalar_type(operand)) else f"{{{index}}}"
            for index, operand in enumerate(op.operands)
        ]
    )


def _inline_asm(emitter: Emitter, op: Operation) -> None:
    text = cast("ElementwiseInlineAsmOp", op).asm_string.data
    first = text.strip().splitlines()[0].strip() if text.strip() else text
    raise emitter.unsupported(
        f"inline assembly is not supported on target numpy: {first}",
        "write it with tl operations, or guard it so that only GPU targets compile it",
    )


def _fp_to_fp(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, FpToFpOp)
    source, target = emitter.scalar_type(op.src), emitter.scalar_type(op.result)
    rounding = "rtne" if op.rounding is None else ROUNDING.keyword(op.rounding)
    if rounding == "rs":
        raise emitter.unsupported("stochastic rounding is not supported on target numpy")
    if target.name == "f32" and is_narrow(source):
        elementwise(emitter, op, "to_single({0})")
    else:
        narrowed(emitter, op, rounding)


def _clampf(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ClampFOp)
    hands_on = PROPAGATE_NAN.keyword(op.propagate_nan) == "all"
    name = "clampf_nan" if hands_on else "clampf"
    elementwise(emitter, op, f"{name}({{0}}, {{1}}, {{2}})")


def _bitcast(emitter: Emitter, op: Operation) -> None:
    if isinstance(element_type_of(op.results[0].type), PtrType):
        emitter.define(op.results[0], emitter.values[op.operands[0]])
    else:
        bitcast(emitter, op)


RULES: dict[str, Rule] = {
    "tt.approx_divf": float_rule("{0} / {1}"),
    "tt.bitcast": _bitcast,
    "tt.clampf": _clampf,
    "tt.elementwise_inline_asm": _inline_asm,
    "tt.extern_elementwise": _extern,
    "tt.fp_to_fp": _fp_to_fp,
    "tt.mulhiui": plain_rule("mulhiui({0}, {1})"),
    "tt.precise_divf": float_rule("{0} / {1}"),
    "tt.precise_sqrt": float_rule("np.sqrt({0})"),
}
