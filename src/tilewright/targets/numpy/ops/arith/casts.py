"""Conversions of numbers. Integers keep their bits where they can; floats round once."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.targets.numpy.dtypes import ScalarType
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.elementwise import elementwise, is_narrow
from tilewright.targets.numpy.values import Expr, Tensor


def _types(emitter: Emitter, op: Operation) -> tuple[ScalarType, ScalarType]:
    return emitter.scalar_type(op.operands[0]), emitter.scalar_type(op.results[0])


def _converted(expr: Expr, name: str) -> str:
    """A conversion that loses nothing or wraps around."""
    return f"{name}({{0}})" if expr.is_scalar else f"{{0}}.astype({name})"


def _extsi(emitter: Emitter, op: Operation) -> None:
    source, target = _types(emitter, op)
    value = emitter.tensor(op.operands[0])
    template = _converted(value.expr, target.name)
    if source.kind == "b":
        elementwise(emitter, op, f"-{template}")
        return
    expr = emitter.pure(template, value.expr)
    terms = tuple(emitter.pure(_converted(term, target.name), term) for term in value.terms)
    emitter.define(op.results[0], Tensor(expr, terms, shadows=value.shadows))


def _extui(emitter: Emitter, op: Operation) -> None:
    source, target = _types(emitter, op)
    expr = emitter.expr(op.operands[0])
    if source.kind == "b":
        elementwise(emitter, op, _converted(expr, target.name))
        return
    view = f"{{0}}.view({source.unsigned})"
    widened = f"{target.name}({view})" if expr.is_scalar else f"{view}.astype({target.name})"
    elementwise(emitter, op, widened)


def _trunci(emitter: Emitter, op: Operation) -> None:
    source, target = _types(emitter, op)
    if target.kind == "b":
        elementwise(emitter, op, f"({{0}} & {source.name}(1)).astype(i1)")
    else:
        elementwise(emitter, op, f"{{0}}.astype({target.name})")


def _index_cast(emitter: Emitter, op: Operation) -> None:
    source, target = _types(emitter, op)
    if source.bits == target.bits:
        emitter.define(op.results[0], emitter.values[op.operands[0]])
    elif source.bits > target.bits:
        _trunci(emitter, op)
    else:
        (_extsi if op.name == "arith.index_cast" else _extui)(emitter, op)


def _extf(emitter: Emitter, op: Operation) -> None:
    source, target = _types(emitter, op)
    if target.name == "f32" and is_narrow(source):
        elementwise(emitter, op, "to_single({0})")
    else:
        elementwise(emitter, op, f"{{0}}.astype({target.name})")


def narrowed(emitter: Emitter, op: Operation, rounding: str = "rtne") -> None:
    """A float in a type with fewer bits, or other ones."""
    target = emitter.scalar_type(op.results[0])
    function = "narrow_rtz" if rounding == "rtz" else "narrow"
    elementwise(emitter, op, f"{function}({{0}}, {target.name})")


def _truncf(emitter: Emitter, op: Operation) -> None:
    mode = op.properties.get("roundingmode")
    if mode is None:
        narrowed(emitter, op)
        return
    rounding = _ROUNDING.get(str(getattr(getattr(mode, "value", None), "data", mode)))
    if rounding is None:
        raise emitter.unsupported(f"rounding mode {mode} has no counterpart in NumPy")
    narrowed(emitter, op, rounding)


_ROUNDING = {"0": "rtne", "3": "rtz"}
"""MLIR's numbers: to nearest even, toward zero."""


def _int_to_float(is_signed: bool) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        source, target = _types(emitter, op)
        if source.kind == "b":
            sign = "-" if is_signed else ""
            elementwise(emitter, op, f"{sign}{{0}}.astype({target.name})")
            return
        view = "" if is_signed else f".view({source.unsigned})"
        if target.kind == "f":
            elementwise(emitter, op, f"{{0}}{view}.astype({target.name})")
        else:
            elementwise(emitter, op, f"int_to_float({{0}}{view}, {target.name})")

    return rule


def _float_to_int(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        target = emitter.scalar_type(op.results[0])
        if target.kind == "b":
            elementwise(emitter, op, f"{function}({{0}}, i32).astype(i1)")
        else:
            elementwise(emitter, op, f"{function}({{0}}, {target.name})")

    return rule


def bitcast(emitter: Emitter, op: Operation) -> None:
    """The same bits as another type."""
    source, target = _types(emitter, op)
    if source is target:
        emitter.define(op.results[0], emitter.values[op.operands[0]])
    else:
        elementwise(emitter, op, f"{{0}}.view({target.name})")


RULES: dict[str, Rule] = {
    "arith.extsi": _extsi,
    "arith.extui": _extui,
    "arith.trunci": _trunci,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "arith.sitofp": _int_to_float(True),
    "arith.uitofp": _int_to_float(False),
    "arith.fptosi": _float_to_int("fptosi"),
    "arith.fptoui": _float_to_int("fptoui"),
    "arith.bitcast": bitcast,
}

CXX_RULES: dict[str, Rule] = {
    "arith.fptosi": _float_to_int("cast_signed"),
    "arith.fptoui": _float_to_int("cast_unsigned"),
}
"""Conversions of kernels that become C++: it has another idea of floats out of range."""
