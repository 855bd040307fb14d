"""Comparisons and selections.

Predicates are MLIR's numbers. ``cmpi`` is decided by two constants, by equal operands, or by one
constant at the end of the range (``x <u 0`` is never true). ``cmpf`` is decided by two constants or
by one NaN, but not by equal operands: NaN is not equal to itself.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation

from tilewright.dialects.folding.constants import (
    Constants,
    Scalar,
    as_unsigned,
    defined_by,
    elementwise,
    integer_width,
    is_integer,
    is_integer_attr,
    scalar_value,
    splat,
)
from tilewright.ir.interfaces import Folded

# arith.cmpi: eq ne slt sle sgt sge ult ule ugt uge
EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

_INTEGER_TESTS: Sequence[Callable[[int, int], bool]] = (
    operator.eq,
    operator.ne,
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)

SWAPPED_INTEGER: Sequence[int] = (EQ, NE, SGT, SGE, SLT, SLE, UGT, UGE, ULT, ULE)
"""The equivalent predicate with the operands exchanged."""
INVERTED_INTEGER: Sequence[int] = (NE, EQ, SGE, SGT, SLE, SLT, UGE, UGT, ULE, ULT)
"""The predicate that is true where the other is false."""

# arith.cmpf: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true
# An unordered predicate is its ordered partner (8 less, "false" for "uno") or "some NaN".
_FLOAT_TESTS: Sequence[Callable[[float, float], bool]] = (
    lambda a, b: False,
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.ne,
    lambda a, b: True,
)
_UNORDERED = {8: 1, 9: 2, 10: 3, 11: 4, 12: 5, 13: 6, 14: 0}
_ALWAYS = 15


def compare_integers(predicate: int, a: int, b: int, width: int) -> bool:
    """``a predicate b`` for signed numbers of the given width."""
    if predicate >= ULT:
        a, b = as_unsigned(a, width), as_unsigned(b, width)
    return _INTEGER_TESTS[predicate](a, b)


def compare_floats(predicate: int, a: float, b: float) -> bool:
    """``a predicate b`` with MLIR's reading of NaN."""
    if predicate == _ALWAYS:
        return True
    if math.isnan(a) or math.isnan(b):
        return predicate in _UNORDERED
    return _FLOAT_TESTS[_UNORDERED.get(predicate, predicate)](a, b)


def predicate_of(op: Operation) -> int | None:
    predicate = op.properties.get("predicate")
    return predicate.value.data if is_integer_attr(predicate) else None


def _truth(value: bool, type: Attribute) -> Folded:
    constant = splat(-1 if value else 0, type)
    return None if constant is None else [constant]


def _compare(op: Operation, constants: Constants, test: Callable[[Any, Any], bool]) -> Folded:
    def truth(a: Scalar, b: Scalar) -> int:
        return -1 if test(a, b) else 0

    constant = elementwise(truth, constants, op.results[0].type)
    return None if constant is None else [constant]


def _fold_cmpi(op: Operation, constants: Constants) -> Folded:
    predicate = predicate_of(op)
    lhs, rhs = op.operands
    width = integer_width(lhs.type)
    type = op.results[0].type
    if predicate is None or width is None:
        return None
    if lhs is rhs:
        return _truth(compare_integers(predicate, 0, 0, width), type)
    left, right = constants
    if right is None:
        return None
    if left is not None:
        return _compare(op, constants, lambda a, b: compare_integers(predicate, a, b, width))
    return _fold_extended_truth(op, predicate, right) or _fold_range_end(op, predicate, right)


def _fold_extended_truth(op: Operation, predicate: int, right: Attribute) -> Folded:
    """``ext(x) != 0`` for a truth value ``x`` is ``x``."""
    source = defined_by(op.operands[0], "arith.extui", "arith.extsi")
    if predicate != NE or source is None or not is_integer(right, 0):
        return None
    return [source.operands[0]] if integer_width(source.operands[0].type) == 1 else None


def _fold_range_end(op: Operation, predicate: int, right: Attribute) -> Folded:
    """An order that has the same result at both ends of the range has it everywhere."""
    bound = scalar_value(right)
    width = integer_width(op.operands[0].type)
    if predicate in (EQ, NE) or not isinstance(bound, int) or width is None:
        return None
    min_value, max_value = (
        (0, -1) if predicate >= ULT else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    )
    low = compare_integers(predicate, min_value, bound, width)
    high = compare_integers(predicate, max_value, bound, width)
    return _truth(low, op.results[0].type) if low == high else None


def _fold_cmpf(op: Operation, constants: Constants) -> Folded:
    predicate = predicate_of(op)
    type = op.results[0].type
    if predicate is None:
        return None
    if predicate in (0, _ALWAYS):
        return _truth(predicate == _ALWAYS, type)
    if any(_is_nan(constant) for constant in constants):
        return _truth(predicate in _UNORDERED, type)
    return _compare(op, constants, lambda a, b: compare_floats(predicate, a, b))


def _is_nan(constant: Attribute | None) -> bool:
    value = scalar_value(constant)
    return isinstance(value, float) and math.isnan(value)


def _fold_select(op: Operation, constants: Constants) -> Folded:
    condition, if_true, if_false = op.operands
    if if_true is if_false:
        return [if_true]
    decided = scalar_value(constants[0])
    if decided is not None:
        return [if_true if decided else if_false]
    if _is_truth_of(condition.type, op) and is_integer(constants[1], -1):
        return [condition] if is_integer(constants[2], 0) else None
    if (chosen := _fold_select_of_equals(op)) is not None:
        return chosen
    if None in constants:
        return None

    def choose(condition: int, a: Scalar, b: Scalar) -> Scalar:
        return a if condition else b

    constant = elementwise(choose, constants, op.results[0].type)
    return None if constant is None else [constant]


def _is_truth_of(type: Attribute, op: Operation) -> bool:
    """Whether the op selects between truth values, one per element of its condition."""
    return integer_width(type) == 1 and type == op.results[0].type


def _fold_select_of_equals(op: Operation) -> Folded:
    """``a == b ? a : b`` is ``b``, and ``a != b ? a : b`` is ``a``."""
    condition, if_true, if_false = op.operands
    test = defined_by(condition, "arith.cmpi")
    if test is None or {*test.operands} != {if_true, if_false}:
        return None
    predicate = predicate_of(test)
    if predicate == EQ:
        return [if_false]
    return [if_true] if predicate == NE else None


FOLDS: Mapping[str, Callable[[Operation, Constants], Folded]] = {
    "arith.cmpi": _fold_cmpi,
    "arith.cmpf": _fold_cmpf,
    "arith.select": _fold_select,
}
