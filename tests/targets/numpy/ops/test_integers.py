"""Integer ops of every width against Python's unbounded integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tests.targets.numpy.kernels import DTYPES, elementwise

WIDTHS = (8, 16, 32, 64)
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def shifted(bits: int, amount: int) -> int:
    """Shift amounts count as unsigned; beyond the width everything is shifted out."""
    return min(unsigned(amount, bits), bits)


SIGNED = {
    "addi": lambda a, b, n: a + b,
    "subi": lambda a, b, n: a - b,
    "muli": lambda a, b, n: a * b,
    "andi": lambda a, b, n: a & b,
    "ori": lambda a, b, n: a | b,
    "xori": lambda a, b, n: a ^ b,
    "maxsi": lambda a, b, n: max(a, b),
    "minsi": lambda a, b, n: min(a, b),
    "maxui": lambda a, b, n: max(unsigned(a, n), unsigned(b, n)),
    "minui": lambda a, b, n: min(unsigned(a, n), unsigned(b, n)),
    "shli": lambda a, b, n: a << shifted(n, b),
    "shrsi": lambda a, b, n: a >> shifted(n, b),
    "shrui": lambda a, b, n: unsigned(a, n) >> shifted(n, b),
}
DIVISIONS = {
    "divsi": lambda a, b, n: truncated(a, b),
    "remsi": lambda a, b, n: a - truncated(a, b) * b,
    "divui": lambda a, b, n: unsigned(a, n) // unsigned(b, n),
    "remui": lambda a, b, n: unsigned(a, n) % unsigned(b, n),
    "ceildivsi": lambda a, b, n: -((-a) // b),
    "floordivsi": lambda a, b, n: a // b,
    "ceildivui": lambda a, b, n: -(-unsigned(a, n) // unsigned(b, n)),
}
COMPARISONS = {
    "eq": lambda a, b, n: a == b,
    "ne": lambda a, b, n: a != b,
    "slt": lambda a, b, n: a < b,
    "sle": lambda a, b, n: a <= b,
    "sgt": lambda a, b, n: a > b,
    "sge": lambda a, b, n: a >= b,
    "ult": lambda a, b, n: unsigned(a, n) < unsigned(b, n),
    "ule": lambda a, b, n: unsigned(a, n) <= unsigned(b, n),
    "ugt": lambda a, b, n: unsigned(a, n) > unsigned(b, n),
    "uge": lambda a, b, n: unsigned(a, n) >= unsigned(b, n),
}


def numbers(bits: int) -> st.SearchStrategy[int]:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    edges = st.sampled_from([0, 1, -1, 2, least, least + 1, most, most - 1, bits, bits - 1])
    return edges | st.integers(least, most)


@st.composite
def pairs(draw: st.DrawFn, *, divisor: bool = False) -> tuple[int, np.ndarray, np.ndarray]:
    bits = draw(st.sampled_from(WIDTHS))
    count = draw(st.integers(1, 40))
    right = numbers(bits).filter(bool) if divisor else numbers(bits)
    dtype = DTYPES[f"i{bits}"]
    a = draw(st.lists(numbers(bits), min_size=count, max_size=count))
    b = draw(st.lists(right, min_size=count, max_size=count))
    return bits, np.array(a, dtype), np.array(b, dtype)


def expected(rule, bits: int, a: np.ndarray, b: np.ndarray) -> list[int]:
    return [signed(rule(int(x), int(y), bits), bits) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("name", SIGNED)
@settings(max_examples=examples(25))
@given(case=pairs())
def test_arithmetic_wraps_around(name: str, case) -> None:
    bits, a, b = case
    found = elementwise(f"%r = arith.{name} %a, %b : <A>", f"i{bits}", a, b)
    assert found.tolist() == expected(SIGNED[name], bits, a, b)


@pytest.mark.parametrize("name", DIVISIONS)
@settings(max_examples=examples(25))
@given(case=pairs(divisor=True))
def test_division(name: str, case) -> None:
    bits, a, b = case
    found = elementwise(f"%r = arith.{name} %a, %b : <A>", f"i{bits}", a, b)
    assert found.tolist() == expected(DIVISIONS[name], bits, a, b)


@pytest.mark.parametrize("name", ["divsi", "remsi", "divui"])
@pytest.mark.parametrize("divisor", [1, 2, 7, 64, -3])
def test_division_by_a_constant(name: str, divisor: int) -> None:
    a = np.array([0, 1, 6, 7, 8, 2**31 - 1, 100, -1, -7, -8, -(2**31)], np.int32)
    for values in (a, a[:7]):  # none negative: another way through
        ops = f"%c = const {divisor} : <A>\n%r = arith.{name} %a, %c : <A>"
        found = elementwise(ops, "i32", values)
        divisors = np.full(len(values), divisor)
        assert found.tolist() == expected(DIVISIONS[name], 32, values, divisors)


@pytest.mark.parametrize("name", COMPARISONS)
@settings(max_examples=examples(25))
@given(case=pairs())
def test_comparison(name: str, case) -> None:
    bits, a, b = case
    found = elementwise(f"%r = arith.cmpi {name}, %a, %b : <A>", "i1", a, b)
    expected = [COMPARISONS[name](int(x), int(y), bits) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == expected


@settings(max_examples=examples(40))
@given(case=pairs())
def test_multiplication_in_two_halves(case) -> None:
    bits, a, b = case
    high = [
        (unsigned(int(x), bits) * unsigned(int(y), bits)) >> bits for x, y in zip(a, b, strict=True)
    ]
    name = f"i{bits}"
    found = elementwise("%r = tt.mulhiui %a, %b : <A>", name, a, b)
    assert found.tolist() == [signed(value, bits) for value in high]
    low_high = "%l, %r = arith.mului_extended %a, %b : <A>"
    assert elementwise(low_high, name, a, b).tolist() == found.tolist()
    signed_high = elementwise("%l, %r = arith.mulsi_extended %a, %b : <A>", name, a, b)
    assert signed_high.tolist() == [(int(x) * int(y)) >> bits for x, y in zip(a, b, strict=True)]


@settings(max_examples=examples(40))
@given(case=pairs())
def test_sums_report_overflow(case) -> None:
    bits, a, b = case
    found = elementwise("%s, %r = arith.addui_extended %a, %b : <A>, <I>", "i1", a, b)
    expected = [
        (unsigned(int(x), bits) + unsigned(int(y), bits)) >> bits for x, y in zip(a, b, strict=True)
    ]
    assert found.tolist() == [bool(carry) for carry in expected]
    found = elementwise("%s, %r = arith.subui_extended %a, %b : <A>, <I>", "i1", a, b)
    assert found.tolist() == [
        unsigned(int(x), bits) < unsigned(int(y), bits) for x, y in zip(a, b, strict=True)
    ]


@settings(max_examples=examples(40))
@given(case=pairs())
def test_counting_bits(case) -> None:
    bits, a, _ = case
    words = [format(unsigned(int(x), bits), f"0{bits}b") for x in a]
    for op, count in {
        "ctpop": lambda word: word.count("1"),
        "ctlz": lambda word: len(word) - len(word.lstrip("0")),
        "cttz": lambda word: len(word) - len(word.rstrip("0")),
    }.items():
        found = elementwise(f"%r = math.{op} %a : <A>", f"i{bits}", a)
        assert found.tolist() == [signed(count(word), bits) for word in words]


@settings(max_examples=examples(40))
@given(case=pairs(), exponents=st.lists(st.integers(-3, 12), min_size=40, max_size=40))
def test_powers(case, exponents) -> None:
    bits, a, _ = case
    b = np.array(exponents[: len(a)], a.dtype)
    keep = (a != 0) | (b >= 0)
    a, b = a[keep], b[keep]
    if not len(a):
        return
    found = elementwise("%r = math.ipowi %a, %b : <A>", f"i{bits}", a, b)
    expected = [
        int(x) ** int(y) if y >= 0 else truncated(1, int(x) ** -int(y))
        for x, y in zip(a, b, strict=True)
    ]
    assert found.tolist() == [signed(value, bits) for value in expected]


@pytest.mark.parametrize("source", WIDTHS)
@pytest.mark.parametrize("target", WIDTHS)
def test_widths_change(source: int, target: int) -> None:
    edges = [0, 1, -1, 5, -(1 << (source - 1)), (1 << (source - 1)) - 1]
    a = np.array(edges, DTYPES[f"i{source}"])
    name = f"i{target}"
    if target > source:
        assert elementwise("%r = arith.extsi %a : <A> to <R>", name, a).tolist() == edges
        found = elementwise("%r = arith.extui %a : <A> to <R>", name, a)
        assert found.tolist() == [unsigned(value, source) for value in edges]
    elif target < source:
        found = elementwise("%r = arith.trunci %a : <A> to <R>", name, a)
        assert found.tolist() == [signed(value, target) for value in edges]


TRUTHS = np.array([False, False, True, True]), np.array([False, True, False, True])
TRUTH_OPS = {
    # Read as signed, true is -1.
    "addi": [False, True, True, False],
    "subi": [False, True, True, False],
    "muli": [False, False, False, True],
    "andi": [False, False, False, True],
    "ori": [False, True, True, True],
    "xori": [False, True, True, False],
    "maxsi": [False, False, False, True],
    "minsi": [False, True, True, True],
    "maxui": [False, True, True, True],
    "minui": [False, False, False, True],
    "shli": [False, False, True, False],
    "shrui": [False, False, True, False],
    "shrsi": [False, False, True, True],
}


@pytest.mark.parametrize("name", TRUTH_OPS)
def test_truth_values(name: str) -> None:
    found = elementwise(f"%r = arith.{name} %a, %b : <A>", "i1", *TRUTHS)
    assert found.tolist() == TRUTH_OPS[name]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_of_truth_values(name: str) -> None:
    found = elementwise(f"%r = arith.cmpi {name}, %a, %b : <A>", "i1", *TRUTHS)
    expected = [COMPARISONS[name](-int(x), -int(y), 1) for x, y in zip(*TRUTHS, strict=True)]
    assert found.tolist() == expected


def test_truth_values_as_integers() -> None:
    a = TRUTHS[1]
    assert elementwise("%r = arith.extui %a : <A> to <R>", "i32", a).tolist() == [0, 1, 0, 1]
    assert elementwise("%r = arith.extsi %a : <A> to <R>", "i32", a).tolist() == [0, -1, 0, -1]
    assert elementwise("%r = arith.uitofp %a : <A> to <R>", "f32", a).tolist() == [0, 1, 0, 1]
    assert elementwise("%r = arith.sitofp %a : <A> to <R>", "f32", a).tolist() == [0, -1, 0, -1]
    numbers = np.array([0, 1, 2, -1], np.int32)
    found = elementwise("%r = arith.trunci %a : <A> to <R>", "i1", numbers)
    assert found.tolist() == [False, True, False, True]


def test_select_keeps_bits() -> None:
    a = np.array([0x7FC12345, 1, 0x80000000, 4], np.uint32).view(np.float32)
    b = np.array([5, 0xFFC00001, 7, 0], np.uint32).view(np.float32)
    cond = np.array([True, False, True, False])
    found = elementwise("%r = arith.select %c, %a, %b : <I>, <A>", "f32", a, b, cond)
    assert found.view(np.uint32).tolist() == [0x7FC12345, 0xFFC00001, 0x80000000, 0]
