"""Comparisons and selections: every predicate on every kind of pair."""

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, f32, i1, i32

from tests.dialects.fold_support import (
    constant,
    fold_values,
    folded_attribute,
    folded_number,
    folded_operand,
    tensor,
    unknown,
)
from tilewright.dialects import arith
from tilewright.dialects.folding import compare
from tilewright.ir.text.literals import SplatElementsAttr

NAN = math.nan
ORDERS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
EQUALITIES = {"eq": operator.eq, "ne": operator.ne}


def integer_truth(predicate: str, a: int, b: int, width: int) -> bool:
    if predicate in EQUALITIES:
        return EQUALITIES[predicate](a, b)
    if predicate[0] == "u":
        a, b = a % 2**width, b % 2**width
    return ORDERS[predicate[1:]](a, b)


def float_truth(predicate: str, a: float, b: float) -> bool:
    """By the definition: an ordered predicate asks for numbers, an unordered one admits NaN."""
    nan = math.isnan(a) or math.isnan(b)
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return nan == (predicate == "uno")
    if nan:
        return predicate[0] == "u"
    return (ORDERS | EQUALITIES)[predicate[1:]](a, b)


def truth(op: arith.CmpiOp | arith.CmpfOp) -> bool | None:
    number = folded_number(op)
    return None if number is None else bool(number)


@pytest.mark.parametrize("predicate", arith.CMPI_PREDICATES)
@given(st.sampled_from([1, 8, 32, 64]), st.data())
def test_integers(predicate: str, width: int, data: st.DataObject):
    numbers = st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    a, b = data.draw(numbers), data.draw(numbers)
    type = IntegerType(width)
    op = arith.CmpiOp(predicate, constant(a, type), constant(b, type))
    assert truth(op) == integer_truth(predicate, a, b, width)


FLOATS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, NAN)


@pytest.mark.parametrize("predicate", arith.CMPF_PREDICATES)
def test_floats(predicate: str):
    for a in FLOATS:
        for b in FLOATS:
            op = arith.CmpfOp(predicate, constant(a, f32), constant(b, f32))
            assert truth(op) == float_truth(predicate, a, b), (a, b)


@pytest.mark.parametrize("predicate", arith.CMPI_PREDICATES)
def test_equal_integers(predicate: str):
    x = unknown(i32)
    assert truth(arith.CmpiOp(predicate, x, x)) == integer_truth(predicate, 3, 3, 32)


@pytest.mark.parametrize(
    "predicate", [p for p in arith.CMPF_PREDICATES if p not in ("true", "false")]
)
def test_equal_floats_prove_nothing(predicate: str):
    x = unknown(f32)
    assert fold_values(arith.CmpfOp(predicate, x, x)) is None


@pytest.mark.parametrize("predicate", arith.CMPF_PREDICATES)
def test_one_nan_decides(predicate: str):
    x, nan = unknown(f32), constant(NAN, f32)
    expected = float_truth(predicate, 1.0, NAN)
    assert truth(arith.CmpfOp(predicate, x, nan)) == expected
    assert truth(arith.CmpfOp(predicate, nan, x)) == expected


@pytest.mark.parametrize("predicate", arith.CMPI_PREDICATES)
def test_the_ends_of_the_range_decide(predicate: str):
    """Folded exactly when all 256 numbers agree."""
    i8 = IntegerType(8)
    x = unknown(i8)
    for bound in (-128, -127, -1, 0, 1, 126, 127):
        outcomes = {integer_truth(predicate, a, bound, 8) for a in range(-128, 128)}
        expected = outcomes.pop() if len(outcomes) == 1 else None
        assert truth(arith.CmpiOp(predicate, x, constant(bound, i8))) == expected, bound


def test_extended_truth():
    x = unknown(i1)
    zero = constant(0, i32)
    for extend in (arith.ExtuiOp, arith.ExtsiOp):
        assert folded_operand(arith.CmpiOp("ne", extend(x, i32), zero)) is x
        assert fold_values(arith.CmpiOp("eq", extend(x, i32), zero)) is None
        assert fold_values(arith.CmpiOp("ne", extend(unknown(IntegerType(8)), i32), zero)) is None


def test_tensors():
    type, mask = tensor(i32, 3), tensor(i1, 3)
    op = arith.CmpiOp("slt", constant([1, 5, -3], type), constant(2, type))
    assert folded_attribute(op) == DenseIntOrFPElementsAttr.from_list(mask, [-1, 0, -1])
    op = arith.CmpiOp("slt", constant(1, type), constant(2, type))
    assert folded_attribute(op) == SplatElementsAttr.get(True, mask)


@pytest.mark.parametrize("predicate", range(10))
@given(st.integers(-128, 127), st.integers(-128, 127))
def test_swapped_and_inverted_predicates(predicate: int, a: int, b: int):
    holds = compare.compare_integers(predicate, a, b, 8)
    assert compare.compare_integers(compare.SWAPPED_INTEGER[predicate], b, a, 8) == holds
    assert compare.compare_integers(compare.INVERTED_INTEGER[predicate], a, b, 8) != holds


# Selections.

A, B, C = unknown(i32), unknown(i32), unknown(i1)


def test_select_by_constant():
    assert folded_operand(arith.SelectOp(constant(-1, i1), A, B)) is A
    assert folded_operand(arith.SelectOp(constant(0, i1), A, B)) is B
    wide = unknown(tensor(i32, 4)), unknown(tensor(i32, 4))
    assert folded_operand(arith.SelectOp(constant(-1, tensor(i1, 4)), *wide)) is wide[0]
    assert folded_operand(arith.SelectOp(constant(0, i1), *wide)) is wide[1]


def test_select_of_one_value():
    assert folded_operand(arith.SelectOp(C, A, A)) is A
    assert fold_values(arith.SelectOp(C, A, B)) is None


def test_select_of_truth():
    true, false = constant(-1, i1), constant(0, i1)
    assert folded_operand(arith.SelectOp(C, true, false)) is C
    assert fold_values(arith.SelectOp(C, false, true)) is None
    # One condition for all elements is not a tensor of conditions.
    mask = tensor(i1, 4)
    assert fold_values(arith.SelectOp(C, constant(-1, mask), constant(0, mask))) is None


def test_select_of_equals():
    assert folded_operand(arith.SelectOp(arith.CmpiOp("eq", A, B), A, B)) is B
    assert folded_operand(arith.SelectOp(arith.CmpiOp("eq", A, B), B, A)) is A
    assert folded_operand(arith.SelectOp(arith.CmpiOp("ne", A, B), A, B)) is A
    assert fold_values(arith.SelectOp(arith.CmpiOp("slt", A, B), A, B)) is None


def test_select_element_by_element():
    type = tensor(i32, 3)
    condition = constant([-1, 0, -1], tensor(i1, 3))
    op = arith.SelectOp(condition, constant([1, 2, 3], type), constant(9, type))
    assert folded_attribute(op) == DenseIntOrFPElementsAttr.from_list(type, [1, 9, 3])


def test_a_broken_comparison_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compare, "as_unsigned", lambda value, width: value)
    assert truth(arith.CmpiOp("ult", constant(-1, i32), constant(1, i32))) != integer_truth(
        "ult", -1, 1, 32
    )
