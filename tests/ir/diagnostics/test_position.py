"""Location trees become one place to look at and the calls that led there."""

import time

import pytest
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    i32,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from tilewright.ir.diagnostics import Frame, SourcePosition, Trail, resolve
from tilewright.ir.diagnostics.position import MAX_FRAMES
from tilewright.ir.text.locations import FileLineColRangeLoc


def at(file: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def named(name: str, inner: Attribute | None = None) -> NameLoc:
    return NameLoc(StringAttr(name), NoneAttr() if inner is None else inner)


def call(callee: Attribute, caller: Attribute) -> CallSiteLoc:
    return CallSiteLoc(callee, caller)


def fused(*parts: Attribute) -> FusedLoc:
    return FusedLoc(parts, NoneAttr())


A = SourcePosition("a.py", 1, 2)
B = SourcePosition("b.py", 3, 4)
C = SourcePosition("c.py", 5, 6)
LOC_A, LOC_B, LOC_C = at("a.py", 1, 2), at("b.py", 3, 4), at("c.py", 5, 6)
UNKNOWN = UnknownLoc()


def range_location(end_line: int, end_column: int) -> FileLineColRangeLoc:
    numbers = [IntAttr(n) for n in (3, 4, end_line, end_column)]
    return FileLineColRangeLoc(StringAttr("f.py"), *numbers)


@pytest.mark.parametrize(
    ("location", "trail"),
    [
        (None, Trail()),
        (UNKNOWN, Trail()),
        (i32, Trail()),
        (A, Trail(A)),
        (LOC_A, Trail(A)),
        (range_location(5, 6), Trail(SourcePosition("f.py", 3, 4, 5, 6))),
        (named("x"), Trail(names=("x",))),
        (named("x", UNKNOWN), Trail(names=("x",))),
        (named("x", LOC_A), Trail(A, ("x",))),
        (named("x", named("y", LOC_A)), Trail(A, ("x", "y"))),
        (named("x", range_location(3, 9)), Trail(SourcePosition("f.py", 3, 4, 3, 9), ("x",))),
    ],
    ids=str,
)
def test_simple_locations(location: Attribute | SourcePosition | None, trail: Trail):
    assert resolve(location) == trail


def test_callee_is_primary_and_callers_follow_in_order():
    location = call(LOC_A, call(LOC_B, LOC_C))
    assert resolve(location) == Trail(A, (), (Frame(B), Frame(C)))


def test_a_call_site_as_callee_gives_the_same_chain():
    assert resolve(call(call(LOC_A, LOC_B), LOC_C)) == Trail(A, (), (Frame(B), Frame(C)))


def test_names_stay_with_their_frame():
    location = call(named("f", LOC_A), call(named("g", LOC_B), LOC_C))
    assert resolve(location) == Trail(A, ("f",), (Frame(B, ("g",)), Frame(C)))


def test_a_name_around_a_call_names_the_callee():
    assert resolve(named("acc", call(LOC_A, LOC_B))) == Trail(A, ("acc",), (Frame(B),))


def test_an_unplaced_callee_makes_the_caller_primary():
    assert resolve(call(UNKNOWN, LOC_B)) == Trail(B)
    assert resolve(call(named("f"), call(UNKNOWN, LOC_C))) == Trail(C)


def test_an_unplaced_caller_is_left_out():
    assert resolve(call(LOC_A, call(UNKNOWN, LOC_C))) == Trail(A, (), (Frame(C),))
    assert resolve(call(LOC_A, UNKNOWN)) == Trail(A)


def test_fused_takes_the_first_part_with_a_position():
    assert resolve(fused(LOC_B, LOC_A)) == Trail(B)
    assert resolve(fused(UNKNOWN, named("x"), fused(UNKNOWN), LOC_A, LOC_B)) == Trail(A)


def test_fused_keeps_the_call_chain_of_its_part():
    assert resolve(fused(UNKNOWN, call(LOC_A, LOC_B), LOC_C)) == Trail(A, (), (Frame(B),))


def test_without_a_position_the_first_name_is_kept():
    assert resolve(fused(UNKNOWN, named("x", named("y")), named("z"))) == Trail(names=("x", "y"))
    assert resolve(call(UNKNOWN, named("k"))) == Trail(names=("k",))
    assert resolve(fused()) == Trail()


def test_deep_nesting_is_not_limited_by_the_python_stack():
    location: Attribute = LOC_A
    for _ in range(20_000):
        location = fused(location)
    assert resolve(location) == Trail(A)


def test_a_long_call_chain_is_cut():
    location: Attribute = LOC_A
    for line in range(5_000):
        location = call(at("k.py", line, 1), location)
    trail = resolve(location)
    assert trail.primary == SourcePosition("k.py", 4_999, 1)
    assert len(trail.callers) == MAX_FRAMES - 1
    assert trail.callers[-1] == Frame(SourcePosition("k.py", 4_999 - (MAX_FRAMES - 1), 1))


@pytest.mark.parametrize("leaf", [UNKNOWN, LOC_A], ids=["unknown", "placed"])
def test_shared_parts_do_not_take_exponential_time(leaf: Attribute):
    location = leaf
    for _ in range(200):
        location = fused(call(location, location), location)
    begin = time.process_time()
    trail = resolve(location)
    assert time.process_time() - begin < 2
    assert trail.primary == (None if leaf is UNKNOWN else A)
    assert len(trail.callers) == (0 if leaf is UNKNOWN else MAX_FRAMES - 1)


def test_a_foreign_attribute_with_the_range_name_is_not_trusted():
    @irdl_attr_definition
    class Impostor(ParametrizedAttribute):
        name = "builtin.file_line_col_range"
        filename: StringAttr
        start_line: StringAttr

    @irdl_attr_definition
    class Nameless(ParametrizedAttribute):
        name = "builtin.file_line_col_range"

    assert resolve(Impostor(StringAttr("f"), StringAttr("1"))) == Trail()
    assert resolve(Nameless()) == Trail()


def test_positions_and_frames_read_well():
    assert str(A) == "a.py:1:2"
    assert str(Frame(A)) == "a.py:1:2"
    assert str(Frame(A, ("outer", "inner"))) == "a.py:1:2 in outer"
