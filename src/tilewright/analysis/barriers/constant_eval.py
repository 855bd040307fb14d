"""Constant evaluation of integer ops; None is an unknown value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.analysis.affine.arithmetic import floor_div, trunc_div, trunc_rem
from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.ir.interfaces import constant_value

MaybeInt = int | None
Rule = Callable[[Sequence[MaybeInt]], MaybeInt]


def _ceil_div(value: int, divisor: int) -> int:
    return -floor_div(-value, divisor)


BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": int.__add__,
    "subi": int.__sub__,
    "muli": int.__mul__,
    "floordivsi": floor_div,
    "ceildivsi": _ceil_div,
    "ceildivui": _ceil_div,
    "divsi": trunc_div,
    "divui": floor_div,
    "remsi": trunc_rem,
    "remui": trunc_rem,
    "minsi": min,
    "maxsi": max,
    "minui": min,
    "maxui": max,
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
    "shli": int.__lshift__,
    "shrsi": int.__rshift__,
    "shrui": int.__rshift__,
}
UNARY = frozenset({"index_cast", "index_castui", "extsi", "extui", "trunci"})
"""Changes of type, which leave the value as it is."""
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "slt": int.__lt__,
    "sle": int.__le__,
    "sgt": int.__gt__,
    "sge": int.__ge__,
    "ult": int.__lt__,
    "ule": int.__le__,
    "ugt": int.__gt__,
    "uge": int.__ge__,
}


def rule_of(op: Operation) -> Rule:
    """How an op computes its result from its operands; found once, used in every iteration."""
    constant = constant_value(op.results[0])
    if isinstance(constant, IntegerAttr):
        return _always(constant.value.data)
    if isinstance(op, SelectOp):
        return _selected
    if isinstance(op, CmpiOp):
        return _of_two(COMPARISONS[op.predicate_name])
    name = op.name.removeprefix("arith.")
    if name in BINARY:
        return _of_two(BINARY[name])
    return _first if name in UNARY else _always(None)


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
