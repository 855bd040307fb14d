"""Constant evaluation of integer ops; None is an unknown value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.analysis.integers.unbounded import BINARY, COMPARISONS
from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.ir.interfaces import constant_value

MaybeInt = int | None
Rule = Callable[[Sequence[MaybeInt]], MaybeInt]


UNARY = frozenset(
    f"arith.{name}" for name in ("index_cast", "index_castui", "extsi", "extui", "trunci")
)
"""Changes of type, which leave the value as it is."""


def rule_of(op: Operation) -> Rule:
    """How an op computes its result from its operands; found once, used in every iteration."""
    constant = constant_value(op.results[0])
    if isinstance(constant, IntegerAttr):
        return _always(constant.value.data)
    if isinstance(op, SelectOp):
        return _selected
    if isinstance(op, CmpiOp):
        return _of_two(COMPARISONS[op.predicate_name])
    if op.name in BINARY:
        return _of_two(BINARY[op.name])
    return _first if op.name in UNARY else _always(None)


def _always(value: MaybeInt) -> Rule:
    return lambda operands: value


def _of_two(function: Callable[[int, int], int]) -> Rule:
    def rule(operands: Sequence[MaybeInt]) -> MaybeInt:
        left, right = operands
        return None if left is None or right is None else int(function(left, right))

    return rule


def _selected(operands: Sequence[MaybeInt]) -> MaybeInt:
    condition, yes, no = operands
    return None if condition is None else yes if condition else no


def _first(operands: Sequence[MaybeInt]) -> MaybeInt:
    return operands[0]
