"""``with``: regions that decide how often their body is traced, besides Python's own contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from typing_extensions import override

from tests.frontend.mini import constexpr, jit, lines, load, store
from tilewright.frontend.control_flow.regions import TracedRegion
from tilewright.ir.diagnostics import CompileError


class Twice(TracedRegion):
    """Traces its body for 10 and 20, and tells afterwards what the body read."""

    reads: dict[str, Any] = {}
    before: Mapping[str, Any] = {}

    @override
    def traces(self, control: Any, before: Mapping[str, Any]) -> Iterator[object]:
        outer, control.reads = control.reads, {}
        yield from (10, 20)
        Twice.reads, Twice.before = control.reads, before
        control.reads = outer


def twice() -> Twice:
    return Twice()


class Never(TracedRegion):
    """Does not trace its body."""

    @override
    def traces(self, control: Any, before: Mapping[str, Any]) -> Iterator[object]:
        return iter(())


def never() -> Never:
    return Never()


@jit
def in_turns(n):
    x = n
    with twice() as number:
        x = x + number
        store(x, n)
    store(0, x)


def test_every_turn_starts_from_the_same_variables() -> None:
    found = lines(in_turns)
    sums = [line.split(" = ")[0] for line in found if "addi" in line]
    assert [line for line in found if "addi" in line] == [
        f"{sums[0]} = arith.addi %n, 10 : i32",
        f"{sums[1]} = arith.addi %n, 20 : i32",
    ]
    assert "tt.call @store(0, %n) : (i32, i32) -> ()" in found


def test_what_was_read_and_what_was_before() -> None:
    lines(in_turns)
    assert set(Twice.reads) == {"x", "n", "number"}
    assert set(Twice.before) == {"x", "number"}
    assert str(Twice.before["x"]) == "i32"


@jit
def reads_one_side(n, m, FIRST: constexpr):
    with twice():
        if FIRST:
            store(0, n)
        else:
            store(0, m)


def test_only_what_is_executed_is_read() -> None:
    lines(reads_one_side, FIRST=True)
    assert set(Twice.reads) == {"FIRST", "n"}
    lines(reads_one_side, FIRST=False)
    assert set(Twice.reads) == {"FIRST", "m"}


@jit
def uses_what_a_region_assigned(n):
    with twice():
        y = n
    store(0, y)


def test_nothing_comes_out_of_a_region() -> None:
    with pytest.raises(CompileError, match="y is not defined"):
        lines(uses_what_a_region_assigned)


@jit
def skipped(n):
    with never():
        store(0, 1)
    store(n, 2)


def test_a_body_that_is_not_traced() -> None:
    assert lines(skipped) == ["tt.call @store(%n, 2) : (i32, i32) -> ()", "tt.return"]


@jit
def nested(n):
    with twice() as a:
        for i in range(n):
            with twice() as b:
                store(a, b + i)


def test_regions_in_loops_in_regions() -> None:
    found = [line for line in lines(nested) if "@store" in line]
    assert [line.split("(")[1].split(",")[0] for line in found] == ["10", "10", "20", "20"]


@jit
def comprehends(n):
    with twice() as number:
        parts = [n + i for i in (1, number)]
        store(parts[0], parts[1])


def test_comprehensions_work_inside() -> None:
    assert sum("@store" in line for line in lines(comprehends)) == 2
    assert {"n", "number", "parts"} <= set(Twice.reads)


@jit
def loads_in_regions(n):
    with twice():
        x = load(n)
        x = x + x
        store(x, n)


def test_loops_and_calls_work_inside() -> None:
    assert sum("@load" in line for line in lines(loads_in_regions)) == 2
