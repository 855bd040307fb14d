"""Integer ops: the polynomial of a result against the op itself, on values drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.analysis.pid_address.support import only_access, report_of
from tilewright.analysis.affine import evaluate, holds
from tilewright.analysis.pid_address import AccessProperties, AssumptionKind, Pattern, Reason

SIGNED = range(-(2**31), 2**31)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": truncated,
    "remsi": lambda a, b: a - b * truncated(a, b),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}

ONE_SIDED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
}
"""Unsigned ops, which are modelled where the operands are known not to be negative."""


def kernel(body: str, result: str = "%r", type: str = "i32") -> str:
    return f"""
    tt.func public @k(%p: !tt.ptr<i8>, %a: i32, %b: i32, %c: i64, %f: i1, %x: f32) {{
      {body}
      %q = tt.addptr %p, {result} : !tt.ptr<i8>, {type}
      %v = arith.constant 0 : i8
      tt.store %q, %v : !tt.ptr<i8>
      tt.return
    }}"""


def draw(rng: random.Random) -> tuple[int, int]:
    limit = rng.choice((8, 100, 40_000))
    a, b = rng.randint(-limit, limit), rng.randint(-limit, limit)
    return a, b or 3


@pytest.mark.parametrize("name", BINARY)
def test_binary_ops_on_arguments(name: str) -> None:
    access = only_access(kernel(f"%r = arith.{name} %a, %b : i32"))
    rng = random.Random(name)
    for _ in range(200):
        a, b = draw(rng)
        expected = BINARY[name](a, b)
        if expected in SIGNED:
            assert evaluate(access.offset, {"a": a, "b": b}) == expected, (a, b)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("constant", [-7, -1, 1, 4, 12, 255, 256])
def test_binary_ops_with_a_constant(name: str, constant: int) -> None:
    body = f"%k = arith.constant {constant} : i32\n %r = arith.{name} %a, %k : i32"
    access = only_access(kernel(body))
    rng = random.Random(f"{name} {constant}")
    for _ in range(60):
        a, _ = draw(rng)
        assert evaluate(access.offset, {"a": a}) == BINARY[name](a, constant), a


@pytest.mark.parametrize("name", ONE_SIDED)
def test_unsigned_ops_on_program_ids(name: str) -> None:
    body = f"""%i = tt.get_program_id x : i32
      %n = tt.get_num_programs x : i32
      %r = arith.{name} %i, %n : i32"""
    access = only_access(kernel(body))
    rng = random.Random(name)
    for _ in range(100):
        count = rng.randint(1, 500)
        pid = rng.randrange(count)
        found = evaluate(access.offset, {"pid0": pid, "np0": count})
        assert found == ONE_SIDED[name](pid, count)


@pytest.mark.parametrize("name", ONE_SIDED)
def test_unsigned_ops_on_values_of_unknown_sign_are_opaque(name: str) -> None:
    access = only_access(kernel(f"%r = arith.{name} %a, %b : i32"))
    [atom] = access.offset.atoms()
    assert atom.is_opaque and access.offset.deps >= {"arg a", "arg b", "unsupported"}


@pytest.mark.parametrize("amount", [0, 1, 5])
def test_shifts_by_constants(amount: int) -> None:
    rng = random.Random(amount)
    for name, apply in (("shli", int.__lshift__), ("shrsi", int.__rshift__)):
        body = f"%k = arith.constant {amount} : i32\n %r = arith.{name} %a, %k : i32"
        access = only_access(kernel(body))
        for _ in range(50):
            a = rng.randint(-(2**20), 2**20)
            assert evaluate(access.offset, {"a": a}) == apply(a, amount)


def test_a_logical_shift_of_a_program_id_is_a_quotient() -> None:
    body = """%i = tt.get_program_id y : i32
      %k = arith.constant 3 : i32
      %r = arith.shrui %i, %k : i32"""
    access = only_access(kernel(body))
    assert str(access.offset) == "fdiv(pid1, 8)"
    assert (access.pattern, access.reason) == (Pattern.NONLINEAR, Reason.DIV_MOD)


def test_a_shift_by_an_argument_that_is_not_negative() -> None:
    body = """%i = tt.get_program_id x : i32
      %r = arith.shli %a, %i : i32"""
    access = only_access(kernel(body))
    assert evaluate(access.offset, {"a": 3, "pid0": 4}) == 48
    assert access.reason is Reason.BITWISE


# Casts.


def test_sign_extension_and_truncation_keep_the_value() -> None:
    body = "%w = arith.extsi %a : i32 to i64\n %r = arith.trunci %w : i64 to i32"
    report = report_of(kernel(body))
    assert str(report.accesses[0].offset) == "a"
    assert report.assumptions == ()


def test_truncation_of_a_wide_value_is_an_assumption() -> None:
    report = report_of(kernel("%r = arith.trunci %c : i64 to i32"))
    [assumption] = report.assumptions
    assert str(report.accesses[0].offset) == "c"
    assert (assumption.kind, assumption.value, assumption.type) == (
        AssumptionKind.NO_OVERFLOW,
        "%r",
        "i32",
    )
    assert (assumption.lower, assumption.upper) == (-(2**31), 2**31 - 1)


def test_zero_extension_needs_a_sign() -> None:
    plain = only_access(kernel("%r = arith.extui %a : i32 to i64", type="i64"))
    assert plain.offset.atoms()[0].is_opaque
    hinted = only_access(kernel("%r = arith.extui %a nneg : i32 to i64", type="i64"))
    assert str(hinted.offset) == "a"
    body = "%i = tt.get_program_id x : i32\n %r = arith.extui %i : i32 to i64"
    assert str(only_access(kernel(body, type="i64")).offset) == "pid0"


@pytest.mark.parametrize(("name", "true"), [("extui", 1), ("extsi", -1)])
def test_truth_values_as_integers(name: str, true: int) -> None:
    body = f"%t = arith.cmpi slt, %a, %b : i32\n %r = arith.{name} %t : i1 to i32"
    access = only_access(kernel(body))
    assert evaluate(access.offset, {"a": 1, "b": 2}) == true
    assert evaluate(access.offset, {"a": 2, "b": 2}) == 0


def test_truncation_to_a_truth_value_takes_the_lowest_bit() -> None:
    body = """%t = arith.trunci %a : i32 to i1
      %one = arith.constant 1 : i32
      %r = arith.select %t, %b, %one : i32"""
    access = only_access(kernel(body))
    for a in (-3, -2, 0, 7):
        assert evaluate(access.offset, {"a": a, "b": 50}) == (50 if a % 2 else 1)


def test_index_casts_and_bitcasts_keep_integers() -> None:
    body = """%i = arith.index_cast %a : i32 to index
      %j = arith.index_cast %i : index to i32
      %r = arith.bitcast %j : i32 to i32"""
    assert str(only_access(kernel(body)).offset) == "a"


def test_floats_leave_only_their_dependencies() -> None:
    body = """%i = tt.get_program_id x : i32
      %y = arith.sitofp %i : i32 to f32
      %z = arith.mulf %y, %x : f32
      %r = arith.fptosi %z : f32 to i32"""
    access = only_access(kernel(body))
    assert access.pattern is Pattern.UNKNOWN and access.reason is Reason.UNSUPPORTED
    assert access.pid_axes == (0,)


def test_extended_multiplications_preserve_their_low_half() -> None:
    body = "%r, %h = arith.mulsi_extended %a, %b : i32"
    report = report_of(kernel(body))
    assert str(report.accesses[0].offset) == "a*b"
    assert [one.kind for one in report.assumptions] == [AssumptionKind.NO_OVERFLOW]


# Choices and comparisons.

PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_comparisons_choose(name: str) -> None:
    body = f"""%t = arith.cmpi {name}, %a, %b : i32
      %r = arith.select %t, %a, %b : i32"""
    access = only_access(kernel(body))
    for a in range(-2, 3):
        for b in range(-2, 3):
            expected = a if PREDICATES[name](a, b) else b
            assert evaluate(access.offset, {"a": a, "b": b}) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ult", lambda a, b: a % 2**32 < b),
        ("ule", lambda a, b: a % 2**32 <= b),
        ("ugt", lambda a, b: a % 2**32 > b),
        ("uge", lambda a, b: a % 2**32 >= b),
    ],
)
def test_unsigned_comparisons_with_a_bound_that_is_not_negative(
    name: str, expected: Callable[[int, int], bool]
) -> None:
    body = f"""%n = tt.get_num_programs x : i32
      %t = arith.cmpi {name}, %a, %n : i32
      %k = arith.constant 1 : i32
      %z = arith.constant 0 : i32
      %r = arith.select %t, %k, %z : i32"""
    access = only_access(kernel(body))
    for a in (-5, -1, 0, 1, 2, 3, 4, 9):
        assert evaluate(access.offset, {"a": a, "np0": 3}) == int(expected(a, 3)), a


def test_common_parts_of_a_choice_stay_affine() -> None:
    body = """%i = tt.get_program_id x : i32
      %k = arith.constant 64 : i32
      %s = arith.muli %i, %k : i32
      %u = arith.addi %s, %a : i32
      %w = arith.addi %s, %b : i32
      %r = arith.select %f, %u, %w : i32"""
    access = only_access(kernel(body))
    assert access.pattern is Pattern.AFFINE and str(access.pid_strides[0]) == "64"


def test_a_choice_between_program_ids_is_piecewise() -> None:
    body = """%i = tt.get_program_id x : i32
      %k = arith.constant 64 : i32
      %u = arith.muli %i, %k : i32
      %w = arith.subi %a, %u : i32
      %r = arith.select %f, %u, %w : i32"""
    access = only_access(kernel(body))
    assert (access.pattern, access.reason) == (Pattern.NONLINEAR, Reason.PIECEWISE)
    assert access.pid_strides == {0: None}
    chosen = only_access(kernel(body), AccessProperties(args={"f": 1}))
    assert chosen.pattern is Pattern.AFFINE and str(chosen.pid_strides[0]) == "64"


def test_choices_between_equal_or_known_sides() -> None:
    equal = only_access(kernel("%r = arith.select %f, %a, %a : i32"))
    assert str(equal.offset) == "a"
    body = "%t = arith.constant true\n %r = arith.select %t, %a, %b : i32"
    assert str(only_access(kernel(body)).offset) == "a"


def test_connectives_of_truth_values() -> None:
    body = """%z = arith.constant 0 : i32
      %s = arith.cmpi sgt, %a, %z : i32
      %t = arith.cmpi sgt, %b, %z : i32
      %and = arith.andi %s, %t : i1
      %or = arith.ori %s, %t : i1
      %xor = arith.xori %s, %t : i1
      %k1 = arith.constant 1 : i32
      %k2 = arith.constant 2 : i32
      %k4 = arith.constant 4 : i32
      %r1 = arith.select %and, %k1, %z : i32
      %r2 = arith.select %or, %k2, %z : i32
      %r4 = arith.select %xor, %k4, %z : i32
      %r3 = arith.addi %r1, %r2 : i32
      %r = arith.addi %r3, %r4 : i32"""
    access = only_access(kernel(body))
    table = {(0, 0): 0, (0, 1): 6, (1, 0): 6, (1, 1): 3}
    for (a, b), expected in table.items():
        assert evaluate(access.offset, {"a": a, "b": b}) == expected


# Overflow.


def test_additions_that_may_overflow_are_assumptions_of_their_accesses() -> None:
    body = """%u = arith.addi %a, %b : i32
      %k = arith.constant 4 : i32
      %w = arith.divsi %u, %k : i32
      %r = arith.addi %w, %k : i32"""
    report = report_of(kernel(body))
    assert [(one.value, str(one.expr)) for one in report.assumptions] == [("%u", "a + b")]
    assert report.accesses[0].assumptions == (0,)
    [assumption] = report.assumptions
    assert [bound.symbol.name for bound in assumption.domain.bounds] == ["a", "b"]


def test_a_flag_of_the_op_replaces_the_assumption() -> None:
    report = report_of(kernel("%r = arith.addi %a, %b overflow<nsw> : i32"))
    assert report.assumptions == ()


def test_given_values_decide_overflow() -> None:
    text = kernel("%r = arith.muli %a, %b : i32")
    assert len(report_of(text).assumptions) == 1
    assert report_of(text, AccessProperties(args={"a": 1000, "b": 1000})).assumptions == ()
    assert (
        len(report_of(text, AccessProperties(args={"a": 100_000, "b": 100_000})).assumptions) == 1
    )


def test_strict_overflow_makes_the_result_opaque() -> None:
    body = """%i = tt.get_program_id x : i32
      %k = arith.constant 64 : i32
      %r = arith.muli %i, %k : i32"""
    strict = only_access(kernel(body), AccessProperties(strict_overflow=True))
    assert (strict.pattern, strict.reason) == (Pattern.UNKNOWN, Reason.UNSUPPORTED)
    bounded = only_access(kernel(body), AccessProperties(grid=(1000,), strict_overflow=True))
    assert bounded.pattern is Pattern.AFFINE


# Facts.


def test_an_assumption_in_the_code_holds_after_it() -> None:
    body = """%z = arith.constant 0 : i32
      %s = arith.cmpi sgt, %b, %z : i32
      llvm.intr.assume %s : i1
      %i = tt.get_program_id x : i32
      %r = arith.divsi %i, %b : i32"""
    access = only_access(kernel(body))
    assert str(access.offset) == "fdiv(pid0, b)"
    assert [holds(fact, {"b": 1}) for fact in access.facts] == [True]


def test_a_divisor_hint_of_a_scalar_is_used() -> None:
    body = """%i = arith.addi %a, %b {tt.divisibility = 8 : i32} : i32
      %k = arith.constant 8 : i32
      %m = arith.remsi %i, %k : i32
      %r = arith.addi %m, %a : i32"""
    access = only_access(kernel(body))
    assert evaluate(access.offset, {"a": 5, "b": 11}) == 5
