"""Integer folds against Python's unbounded integers, wrapped by hand."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerType, i32

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
from tilewright.dialects.folding import integer
from tilewright.dialects.folding.constants import MAX_ELEMENTS
from tilewright.ir.text.literals import SplatElementsAttr

WIDTHS = (1, 8, 16, 32, 64)


def reinterpret(value: int, width: int) -> int:
    """The reference for wrap-around, through bytes: keep the low bits, read them as signed."""
    low = value % 2**width
    return low if low < 2 ** (width - 1) else low - 2**width


def magnitude(value: int, width: int) -> int:
    return value % 2**width


def truncated(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b))


SIGNED = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.AndiOp: lambda a, b: a & b,
    arith.OriOp: lambda a, b: a | b,
    arith.XoriOp: lambda a, b: a ^ b,
    arith.MaxsiOp: max,
    arith.MinsiOp: min,
}
UNSIGNED = {arith.MaxuiOp: max, arith.MinuiOp: min}
SIGNED_DIVISION = {
    arith.DivsiOp: truncated,
    arith.RemsiOp: lambda a, b: a - b * truncated(a, b),
    arith.FloordivsiOp: lambda a, b: math.floor(Fraction(a, b)),
    arith.CeildivsiOp: lambda a, b: math.ceil(Fraction(a, b)),
}
UNSIGNED_DIVISION = {
    arith.DivuiOp: truncated,
    arith.RemuiOp: lambda a, b: a - b * truncated(a, b),
    arith.CeildivuiOp: lambda a, b: math.ceil(Fraction(a, b)),
}
SHIFTS = {
    arith.ShliOp: lambda a, b, width: a * 2**b,
    arith.ShrsiOp: lambda a, b, width: math.floor(Fraction(a, 2**b)),
    arith.ShruiOp: lambda a, b, width: math.floor(Fraction(magnitude(a, width), 2**b)),
}


@st.composite
def operands(draw: st.DrawFn) -> tuple[int, int, int]:
    """A width and two signed numbers, the ends of the range among them more often than by chance."""
    width = draw(st.sampled_from(WIDTHS))
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    number = st.one_of(
        st.sampled_from(sorted({low, -1, 0, min(1, high), high})), st.integers(low, high)
    )
    return width, draw(number), draw(number)


def expected(make: type, width: int, a: int, b: int) -> int | None:
    """The result by Python's unbounded integers; ``None`` where it is undefined."""
    a_bits, b_bits = magnitude(a, width), magnitude(b, width)
    if make in SIGNED:
        value = SIGNED[make](a, b)
    elif make in UNSIGNED:
        value = UNSIGNED[make](a_bits, b_bits)
    elif make in SHIFTS:
        value = SHIFTS[make](a, b_bits, width) if b_bits < width else None
    elif b == 0:
        value = None
    elif make in UNSIGNED_DIVISION:
        value = UNSIGNED_DIVISION[make](a_bits, b_bits)
    elif b == -1 and a == -(2 ** (width - 1)):
        value = None
    else:
        value = SIGNED_DIVISION[make](a, b)
    return None if value is None else reinterpret(value, width)


def agrees(make: type, width: int, a: int, b: int) -> bool:
    return folded_number(binary(make, IntegerType(width), a, b)) == expected(make, width, a, b)


ALL = (*SIGNED, *UNSIGNED, *SIGNED_DIVISION, *UNSIGNED_DIVISION, *SHIFTS)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.name)
@given(operands())
def test_op_computes_what_integers_do(make: type, case: tuple[int, int, int]):
    width, a, b = case
    if width == 1 and make in SIGNED_DIVISION and a == b == -1:
        return  # undefined, and folded to the left operand: any answer is right
    assert agrees(make, width, a, b)


@pytest.mark.parametrize("make", SHIFTS, ids=lambda make: make.name)
@given(operands(), st.integers(0, 70))
def test_shift_by_every_amount(make: type, case: tuple[int, int, int], amount: int):
    width, a, _ = case
    assert agrees(make, width, a, reinterpret(amount, width))


@given(operands())
def test_high_half_of_a_product(case: tuple[int, int, int]):
    width, a, b = case
    product = magnitude(a, width) * magnitude(b, width)
    rule = integer.BINARY["tt.mulhiui"].rule
    assert rule(a, b, width) == product // 2**width


# Cases with the values worked out by hand; the spike's table is the first part.


@pytest.mark.parametrize(
    ("make", "a", "b", "expected"),
    [
        (arith.AddiOp, 2147483647, 1, -2147483648),
        (arith.MuliOp, 65536, 65536, 0),
        (arith.DivsiOp, -7, 2, -3),
        (arith.RemsiOp, -7, 2, -1),
        (arith.ShrsiOp, -8, 1, -4),
        (arith.ShruiOp, -8, 1, 2147483644),
        (arith.DivuiOp, -1, 2, 2147483647),
        (arith.ShliOp, 1, 31, -2147483648),
        (arith.FloordivsiOp, -7, 2, -4),
        (arith.CeildivsiOp, -7, 2, -3),
        (arith.CeildivsiOp, 7, 2, 4),
        (arith.CeildivuiOp, -1, 2, -2147483648),
        (arith.MinsiOp, 5, -3, -3),
        (arith.MaxuiOp, 5, -3, -3),
        (arith.SubiOp, 0, 1, -1),
        (arith.RemuiOp, -1, 10, 5),
    ],
)
def test_value(make: type, a: int, b: int, expected: int):
    assert folded_number(binary(make, i32, a, b)) == expected


@pytest.mark.parametrize(
    ("make", "a", "b"),
    [
        (arith.ShliOp, 1, 32),
        (arith.ShliOp, 1, 40),
        (arith.ShliOp, 1, -1),
        (arith.ShrsiOp, 1, 32),
        (arith.ShruiOp, 1, 32),
        *((make, 7, 0) for make in (*SIGNED_DIVISION, *UNSIGNED_DIVISION)),
        *((make, -(2**31), -1) for make in SIGNED_DIVISION),
    ],
)
def test_undefined_is_never_folded(make: type, a: int, b: int):
    assert fold_values(binary(make, i32, a, b)) is None


def test_one_bit_arithmetic():
    i1 = IntegerType(1)
    assert folded_number(binary(arith.AddiOp, i1, -1, -1)) == 0
    assert folded_number(binary(arith.XoriOp, i1, -1, -1)) == 0
    assert folded_number(binary(arith.MuliOp, i1, -1, -1)) == -1
    assert folded_number(binary(arith.MaxuiOp, i1, -1, 0)) == -1
    assert folded_number(binary(arith.MaxsiOp, i1, -1, 0)) == 0
    assert fold_values(binary(arith.DivsiOp, i1, 0, 0)) is None
    assert fold_values(binary(arith.ShliOp, i1, -1, -1)) is None


def test_index_counts_as_64_bits():
    op = binary(arith.AddiOp, IndexType(), 2**63 - 1, 1)
    assert folded_number(op) == -(2**63)


# Tensors.


def test_splats_fold_as_one_number():
    type = tensor(i32, 128, 128)
    op = arith.AddiOp(constant(1, type), constant(2, type))
    assert folded_attribute(op) == SplatElementsAttr.get(3, type)


def test_dense_tensors_fold_element_by_element():
    type = tensor(i32, 4)
    op = arith.MuliOp(constant([1, 2, 3, 2**31 - 1], type), constant([5, -6, 0, 2], type))
    assert folded_attribute(op) == DenseIntOrFPElementsAttr.from_list(type, [5, -12, 0, -2])


def test_dense_and_splat_mix():
    type = tensor(i32, 3)
    op = arith.SubiOp(constant([1, 2, 3], type), constant(10, type))
    assert folded_attribute(op) == DenseIntOrFPElementsAttr.from_list(type, [-9, -8, -7])


def test_equal_elements_become_a_splat():
    type = tensor(i32, 2)
    op = arith.AddiOp(constant([1, 2], type), constant([2, 1], type))
    assert folded_attribute(op) == SplatElementsAttr.get(3, type)


def test_one_bad_element_stops_the_fold():
    type = tensor(i32, 3)
    assert fold_values(arith.DivsiOp(constant([1, 2, 3], type), constant([1, 0, 1], type))) is None


def test_long_lists_are_left():
    size = MAX_ELEMENTS + 1
    type = tensor(i32, size)
    op = arith.AddiOp(constant(list(range(size)), type), constant(1, type))
    assert fold_values(op) is None


# Identities.

X = unknown(i32)
Y = unknown(i32)


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (arith.AddiOp, 0),
        (arith.SubiOp, 0),
        (arith.MuliOp, 1),
        (arith.AndiOp, -1),
        (arith.OriOp, 0),
        (arith.XoriOp, 0),
        (arith.ShliOp, 0),
        (arith.ShrsiOp, 0),
        (arith.ShruiOp, 0),
        (arith.DivsiOp, 1),
        (arith.DivuiOp, 1),
        (arith.FloordivsiOp, 1),
        (arith.CeildivsiOp, 1),
        (arith.CeildivuiOp, 1),
        (arith.MaxsiOp, -(2**31)),
        (arith.MinsiOp, 2**31 - 1),
        (arith.MaxuiOp, 0),
        (arith.MinuiOp, -1),
    ],
)
def test_unit_on_the_right(make: type, number: int):
    assert folded_operand(make(X, constant(number, i32))) is X


@pytest.mark.parametrize(
    ("make", "number"),
    [(arith.AddiOp, 0), (arith.MuliOp, 1), (arith.AndiOp, -1), (arith.MaxuiOp, 0)],
)
def test_unit_on_the_left_of_a_commutative_op(make: type, number: int):
    assert folded_operand(make(constant(number, i32), X)) is X


@pytest.mark.parametrize("make", [arith.SubiOp, arith.ShliOp, arith.DivsiOp])
@pytest.mark.parametrize("number", [0, 1])
def test_unit_on_the_left_of_another_op(make: type, number: int):
    assert fold_values(make(constant(number, i32), X)) is None


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (arith.MuliOp, 0),
        (arith.AndiOp, 0),
        (arith.OriOp, -1),
        (arith.MaxsiOp, 2**31 - 1),
        (arith.MinsiOp, -(2**31)),
        (arith.MaxuiOp, -1),
        (arith.MinuiOp, 0),
    ],
)
def test_absorber(make: type, number: int):
    assert folded_number(make(X, constant(number, i32))) == number
    assert folded_number(make(constant(number, i32), X)) == number


@pytest.mark.parametrize("make", [arith.RemsiOp, arith.RemuiOp])
def test_remainder_by_one(make: type):
    assert folded_number(make(X, constant(1, i32))) == 0
    assert fold_values(make(X, constant(-1, i32))) is None


@pytest.mark.parametrize("make", [arith.SubiOp, arith.XoriOp])
def test_equal_operands_cancel(make: type):
    assert folded_number(make(X, X)) == 0
    wide = unknown(tensor(i32, 8))
    assert folded_attribute(make(wide, wide)) == SplatElementsAttr.get(0, wide.type)


@pytest.mark.parametrize(
    "make", [arith.AndiOp, arith.OriOp, arith.MaxsiOp, arith.MinsiOp, arith.MaxuiOp, arith.MinuiOp]
)
def test_equal_operands_are_the_result(make: type):
    assert folded_operand(make(X, X)) is X


@pytest.mark.parametrize("make", [arith.AddiOp, arith.MuliOp, arith.DivsiOp, arith.RemsiOp])
def test_equal_operands_prove_nothing(make: type):
    assert fold_values(make(X, X)) is None


def test_what_was_added_is_taken_away():
    assert folded_operand(arith.AddiOp(arith.SubiOp(X, Y), Y)) is X
    assert folded_operand(arith.AddiOp(Y, arith.SubiOp(X, Y))) is X
    assert folded_operand(arith.SubiOp(arith.AddiOp(X, Y), Y)) is X
    assert folded_operand(arith.SubiOp(arith.AddiOp(X, Y), X)) is Y
    assert fold_values(arith.AddiOp(arith.SubiOp(X, Y), X)) is None
    assert fold_values(arith.SubiOp(X, arith.AddiOp(X, Y))) is None


def test_not_of_not():
    ones = constant(-1, i32)
    assert folded_operand(arith.XoriOp(arith.XoriOp(X, ones), ones)) is X
    assert folded_operand(arith.XoriOp(Y, arith.XoriOp(X, Y))) is X


# Promises.

NSW = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
NUW = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NUW])


@pytest.mark.parametrize(
    ("make", "a", "b", "flags", "expected"),
    [
        (arith.AddiOp, 100, 27, NSW, 127),
        (arith.AddiOp, 100, 28, NSW, None),
        (arith.AddiOp, -1, 1, NSW, 0),
        (arith.AddiOp, -1, 1, NUW, None),
        (arith.AddiOp, 100, 28, NUW, -128),
        (arith.SubiOp, -128, 1, NSW, None),
        (arith.SubiOp, 3, 5, NUW, None),
        (arith.SubiOp, 3, 5, NSW, -2),
        (arith.MuliOp, 16, 8, NSW, None),
        (arith.MuliOp, 16, 8, NUW, -128),
        (arith.MuliOp, 16, 16, NUW, None),
        (arith.ShliOp, 64, 1, NSW, None),
        (arith.ShliOp, 64, 1, NUW, -128),
        (arith.ShliOp, 64, 2, NUW, None),
    ],
)
def test_broken_promises_are_left(
    make: type, a: int, b: int, flags: arith.IntegerOverflowAttr, expected: int | None
):
    i8 = IntegerType(8)
    assert folded_number(make(constant(a, i8), constant(b, i8), flags)) == expected


@pytest.mark.parametrize(
    ("make", "a", "b", "expected"),
    [
        (arith.DivsiOp, -6, 2, -3),
        (arith.DivsiOp, -7, 2, None),
        (arith.DivuiOp, -2, 2, 127),
        (arith.DivuiOp, -1, 2, None),
        (arith.ShrsiOp, -8, 3, -1),
        (arith.ShrsiOp, -9, 3, None),
        (arith.ShruiOp, -8, 3, 31),
        (arith.ShruiOp, -7, 3, None),
    ],
)
def test_exact_ops_lose_nothing(make: type, a: int, b: int, expected: int | None):
    i8 = IntegerType(8)
    assert folded_number(make(constant(a, i8), constant(b, i8), is_exact=True)) == expected


def test_absolute_value():
    i8 = IntegerType(8)
    assert folded_number(math_dialect.AbsiOp(constant(-5, i8))) == 5
    assert fold_values(math_dialect.AbsiOp(constant(-128, i8))) is None


# The property notices a broken rule.

GRID = [(8, a, b) for a in (-128, -127, -7, -1, 0, 1, 2, 100, 127) for b in (-128, -3, -1, 0, 2, 7)]

MUTANTS = {
    arith.AddiOp: lambda a, b, width: a + b + 1,
    arith.SubiOp: lambda a, b, width: b - a,
    arith.DivsiOp: lambda a, b, width: a // b if b else None,
    arith.RemsiOp: lambda a, b, width: a % b if b else None,
    arith.FloordivsiOp: lambda a, b, width: math.trunc(a / b) if b else None,
    arith.CeildivsiOp: lambda a, b, width: a // b if b else None,
    arith.ShruiOp: lambda a, b, width: a >> b if 0 <= b < width else None,
    arith.ShliOp: lambda a, b, width: a << (b % width),
    arith.MaxuiOp: lambda a, b, width: max(a, b),
    arith.MinsiOp: lambda a, b, width: min(a % 256, b % 256),
    arith.DivuiOp: lambda a, b, width: a // b if b else None,
}


@pytest.mark.parametrize("make", MUTANTS, ids=lambda make: make.name)
def test_a_broken_rule_is_noticed(make: type, monkeypatch: pytest.MonkeyPatch):
    assert all(agrees(make, *case) for case in GRID)
    broken = replace(integer.BINARY[make.name], rule=MUTANTS[make])
    monkeypatch.setitem(integer.BINARY, make.name, broken)
    monkeypatch.setitem(folding.FOLDS, make.name, broken.fold)
    assert not all(agrees(make, *case) for case in GRID)


def test_forgetting_a_promise_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(integer, "overflows", lambda *_: False)
    with pytest.raises(AssertionError):
        test_broken_promises_are_left(arith.AddiOp, 100, 28, NSW, None)
