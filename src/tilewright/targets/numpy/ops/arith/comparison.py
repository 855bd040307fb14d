"""Comparisons and `arith.select`.

Predicates of floats come in two kinds: ordered ones are false where a NaN takes part, unordered
ones true. Integers have signed and unsigned ones; on truth values, which are -1 and 0 when read as
signed, the two are opposite.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.arith import CmpfOp, CmpiOp, SelectOp
from tilewright.dialects.type_utils import rank_of, shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.integer import implied
from tilewright.targets.numpy.ops.elementwise import (
    elementwise,
    is_narrow,
    to_rank,
    widened,
)
from tilewright.targets.numpy.values import Expr, Pointer, Shadows, Tensor, by_origin

_SIGNS: Mapping[str, str] = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPPOSITE: Mapping[str, str] = {"lt": ">", "le": ">=", "gt": "<", "ge": "<="}

_FLOAT: Mapping[str, str] = {
    "false": "np.zeros(np.broadcast_shapes({0}.shape, {1}.shape), i1)[()]",
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "({0} < {1}) | ({0} > {1})",
    "ord": "({0} == {0}) & ({1} == {1})",
    "ueq": "~(({0} < {1}) | ({0} > {1}))",
    "ugt": "~({0} <= {1})",
    "uge": "~({0} < {1})",
    "ult": "~({0} >= {1})",
    "ule": "~({0} > {1})",
    "une": "{0} != {1}",
    "uno": "({0} != {0}) | ({1} != {1})",
    "true": "np.ones(np.broadcast_shapes({0}.shape, {1}.shape), i1)[()]",
}


def _cmpi(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CmpiOp)
    type = emitter.scalar_type(op.lhs)
    predicate = op.predicate_name
    if predicate in ("eq", "ne"):
        elementwise(emitter, op, "{0} == {1}" if predicate == "eq" else "{0} != {1}")
        return
    signed, order = predicate[0] == "s", predicate[1:]
    if type.kind == "b":
        template = f"{{0}} {(_OPPOSITE if signed else _SIGNS)[order]} {{1}}"
    elif signed:
        template = f"{{0}} {_SIGNS[order]} {{1}}"
    else:
        view = f"view({type.unsigned})"
        template = f"{{0}}.{view} {_SIGNS[order]} {{1}}.{view}"
    elementwise(emitter, op, template)


def _cmpf(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CmpfOp)
    template = _FLOAT[op.predicate_name]
    if is_narrow(emitter.scalar_type(op.lhs)):
        template = widened(template, 2)
    elementwise(emitter, op, template)


# Selection.


def _select(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SelectOp)
    result = op.results[0]
    rank, shape = rank_of(result.type), shape_of(result.type)
    condition = emitter.tensor(op.operands[0])
    cond = to_rank(emitter, condition.expr, rank)
    ways = [emitter.values[operand] for operand in op.operands[1:]]
    if all(isinstance(way, Pointer) for way in ways):
        _select_pointers(emitter, op, cond)
        return
    a, b = (emitter.expr(operand) for operand in op.operands[1:])
    expr = chosen(emitter, cond, a, b, shape)
    emitter.define(result, Tensor(expr, shadows=_chosen_shadows(emitter, op, cond)))


def chosen(emitter: Emitter, cond: Expr, a: Expr, b: Expr, shape: tuple[int, ...]) -> Expr:
    """One of two arrays by a condition."""
    if cond.is_scalar:
        # The condition picks a whole array: both must have the form of the result.
        axes = a.axes | b.axes
        a, b = emitter.grown(a, shape, axes), emitter.grown(b, shape, axes)
        return emitter.pure("{1} if {0} else {2}", cond, a, b)
    return emitter.pure("pick({0}, {1}, {2})", cond, a, b)


def _select_pointers(emitter: Emitter, op: Operation, cond: Expr) -> None:
    a, b = (emitter.values[operand] for operand in op.operands[1:])
    assert isinstance(a, Pointer) and isinstance(b, Pointer)
    shape = shape_of(op.results[0].type)
    one, other = (emitter.total(way.terms) for way in (a, b))
    expr = chosen(emitter, cond, one, other, shape)
    root = a.root if a.root == b.root else None
    emitter.define(op.results[0], Pointer((expr,), root, _chosen_shadows(emitter, op, cond)))


def _chosen_shadows(emitter: Emitter, op: Operation, cond: Expr) -> Shadows:
    """A lane is defined if the condition and the way that was chosen are."""
    condition = emitter.tensor(op.operands[0])
    rank, shape = rank_of(op.results[0].type), shape_of(op.results[0].type)
    a, b = (emitter.shadows(operand) for operand in op.operands[1:])
    found = {
        each.expr.text: each
        for each in (each.on(to_rank(emitter, each.expr, rank)) for each in condition.shadows)
    }
    # What both ways need is needed whichever is chosen.
    others = {each.expr.text for each in b}
    found.update({each.expr.text: each for each in a if each.expr.text in others})
    left = by_origin(
        each
        for each in a
        if each.expr.text not in found and not implied(each, condition.mask_terms)
    )
    right = by_origin(each for each in b if each.expr.text not in found)
    shadows = list(found.values())
    for origin in dict.fromkeys((*left, *right)):
        ways = left.get(origin, []), right.get(origin, [])
        one, other = (emitter.conjunction([each.expr for each in way]) for way in ways)
        if ways[0] and ways[1]:
            expr = chosen(emitter, cond, one, other, shape)
        elif ways[0]:
            expr = emitter.pure("{0} | ~{1}", one, cond)
        else:
            expr = emitter.pure("{0} | {1}", other, cond)
        shadows.append((ways[0] or ways[1])[0].on(expr))
    return emitter.joined(tuple(shadows))


RULES: dict[str, Rule] = {
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
}
