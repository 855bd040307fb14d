"""Names that a kernel takes from around it: found late, checked, and remembered."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.frontend.mini import compiled, constexpr, jit, lines, load, store, traced
from tilewright.frontend.captures import Capture
from tilewright.frontend.functions.function import KernelFunction
from tilewright.ir.diagnostics import CompileError

SIZE = constexpr(16)


@jit
def helper(x):
    return x + SIZE


@jit
def kernel(n):
    store(SIZE, helper(n))


def captured(function: KernelFunction, **constants: Any) -> dict[str, Capture]:
    return {capture.key: capture for capture in traced(function, **constants).captured}


def test_what_was_used_is_remembered_for_every_function() -> None:
    here = "tests.frontend.test_captures"
    assert {key: capture.value for key, capture in captured(kernel).items()} == {
        f"{here}.kernel:store": store,
        f"{here}.kernel:SIZE": SIZE,
        f"{here}.kernel:helper": helper,
        f"{here}.helper:SIZE": SIZE,
    }


def test_every_function_that_took_part_is_listed() -> None:
    assert traced(kernel).functions == (kernel, helper)


def test_a_capture_knows_whether_it_is_current() -> None:
    names = compiled("@jit\ndef kernel(n):\n    store(SIZE, n)\n", SIZE=constexpr(4))
    found = {key.rpartition(":")[2]: each for key, each in captured(names["kernel"]).items()}
    assert all(each.is_current() for each in found.values())
    names["SIZE"] = constexpr(5)
    assert not found["SIZE"].is_current()
    assert found["store"].is_current()
    del names["SIZE"]
    assert not found["SIZE"].is_current()


def test_equal_values_are_as_good_as_the_same() -> None:
    value = (1, "x")
    names: dict[str, Any] = {"LIMIT": value}
    capture = Capture("k", value, lambda: names["LIMIT"])
    names["LIMIT"] = (1, "x" * 1)
    assert capture.is_current()
    names["LIMIT"] = (1.0, "x")  # equal, and other code
    assert not capture.is_current()
    names["LIMIT"] = [1, "x"]
    assert not capture.is_current()


class Grumpy:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None


def test_a_value_that_cannot_be_compared_is_not_current() -> None:
    assert not Capture("k", Grumpy(), lambda: Grumpy()).is_current()


def test_changed_constants_are_seen_by_the_next_trace() -> None:
    names = compiled("@jit\ndef kernel(n):\n    store(SIZE, n)\n", SIZE=constexpr(4))
    assert lines(names["kernel"])[0].startswith("tt.call @store(4,")
    names["SIZE"] = constexpr(5)
    assert lines(names["kernel"])[0].startswith("tt.call @store(5,")


def test_free_variables_are_seen() -> None:
    size = constexpr(3)

    @jit
    def inside(n):
        store(size, n)

    assert lines(inside)[0].startswith("tt.call @store(3,")
    size = constexpr(7)
    assert lines(inside)[0].startswith("tt.call @store(7,")


def test_a_free_variable_without_a_value_is_told() -> None:
    @jit
    def inside(n):
        store(later, n)

    with pytest.raises(CompileError, match="later is not defined"):
        traced(inside)
    later = constexpr(1)
    assert lines(inside)[0].startswith(f"tt.call @store({later.value},")


@jit
def uses_what_it_may_not(n, FLAG: constexpr):
    if FLAG:
        store(len((n,)), math.floor(2.5))
    else:
        store(0, PLAIN)


PLAIN = 5


def test_names_are_looked_up_when_they_are_used() -> None:
    assert lines(uses_what_it_may_not, FLAG=True)[0] == "tt.call @store(1, 2) : (i32, i32) -> ()"
    with pytest.raises(CompileError, match="PLAIN is not a constexpr"):
        traced(uses_what_it_may_not, FLAG=False)


def test_builtins_are_those_of_the_language() -> None:
    with pytest.raises(CompileError, match="sorted is not defined"):
        traced(compiled("@jit\ndef kernel(n):\n    store(0, sorted((n, n)))\n")["kernel"])


def test_a_module_may_hide_a_builtin() -> None:
    source = "@jit\ndef kernel(n):\n    store(min(3, 4), n)\n"
    kernel = compiled(source, min=max)["kernel"]
    with pytest.raises(CompileError, match="min is not a constexpr"):
        traced(kernel)


def test_a_local_name_hides_a_global_one_everywhere() -> None:
    source = "@jit\ndef kernel(n):\n    store(0, SIZE)\n    SIZE = 3\n"
    with pytest.raises(CompileError, match="SIZE is not defined: the assignment in line 4"):
        traced(compiled(source, SIZE=constexpr(1))["kernel"])


def test_loads_are_not_in_the_way_of_memory() -> None:
    """A kernel's own variable may be called like a function of the language."""
    source = "@jit\ndef kernel(load):\n    store(0, load)\n"
    assert lines(compiled(source)["kernel"])[0] == "tt.call @store(0, %load) : (i32, i32) -> ()"
    assert load is not None
