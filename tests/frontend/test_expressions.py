"""Expressions: truth, order of evaluation, and what is decided while tracing."""

from __future__ import annotations

from enum import Enum

import pytest

from tests.frontend.mini import constexpr, jit, lines, load, static_range, store, traced
from tilewright.ir.diagnostics import CompileError


class Mode(Enum):
    FAST = 1
    SLOW = 2


# and, or, not, chains


@jit
def conjunction(n, m, K: constexpr):
    store(5, n > 0 and K and m > 1 and n < m)


def test_run_time_operands_are_combined_from_the_right() -> None:
    assert lines(conjunction, K=1) == [
        "%0 = arith.cmpi sgt, %n, 0 : i32",
        "%1 = arith.cmpi sgt, %m, 1 : i32",
        "%2 = arith.cmpi slt, %n, %m : i32",
        "%3 = arith.andi %1, %2 : i1",
        "%4 = arith.andi %0, %3 : i1",
        "tt.call @store(5, %4) : (i32, i1) -> ()",
        "tt.return",
    ]


def test_a_constant_ends_the_evaluation_and_is_the_result() -> None:
    assert lines(conjunction, K=0) == [
        "%0 = arith.cmpi sgt, %n, 0 : i32",
        "tt.call @store(5, 0) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def disjunction(n, K: constexpr):
    store(5, K or n > 0 or K)


def test_or_is_the_other_way_round() -> None:
    assert lines(disjunction, K=7) == ["tt.call @store(5, 7) : (i32, i32) -> ()", "tt.return"]
    assert lines(disjunction, K=0)[0] == "%0 = arith.cmpi sgt, %n, 0 : i32"
    assert lines(disjunction, K=0)[1] == "tt.call @store(5, %0) : (i32, i1) -> ()"


@jit
def only_constants(K: constexpr):
    store(K and 3, 0 or None or K)


def test_of_constants_the_last_one_counts() -> None:
    assert lines(only_constants, K=2)[0] == "tt.call @store(3, 2) : (i32, i32) -> ()"


@jit
def negation(n, K: constexpr):
    store(not K, not n > 0)


def test_not_of_a_value_and_of_a_constant() -> None:
    assert lines(negation, K=0) == [
        "%0 = arith.cmpi sgt, %n, 0 : i32",
        "%1 = arith.xori %0, true : i1",
        "tt.call @store(true, %1) : (i1, i1) -> ()",
        "tt.return",
    ]


@jit
def chain(n, m):
    store(0, 1 < load(n) < m)


def test_the_middle_of_a_chain_is_evaluated_once() -> None:
    assert lines(chain)[:4] == [
        "%0 = tt.call @load(%n) : (i32) -> i32",
        "%1 = arith.cmpi sgt, %0, 1 : i32",
        "%2 = arith.cmpi slt, %0, %m : i32",
        "%3 = arith.andi %1, %2 : i1",
    ]


@jit
def constant_chain(n, K: constexpr):
    if 0 < K < 3 < n:
        store(0, n)


def test_a_chain_of_constants_decides_while_tracing() -> None:
    assert lines(constant_chain, K=5) == ["tt.return"]
    assert lines(constant_chain, K=1)[0] == "%0 = arith.cmpi sgt, %n, 3 : i32"


@jit
def identity(n, K: constexpr):
    if K is None:
        store(0, n)
    if n is not None and K in (None, 1):
        store(1, n)


def test_is_and_in_are_decided_while_tracing() -> None:
    assert lines(identity, K=None)[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"
    assert lines(identity, K=None)[1] == "tt.call @store(1, %n) : (i32, i32) -> ()"
    assert lines(identity, K=2) == ["tt.return"]


# conditional expressions


@jit
def choice(n, m, K: constexpr):
    store(n if K else undefined_name, load(n) if n > m else 3)  # noqa: F821


def test_conditional_expressions() -> None:
    assert lines(choice, K=True) == [
        "%0 = arith.cmpi sgt, %n, %m : i32",
        "%1 = scf.if %0 -> (i32) {",
        "%2 = tt.call @load(%n) : (i32) -> i32",
        "scf.yield %2 : i32",
        "} else {",
        "scf.yield 3 : i32",
        "}",
        "tt.call @store(%n, %1) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def choice_of_tuples(n, m):
    a, b = (n, 1) if n > m else (2, m)
    store(a, b)


def test_a_conditional_expression_of_tuples_has_several_results() -> None:
    found = lines(choice_of_tuples)
    assert found[1] == "%1:2 = scf.if %0 -> (i32, i32) {"
    assert found[-2] == "tt.call @store(%1#0, %1#1) : (i32, i32) -> ()"


# order of evaluation


@jit
def keywords(n):
    store(0, load(1).twice(plus=load(2)) + load(n + 1))
    store(index=load(3), value=load(4))
    store(load(5), value=load(6))
    n.twice(plus=load(7))


def test_keywords_are_evaluated_before_positional_arguments() -> None:
    loads = [line.partition("(")[2][0] for line in lines(keywords) if "@load" in line]
    # 1 is the object of the method; 6 is a keyword, 5 is not.
    assert loads == ["1", "2", "%", "3", "4", "6", "5", "7"]


@jit
def transposed(n, m):
    store(n.T, value=load(m))


def test_an_attribute_that_computes_waits_for_the_keywords() -> None:
    assert [line.split(" = ")[1].split()[0] for line in lines(transposed)[:2]] == [
        "tt.call",
        "arith.muli",
    ]


# the rest


@jit
def values(n, K: constexpr, M: constexpr):
    store(K.value, M.value)
    store(len((n, n)), min(K, 2))


def test_a_constant_is_its_own_value() -> None:
    assert lines(values, K=4, M=Mode.SLOW) == [
        "tt.call @store(4, 2) : (i32, i32) -> ()",
        "tt.call @store(2, 2) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def formatted(n, K: constexpr):
    name: constexpr = f"{K:03d}-{'x' if K else 'y'}{K!r}"
    assert n > 0, name


def test_format_strings_of_constants_and_assert() -> None:
    assert lines(formatted, K=7)[1] == 'tt.call @"assert:007-x7"(%0) : (i1) -> ()'


@jit
def formatted_value(n):
    assert n > 0, f"n is {n}"


def test_format_strings_of_values_are_refused() -> None:
    with pytest.raises(CompileError, match="an f-string can show what is known at compile time"):
        traced(formatted_value)


@jit
def comprehensions(n, ROWS: constexpr):
    offsets = [n + r for r in ROWS if r > 1]
    doubled = [a * b for a, b in ((offsets[0], 2), (offsets[1], 3))]
    squares = [i * i for i in static_range(3)]
    store(doubled[1], squares[2])


def test_comprehensions_run_while_tracing() -> None:
    found = lines(comprehensions, ROWS=(1, 2, 3))
    assert found[:2] == [
        "%offsets = arith.addi %n, 2 : i32",
        "%offsets = arith.addi %n, 3 : i32",
    ]
    assert found[-2] == "tt.call @store(%doubled, 4) : (i32, i32) -> ()"


@jit
def lists(n):
    xs = [n, [1, n]]
    for i in range(n):
        xs = [xs[0] + i, xs[1]]
    store(xs[0], xs[1][0])


def test_a_list_is_a_tuple() -> None:
    assert lines(lists)[0].startswith("%xs.1.1:3 = scf.for")


@jit
def annotations(n):
    a: int = 3
    b: constexpr = 3
    c: constexpr
    c = 4
    c = c + b
    store(a, n + b)
    store(c, n)


def test_annotated_constants_stay_constants() -> None:
    # `a` is a value as soon as it has a name, and so is `c` from its second assignment on.
    assert lines(annotations) == [
        "%0 = arith.addi %n, 3 : i32",
        "tt.call @store(3, %0) : (i32, i32) -> ()",
        "tt.call @store(7, %n) : (i32, i32) -> ()",
        "tt.return",
    ]
    names = str(traced(annotations).module)
    assert "%a = arith.constant 3" in names
    assert "%b = arith.constant" not in names


@jit
def redeclared(n):
    for i in static_range(2):
        k: constexpr = i + 1
        store(k, n)


def test_an_unrolled_loop_declares_its_constants_anew() -> None:
    assert lines(redeclared)[:2] == [
        "tt.call @store(1, %n) : (i32, i32) -> ()",
        "tt.call @store(2, %n) : (i32, i32) -> ()",
    ]


@jit
def names_in_comprehensions(n):
    x = load(9)
    ys = [x for x in (n, n)]  # noqa: C416
    store(x, ys[0])


def test_what_a_comprehension_binds_stays_inside() -> None:
    assert lines(names_in_comprehensions)[-2] == "tt.call @store(%x, %n) : (i32, i32) -> ()"
