"""Integer arithmetic: what wraps around in NumPy as it does in the IR is written as it is.

Sums of integers that spread over axes (`rows[:, None] + cols[None, :]`) keep their terms besides,
for addresses. A sum of 32-bit terms that overflows is then not wrapped around; `kernel.py` runs
code without terms where memory is so large that this could matter, and again where an address that
was made so is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import Operation

from tilewright.dialects.type_utils import rank_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.elementwise import elementwise, exprs_of
from tilewright.targets.numpy.values import (
    NO_QUOTIENT,
    PROGRAM,
    Expr,
    Shadow,
    Shadows,
    Tensor,
    shadows_of,
)

_MIN_TERM_BITS = 32

_PLAIN: Mapping[str, str] = {
    "arith.shli": "{0} << {1}",
    "arith.shrsi": "{0} >> {1}",
    "arith.shrui": "shrui({0}, {1})",
    "arith.divsi": "divsi({0}, {1})",
    "arith.divui": "divui({0}, {1})",
    "arith.ceildivsi": "ceildivsi({0}, {1})",
    "arith.ceildivui": "ceildivui({0}, {1})",
    "arith.floordivsi": "floordivsi({0}, {1})",
    "arith.remsi": "remsi({0}, {1})",
    "arith.remui": "remui({0}, {1})",
    "arith.maxsi": "np.maximum({0}, {1})",
    "arith.minsi": "np.minimum({0}, {1})",
    "arith.maxui": "maxui({0}, {1})",
    "arith.minui": "minui({0}, {1})",
    "arith.ori": "{0} | {1}",
    "arith.xori": "{0} ^ {1}",
}
# Truth values: one bit, 1 is True; read as signed, True is -1.
_BOOL: Mapping[str, str] = {
    "arith.addi": "{0} ^ {1}",
    "arith.subi": "{0} ^ {1}",
    "arith.muli": "{0} & {1}",
    "arith.maxsi": "{0} & {1}",
    "arith.minsi": "{0} | {1}",
    "arith.maxui": "{0} | {1}",
    "arith.minui": "{0} & {1}",
    "arith.xori": "{0} ^ {1}",
    "arith.shli": "{0} & ~{1}",
    "arith.shrui": "{0} & ~{1}",
    "arith.shrsi": "{0} | ({0} & {1})",
    "arith.divui": "{0} | ~{1}",
    "arith.remui": "{0} & ~{1}",
}


DIVISIONS = frozenset(
    f"arith.{name}"
    for name in ("divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui")
)
_LITERAL = re.compile(r"i\d+\((-?\d+)\)")


def _is_bool(emitter: Emitter, op: Operation) -> bool:
    return emitter.scalar_type(op.results[0]).kind == "b"


def _rule(emitter: Emitter, op: Operation) -> None:
    table = _BOOL if _is_bool(emitter, op) else _PLAIN
    template = table.get(op.name)
    if template is None:
        raise emitter.unsupported(f"'{op.name}' is not defined for i1")
    elementwise(emitter, op, template)


def _division(emitter: Emitter, op: Operation) -> None:
    """Where the divisor is zero, the result is not defined."""
    _rule(emitter, op)
    result = op.results[0]
    divisor = emitter.expr(op.operands[1])
    if _is_nonzero(divisor):
        return
    value = emitter.tensor(result)
    defined = emitter.pure("{0} != 0", divisor, hint="divisible")
    shadow = Shadow(defined, op.location, NO_QUOTIENT)
    emitter.define(result, replace(value, shadows=(*value.shadows, shadow)))


def _constant(expr: Expr) -> int | None:
    match = None if expr.line is None else _LITERAL.fullmatch(expr.line.text)
    return None if match is None else int(match[1])


def _is_nonzero(expr: Expr) -> bool:
    """Whether an expression is a constant other than zero."""
    return bool(_constant(expr))


def is_positive(expr: Expr) -> bool:
    """Whether an expression is a constant greater than zero."""
    found = _constant(expr)
    return found is not None and found > 0


# Terms.


def merged(emitter: Emitter, terms: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Terms added up where they have the same live axes."""
    by_axes: dict[int, Expr] = {}
    for term in terms:
        known = by_axes.get(term.axes)
        by_axes[term.axes] = term if known is None else emitter.pure("{0} + {1}", known, term)
    return tuple(by_axes.values())


def _terms_of(value: Tensor, expr: Expr) -> tuple[Expr, ...]:
    return value.terms or (expr,)


def _spreads(a: Expr, b: Expr) -> bool:
    axes = a.axes | b.axes
    return a.axes != axes and b.axes != axes


def _add_terms(emitter: Emitter, lhs: Tensor, rhs: Tensor, a: Expr, b: Expr) -> tuple[Expr, ...]:
    if not (lhs.terms or rhs.terms or _spreads(a, b)):
        return ()
    return merged(emitter, (*_terms_of(lhs, a), *_terms_of(rhs, b)))


def _scale_terms(emitter: Emitter, value: Tensor, factor: Expr) -> tuple[Expr, ...]:
    """A sum times a number that is the same for all elements."""
    if not value.terms or factor.axes & ~PROGRAM:
        return ()
    scaled = [emitter.pure("{0} * {1}", term, factor) for term in value.terms]
    return merged(emitter, tuple(scaled))


def _arithmetic(emitter: Emitter, op: Operation) -> None:
    """Addition, subtraction and multiplication."""
    type = emitter.scalar_type(op.results[0])
    if type.kind == "b":
        _rule(emitter, op)
        return
    lhs, rhs = (emitter.tensor(operand) for operand in op.operands)
    rank = rank_of(op.results[0].type)
    a, b = exprs_of(emitter, op.operands, rank)
    sign = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*"}[op.name]
    expr = emitter.pure(f"{{0}} {sign} {{1}}", a, b)
    terms: tuple[Expr, ...] = ()
    if rank and type.bits >= _MIN_TERM_BITS and emitter.unit.keeps_terms:
        if op.name == "arith.muli":
            terms = _scale_terms(emitter, lhs, b) or _scale_terms(emitter, rhs, a)
        else:
            if op.name == "arith.subi" and (lhs.terms or rhs.terms or _spreads(a, b)):
                negated = [emitter.pure("-{0}", term) for term in _terms_of(rhs, b)]
                rhs, b = Tensor(b, tuple(negated)), negated[0]
            terms = _add_terms(emitter, lhs, rhs, a, b)
        emitter.unit.has_terms |= bool(terms) and type.bits == _MIN_TERM_BITS
    shadows = emitter.shadows(*op.operands)
    emitter.define(op.results[0], Tensor(expr, terms, shadows=shadows))


# Conjunctions and disjunctions.


def implied(shadow: Shadow, terms: tuple[Expr, ...]) -> bool:
    """Whether one of `terms` implies what the shadow states."""
    return any(term.text == shadow.expr.text for term in terms)


def _decided(emitter: Emitter, lhs: Tensor, rhs: Tensor, by: str) -> Shadows:
    """Shadows of `&` or `|`: a defined operand that decides the result makes it defined."""
    if lhs.shadows and rhs.shadows:
        return emitter.joined(shadows_of(lhs, rhs))
    other, shadowed = (lhs, rhs) if rhs.shadows else (rhs, lhs)
    return tuple(
        each.on(emitter.pure(by, each.expr, other.expr))
        for each in shadowed.shadows
        if not (by == "{0} | ~{1}" and implied(each, other.mask_terms))
    )


def _and(emitter: Emitter, op: Operation) -> None:
    a, b = exprs_of(emitter, op.operands, rank_of(op.results[0].type))
    expr = emitter.pure("{0} & {1}", a, b)
    if not _is_bool(emitter, op):
        emitter.define(op.results[0], Tensor(expr, shadows=emitter.shadows(*op.operands)))
        return
    lhs, rhs = (emitter.tensor(operand) for operand in op.operands)
    conjuncts = dict.fromkeys((*lhs.mask_terms, *rhs.mask_terms))
    shadows = _decided(emitter, lhs, rhs, "{0} | ~{1}")
    emitter.define(op.results[0], Tensor(expr, (), tuple(conjuncts), shadows))


def _or(emitter: Emitter, op: Operation) -> None:
    if not _is_bool(emitter, op):
        _rule(emitter, op)
        return
    lhs, rhs = (emitter.tensor(operand) for operand in op.operands)
    a, b = exprs_of(emitter, op.operands, rank_of(op.results[0].type))
    shadows = _decided(emitter, lhs, rhs, "{0} | {1}")
    emitter.define(op.results[0], Tensor(emitter.pure("{0} | {1}", a, b), shadows=shadows))


# Two results.


def _pair(template: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        rank = rank_of(op.results[0].type)
        operands = exprs_of(emitter, op.operands, rank)
        low = emitter.pure(template.partition(" ; ")[0], *operands)
        high = emitter.pure(template.partition(" ; ")[2], *operands)
        shadows = emitter.shadows(*op.operands)
        emitter.define(op.results[0], Tensor(low, shadows=shadows))
        emitter.define(op.results[1], Tensor(high, shadows=shadows))

    return rule


RULES: dict[str, Rule] = {
    **dict.fromkeys(_PLAIN, _rule),
    **dict.fromkeys(DIVISIONS, _division),
    **dict.fromkeys(("arith.addi", "arith.subi", "arith.muli"), _arithmetic),
    "arith.andi": _and,
    "arith.ori": _or,
    "arith.addui_extended": _pair("{0} + {1} ; less_unsigned({0} + {1}, {0})"),
    "arith.subui_extended": _pair("{0} - {1} ; less_unsigned({0}, {1})"),
    "arith.mulsi_extended": _pair("{0} * {1} ; mulhisi({0}, {1})"),
    "arith.mului_extended": _pair("{0} * {1} ; mulhiui({0}, {1})"),
}
