"""Float folds against NumPy and ml_dtypes, bit for bit where a result is a number."""

import math
import struct
import warnings
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float8E5M2Type,
    bf16,
    f16,
    f32,
    f64,
    f80,
)
from xdsl.ir import Attribute

from tests.dialects.fold_support import (
    binary,
    constant,
    fold_values,
    folded_attribute,
    folded_number,
    folded_operand,
    tensor,
    unknown,
)
from tilewright.dialects import arith, folding
from tilewright.dialects import math as math_dialect
from tilewright.dialects.folding import floating
from tilewright.dialects.folding.constants import round_to
from tilewright.ir.text.literals import SplatElementsAttr

NUMPY = {f16: np.float16, bf16: ml_dtypes.bfloat16, f32: np.float32, f64: np.float64}
INF, NAN = math.inf, math.nan

REFERENCE = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.RemfOp: np.fmod,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
}
EXTREMA = (arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp)


def bits(value: float) -> bytes:
    """A number's representation, with one for all NaNs."""
    return struct.pack("<d", math.nan if math.isnan(value) else value)


def in_type(value: float, type: Attribute) -> float:
    """The nearest number of a type: NumPy's, and exact fractions for bfloat16.

    ml_dtypes takes doubles to bfloat16 by way of single precision, which rounds twice.
    """
    if type == bf16:
        return nearest_bfloat16(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(np.float64(value).astype(NUMPY[type]))


def nearest_bfloat16(value: float) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    unit = Fraction(2) ** max(math.frexp(value)[1] - 8, -133)
    rounded = round(Fraction(value) / unit) * unit
    return math.copysign(float(rounded) if abs(rounded) < 2**128 else math.inf, value)


def reference(make: type, type: Attribute, a: float, b: float) -> float:
    """NumPy's answer; for bfloat16, whose arithmetic NumPy lacks, double precision rounded once."""
    number = NUMPY[type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if type == bf16:
            return in_type(float(REFERENCE[make](np.float64(a), np.float64(b))), type)
        return float(REFERENCE[make](number(a), number(b)))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 65504.0, 3.0e38, -3.0e38, 1e-45, 6e-8, 1e308]
values = st.one_of(
    st.sampled_from(SPECIAL),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-1e4, 1e4),
    st.floats(width=16),
    st.floats(width=32),
)


@pytest.mark.parametrize("type", NUMPY, ids=str)
@given(values)
def test_rounding(type: Attribute, value: float):
    assert bits(round_to(value, type)) == bits(in_type(value, type))


@pytest.mark.parametrize("type", [f16, bf16], ids=str)
def test_rounding_between_all_neighbours(type: Attribute):
    """Every tie and both its neighbours, over all finite numbers of a 16-bit type."""
    infinity = {f16: 0x7C00, bf16: 0x7F80}[type]
    finite = np.arange(infinity, dtype=np.uint16).view(NUMPY[type]).astype(np.float64)
    for index in range(0, infinity - 1, 5):
        low, high = float(finite[index]), float(finite[index + 1])
        tie = (low + high) / 2
        assert round_to(tie, type) == (high if index % 2 else low)
        assert round_to(math.nextafter(tie, low), type) == low
        assert round_to(math.nextafter(tie, high), type) == high
    greatest = float(finite[-1])
    half_step = (greatest - float(finite[-2])) / 2
    assert round_to(greatest + half_step, type) == INF
    assert round_to(math.nextafter(greatest + half_step, 0), type) == greatest


def agrees(make: type, type: Attribute, a: float, b: float) -> bool:
    found = folded_number(binary(make, type, a, b))
    return found is not None and bits(found) == bits(reference(make, type, a, b))


@pytest.mark.parametrize("type", NUMPY, ids=str)
@pytest.mark.parametrize("make", REFERENCE, ids=lambda make: make.name)
@given(values, values)
def test_op_computes_what_numpy_does(make: type, type: Attribute, a: float, b: float):
    a, b = in_type(a, type), in_type(b, type)
    if make in EXTREMA and a == b == 0 and math.copysign(1, a) != math.copysign(1, b):
        return  # NumPy does not order zeros; tested below
    assert agrees(make, type, a, b)


# Special values, worked out by hand.


@pytest.mark.parametrize(
    ("make", "a", "b", "expected"),
    [
        (arith.AddfOp, 0.1, 0.2, 0.30000001192092896),
        (arith.AddfOp, 16777216.0, 1.0, 16777216.0),
        (arith.AddfOp, 3.0e38, 3.0e38, INF),
        (arith.AddfOp, -0.0, 0.0, 0.0),
        (arith.AddfOp, -0.0, -0.0, -0.0),
        (arith.AddfOp, INF, -INF, NAN),
        (arith.SubfOp, 0.0, 0.0, 0.0),
        (arith.SubfOp, -3.0e38, 3.0e38, -INF),
        (arith.MulfOp, -0.0, 5.0, -0.0),
        (arith.MulfOp, INF, 0.0, NAN),
        (arith.MulfOp, 1e-30, 1e-30, 0.0),
        (arith.DivfOp, 1.0, 0.0, INF),
        (arith.DivfOp, 1.0, -0.0, -INF),
        (arith.DivfOp, 0.0, 0.0, NAN),
        (arith.DivfOp, 1.0, 3.0, 0.3333333432674408),
        (arith.RemfOp, -7.5, 2.0, -1.5),
        (arith.RemfOp, -4.0, 2.0, -0.0),
        (arith.RemfOp, 1.0, 0.0, NAN),
        (arith.RemfOp, INF, 2.0, NAN),
        (arith.RemfOp, 5.0, INF, 5.0),
        (arith.MaximumfOp, -0.0, 0.0, 0.0),
        (arith.MaximumfOp, 0.0, -0.0, 0.0),
        (arith.MinimumfOp, 0.0, -0.0, -0.0),
        (arith.MinimumfOp, -0.0, 0.0, -0.0),
        (arith.MaximumfOp, NAN, 1.0, NAN),
        (arith.MinimumfOp, 1.0, NAN, NAN),
        (arith.MaxnumfOp, NAN, 1.0, 1.0),
        (arith.MaxnumfOp, 1.0, NAN, 1.0),
        (arith.MinnumfOp, NAN, -INF, -INF),
        (arith.MaxnumfOp, NAN, NAN, NAN),
    ],
)
def test_value(make: type, a: float, b: float, expected: float):
    found = folded_number(binary(make, f32, in_type(a, f32), in_type(b, f32)))
    assert found is not None
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("make", [arith.MaxnumfOp, arith.MinnumfOp])
def test_either_zero_may_win(make: type):
    assert fold_values(binary(make, f32, 0.0, -0.0)) is None
    assert fold_values(binary(make, f32, -0.0, 0.0)) is None


def test_a_computed_nan_is_positive_and_quiet():
    value = folded_attribute(binary(arith.SubfOp, f32, INF, INF))
    assert struct.pack("<d", value.value.data) == struct.pack("<d", math.nan)


def test_another_rounding_mode_is_not_computed():
    a, b = constant(1.0, f32), constant(3.0, f32)
    assert fold_values(arith.DivfOp(a, b, rounding_mode="upward")) is None
    assert folded_number(arith.DivfOp(a, b, rounding_mode="to_nearest_even")) is not None


@pytest.mark.parametrize("type", [Float8E5M2Type(), f80], ids=str)
def test_types_without_arithmetic_here(type: Attribute):
    assert fold_values(binary(arith.AddfOp, type, 1.0, 2.0)) is None
    assert fold_values(arith.MulfOp(unknown(type), constant(1.0, type))) is None


# Identities.


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (arith.AddfOp, -0.0),
        (arith.SubfOp, 0.0),
        (arith.MulfOp, 1.0),
        (arith.DivfOp, 1.0),
        (arith.MaximumfOp, -INF),
        (arith.MinimumfOp, INF),
        (arith.MaxnumfOp, NAN),
        (arith.MinnumfOp, NAN),
    ],
)
@pytest.mark.parametrize("type", [f32, tensor(f32, 64)], ids=str)
def test_unit(make: type, number: float, type: Attribute):
    x = unknown(type)
    assert folded_operand(make(x, constant(number, type))) is x


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (arith.AddfOp, 0.0),
        (arith.SubfOp, -0.0),
        (arith.MulfOp, 0.0),
        (arith.MulfOp, -1.0),
        (arith.DivfOp, -1.0),
        (arith.MaximumfOp, INF),
        (arith.MaximumfOp, NAN),
        (arith.MaxnumfOp, -INF),
        (arith.RemfOp, 1.0),
    ],
)
def test_not_a_unit(make: type, number: float):
    assert fold_values(make(unknown(f32), constant(number, f32))) is None


@pytest.mark.parametrize("make", [arith.AddfOp, arith.MulfOp])
def test_unit_on_the_left(make: type):
    x = unknown(f32)
    number = -0.0 if make is arith.AddfOp else 1.0
    assert folded_operand(make(constant(number, f32), x)) is x


def test_no_unit_on_the_left_of_a_subtraction():
    assert fold_values(arith.SubfOp(constant(0.0, f32), unknown(f32))) is None
    assert fold_values(arith.DivfOp(constant(1.0, f32), unknown(f32))) is None


def test_equal_operands():
    x = unknown(f32)
    for make in EXTREMA:
        assert folded_operand(make(x, x)) is x
    for make in (arith.SubfOp, arith.DivfOp, arith.AddfOp):
        assert fold_values(make(x, x)) is None


def test_sign_changes():
    x = unknown(f16)
    assert folded_operand(arith.NegfOp(arith.NegfOp(x))) is x
    assert bits(folded_number(arith.NegfOp(constant(0.0, f16)))) == bits(-0.0)
    assert math.copysign(1, folded_number(arith.NegfOp(constant(NAN, f32)))) == -1
    assert bits(folded_number(math_dialect.AbsfOp(constant(-0.0, f16)))) == bits(0.0)
    assert folded_number(math_dialect.AbsfOp(constant(-INF, bf16))) == INF


# Exact functions.


@pytest.mark.parametrize(
    ("make", "argument", "expected"),
    [
        (math_dialect.FloorOp, -0.5, -1.0),
        (math_dialect.FloorOp, -0.0, -0.0),
        (math_dialect.FloorOp, 2.5, 2.0),
        (math_dialect.FloorOp, INF, INF),
        (math_dialect.FloorOp, NAN, NAN),
        (math_dialect.CeilOp, -0.5, -0.0),
        (math_dialect.CeilOp, 2.5, 3.0),
        (math_dialect.TruncOp, -2.5, -2.0),
        (math_dialect.RoundevenOp, 2.5, 2.0),
        (math_dialect.RoundevenOp, -0.4, -0.0),
        (math_dialect.SqrtOp, 6.25, 2.5),
        (math_dialect.SqrtOp, -0.0, -0.0),
    ],
)
def test_exact_function(make: type, argument: float, expected: float):
    assert bits(folded_number(make(constant(argument, f32)))) == bits(expected)


@pytest.mark.parametrize("argument", [2.0, -1.0, INF, NAN])
def test_inexact_square_root_is_left(argument: float):
    assert fold_values(math_dialect.SqrtOp(constant(argument, f32))) is None


@pytest.mark.parametrize("make", [math_dialect.ExpOp, math_dialect.SinOp, math_dialect.Log2Op])
def test_approximated_functions_are_left(make: type):
    assert fold_values(make(constant(1.0, f32))) is None


def fma(a: float, b: float, c: float) -> float | None:
    return folded_number(math_dialect.FmaOp(*(constant(in_type(v, f32), f32) for v in (a, b, c))))


def test_multiply_add_rounds_once():
    assert fma(3.0, 4.0, 5.0) == 17.0
    # (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24: a product rounded to f32 first would lose the last term.
    assert fma(1 + 2**-12, 1 + 2**-12, -1.0) == 2**-11 + 2**-24
    assert fma(2.0**100, 2.0**100, 1.0) is None
    assert fma(3e38, 3e38, -INF) == -INF
    assert math.isnan(fma(INF, 0.0, 1.0))
    assert bits(fma(-1.0, 1.0, 1.0)) == bits(0.0)


# Tensors.


def test_splats_and_lists():
    type = tensor(f32, 64, 64)
    op = arith.AddfOp(constant(1.5, type), constant(2.0, type))
    assert folded_attribute(op) == SplatElementsAttr.get(3.5, type)
    short = tensor(f32, 3)
    op = arith.MulfOp(constant([1.0, -0.0, INF], short), constant(2.0, short))
    expected = DenseIntOrFPElementsAttr.from_list(short, [2.0, -0.0, INF])
    assert folded_attribute(op) == expected


def test_zeros_of_different_sign_are_no_splat():
    type = tensor(f32, 2)
    op = arith.MulfOp(constant([0.0, 0.0], type), constant([1.0, -1.0], type))
    expected = DenseIntOrFPElementsAttr.from_list(type, [0.0, -0.0])
    assert folded_attribute(op) == expected


# The property notices a broken rule.

GRID = [(a, b) for a in (0.0, -0.0, 1.5, -2.0, INF, NAN, 3.0e38) for b in (0.0, 1.0, -3.0, INF)]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (arith.SubfOp, lambda a, b: b - a),
        (arith.DivfOp, lambda a, b: a / b if b else 0.0),
        (arith.RemfOp, lambda a, b: a % b if b and math.isfinite(a) else NAN),
        (arith.MaximumfOp, lambda a, b: a if a > b else b),
        (arith.MaxnumfOp, lambda a, b: min(a, b)),
    ],
)
def test_a_broken_rule_is_noticed(make: type, rule: object, monkeypatch: pytest.MonkeyPatch):
    grid = [(in_type(a, f32), in_type(b, f32)) for a, b in GRID]
    if make in EXTREMA:
        grid = [case for case in grid if case != (0.0, 0.0)]
    assert all(agrees(make, f32, a, b) for a, b in grid)
    broken = replace(floating.RULES[make.name], rule=rule)
    monkeypatch.setitem(folding.FOLDS, make.name, broken.fold)
    assert not all(agrees(make, f32, a, b) for a, b in grid)


def test_forgetting_to_round_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(floating, "round_to", lambda value, type: value)
    with pytest.raises(OverflowError):
        agrees(arith.AddfOp, f32, in_type(3e38, f32), in_type(3e38, f32))
