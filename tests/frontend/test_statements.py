"""The statements that are neither control flow nor assignment, and odd corners of the others."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.frontend.interpreter import executed, expected
from tests.frontend.mini import (
    Number,
    compiled,
    constexpr,
    jit,
    lines,
    load,
    static_range,
    store,
    traced,
)
from tilewright.frontend.values import Undefined
from tilewright.ir.diagnostics import CompileError


@jit
def empty(n):
    """Only a docstring."""


@jit
def passes(n):
    if n > 0:
        pass
    else:
        pass


def test_statements_that_do_nothing() -> None:
    assert lines(empty) == ["tt.return"]
    assert lines(passes)[1:] == ["scf.if %0 {", "} else {", "}", "tt.return"]


# with


@contextmanager
def marked(index: Any) -> Generator[Number]:
    store(index, 1)
    yield load(index)
    store(index, 2)


@jit
def uses_with(n):
    with marked(n) as x, marked(3):
        y = x + n
    store(y, x)


def test_with_runs_what_python_runs() -> None:
    assert lines(uses_with) == [
        "tt.call @store(%n, 1) : (i32, i32) -> ()",
        "%0 = tt.call @load(%n) : (i32) -> i32",
        "tt.call @store(3, 1) : (i32, i32) -> ()",
        "%1 = tt.call @load(3) : (i32) -> i32",
        "%y = arith.addi %0, %n : i32",
        "tt.call @store(3, 2) : (i32, i32) -> ()",
        "tt.call @store(%n, 2) : (i32, i32) -> ()",
        "tt.call @store(%y, %0) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def with_then_loop(n):
    with marked(0) as x:
        for i in range(n):
            x = x + i
    store(0, x)


def test_what_with_names_can_be_carried() -> None:
    assert "iter_args(%x = %0)" in next(line for line in lines(with_then_loop) if "for" in line)


# corners


@jit
def slices(n, SHAPE: constexpr):
    inner = SHAPE[1:]
    (a, b), c = SHAPE[0 : len(SHAPE) - 1 : 1], SHAPE[-1]
    store(a + inner[0], b + c)


def test_slices_of_constants() -> None:
    assert "tt.call @store(%0, %1) : (i32, i32) -> ()" in lines(slices, SHAPE=(1, 2, 3))


@jit
def walrus_in_comprehension(n):
    xs = [(last := n + i) for i in (1, 2)]
    store(xs[0], last)


def test_a_walrus_in_a_comprehension_assigns_outside() -> None:
    assert [executed(walrus_in_comprehension, v) for v in (3, 4)] == [[(4, 5)], [(5, 6)]]
    assert expected(walrus_in_comprehension, 3) == [(4, 5)]


@jit
def reordered_call(n):
    store((n + 1).twice(plus=load(1)), value=n)
    store(value=load(2), index=-1)
    (n + 2).twice(plus=n)
    pick((n + 3).twice, load(4), plus=load(5))


@jit
def pick(FUNCTION: constexpr, x, plus):
    store(x, FUNCTION(plus=plus))


def test_the_object_of_a_method_comes_before_its_keywords() -> None:
    source = "@jit\ndef kernel(n):\n    store(0, both(n + 1)(load(2), k=load(3)))\n"
    kernel = compiled(source, both=lambda x: lambda y, k: x + y + k)["kernel"]
    order = [line.split(" = ")[1].split("(")[0] for line in lines(kernel)[:3]]
    assert order == ["arith.addi %n, 1 : i32", "tt.call @load", "tt.call @load"]
    loads = [line for line in lines(kernel) if "@load" in line]
    assert [line.partition("@load(")[2][0] for line in loads] == ["3", "2"]


def test_bound_methods_are_values() -> None:
    assert lines(reordered_call)[-2].startswith("tt.call @store(")


@jit
def loop_in_branch(n, m):
    i = 7
    if n > 0:
        for i in range(m):
            store(i, n)
    else:
        store(9, n)


def test_a_loop_variable_is_gone_behind_the_branch_that_held_the_loop() -> None:
    for values in ((1, 2), (0, 2)):
        assert executed(loop_in_branch, *values) == expected(loop_in_branch, *values)


@jit
def reads_after_branch(n):
    i = 7
    if n > 0:
        for i in range(n):
            store(i, n)
    store(0, i)


def test_reading_it_there_is_told() -> None:
    with pytest.raises(CompileError, match="i is not defined: only the else branch"):
        traced(reads_after_branch)


@jit
def value_of_a_value(n):
    store(0, n.value)


def test_a_run_time_value_has_no_value() -> None:
    with pytest.raises(CompileError, match="'Number' object has no attribute 'value'"):
        traced(value_of_a_value)


@jit
def unrolled_loops_keep_going(n):
    s = n
    for i in static_range(2):
        for j in static_range(2):
            if s > 3:
                s = s - i
            else:
                t = s + j
                s = t
    for _ in static_range(0):
        s = nobody(s)  # noqa: F821
    store(s, i + j)


def test_unrolled_loops() -> None:
    for value in (0, 3, 9):
        assert executed(unrolled_loops_keep_going, value) == expected(
            unrolled_loops_keep_going, value
        )


def test_parameters_without_future_annotations() -> None:
    source = "@jit\ndef kernel(n: int, K: constexpr, L: constexpr = 3, m: 'fp32' = 1.0, z: 5 = 2):\n    pass\n"
    kernel = compiled(source)["kernel"]
    assert [(each.name, each.annotation, each.is_constexpr) for each in kernel.params] == [
        ("n", "int", False),
        ("K", "constexpr", True),
        ("L", "constexpr", True),
        ("m", "fp32", False),
        ("z", "5", False),
    ]


def test_names_of_kernel_functions() -> None:
    assert pick.name == "pick"
    assert pick.full_name == f"{__name__}.pick"
    assert repr(pick) == f"KernelFunction({__name__}.pick)"
    assert pick.__doc__ is None
    assert empty.__doc__ == "Only a docstring."


def test_an_undefined_value_fails_at_every_use() -> None:
    value: Any = Undefined("x", "because")
    uses = [
        lambda: value + 1,
        lambda: 1 - value,
        lambda: -value,
        lambda: value < 3,
        lambda: value[0],
        lambda: value(),
        lambda: value.attribute,
        lambda: bool(value),
        lambda: list(value),
    ]
    for use in uses:
        with pytest.raises(NameError, match=r"^x is not defined: because$"):
            use()


def test_an_exception_without_text_is_told_by_its_type() -> None:
    def fail() -> None:
        raise LookupError

    kernel = compiled("@jit\ndef kernel():\n    fail()\n", fail=fail)["kernel"]
    with pytest.raises(CompileError, match=r"kernel.py:3:5: error\[TW1010\]: LookupError"):
        traced(kernel)
