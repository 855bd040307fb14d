"""Ops that do the same to every element: a template for each, filled in by one rule.

Floats narrower than `f32` are computed in single precision and rounded once. For sums,
multiplications, quotients and square roots that equals rounding the exact result: 24 bits are more
than twice the bits of any of them, plus one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.type_utils import rank_of
from tilewright.targets.numpy.dtypes import F16, ScalarType
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.values import Expr, Tensor


def is_narrow(type: ScalarType) -> bool:
    """Whether a float type is computed with in single precision."""
    return type.kind == "s" or type is F16


def widened(template: str, count: int) -> str:
    """`template` with operands in single precision."""
    return template.format(*[f"to_single({{{index}}})" for index in range(count)])


def exprs_of(emitter: Emitter, operands: Sequence[SSAValue], rank: int) -> list[Expr]:
    """The arrays of operands; a scalar among tensors gets their rank."""
    return [to_rank(emitter, emitter.expr(operand), rank) for operand in operands]


def to_rank(emitter: Emitter, expr: Expr, rank: int) -> Expr:
    """An expression with trailing axes added, so that it broadcasts to a tensor of `rank`."""
    if expr.is_scalar or expr.rank >= rank:
        return expr
    index = ", ".join([":"] * (expr.rank + 1) + ["None"] * (rank - expr.rank))
    return emitter.pure(f"{{0}}[{index}]", expr, rank=rank)


def elementwise(emitter: Emitter, op: Operation, template: str) -> None:
    """Write an op whose result is one expression of its operands."""
    result = op.results[0]
    exprs = exprs_of(emitter, op.operands, rank_of(result.type))
    expr = emitter.pure(template, *exprs)
    emitter.define(result, Tensor(expr, shadows=emitter.shadows(*op.operands)))


def float_rule(template: str) -> Rule:
    """The rule of a function of floats."""

    def rule(emitter: Emitter, op: Operation) -> None:
        type = emitter.scalar_type(op.results[0])
        text = template
        if is_narrow(type):
            text = f"narrow({widened(template, len(op.operands))}, {type.name})"
        elementwise(emitter, op, text)

    return rule


def plain_rule(template: str) -> Rule:
    """The rule of a function that is written the same for every type."""
    return lambda emitter, op: elementwise(emitter, op, template)
