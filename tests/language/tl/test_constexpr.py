"""Boxes around values known when a kernel is compiled."""

import operator
from typing import Any

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Block

import tilewright.language.tl as tl
from tilewright.frontend.builder import Builder, using
from tilewright.language.tl.constexpr import unwrap

BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_gives_boxes(name: str) -> None:
    function: Any = getattr(operator, name)
    for left, right in (
        (tl.constexpr(7), tl.constexpr(2)),
        (tl.constexpr(7), 2),
        (7, tl.constexpr(2)),
    ):
        result = function(left, right)
        assert isinstance(result, tl.constexpr)
        assert result.value == function(7, 2)
        assert type(result.value) is type(function(7, 2))


def test_one_operand() -> None:
    box = tl.constexpr(5)
    assert [(-box).value, (+box).value, (~box).value] == [-5, 5, -6]
    assert (int(box), float(box), operator.index(box), bool(tl.constexpr(0))) == (5, 5.0, 5, False)
    assert [10, 20, 30][tl.constexpr(1)] == 20
    assert repr(box) == "constexpr[5]"
    assert {box: "found"}[5] == "found"


def test_what_is_inside_can_be_used() -> None:
    assert tl.constexpr((4, 5))[tl.constexpr(1)] == 5
    assert list(tl.constexpr([1, 2])) == [1, 2]
    assert len(tl.constexpr("abc")) == 3
    assert tl.constexpr(max)(3, 8) == 8
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert tl.constexpr(3).type == tl.constexpr_type(3)
    assert (repr(tl.constexpr_type(3)), tl.constexpr_type("a").mangle()) == (
        "constexpr_type[3]",
        "c'a'",
    )
    assert tl.constexpr_type(tl.float32).mangle() == "cfp32"


def test_unwrap_opens_lists_and_tuples() -> None:
    assert unwrap([tl.constexpr(1), (tl.constexpr(2), 3)]) == [1, (2, 3)]
    assert unwrap(tl.constexpr(None)) is None


def test_a_tensor_keeps_the_upper_hand() -> None:
    """A constant of another module is used as it is found there, in its box."""
    block = Block(arg_types=[i32])
    n, three = tl.tensor(block.args[0], tl.int32), tl.constexpr(3)
    with using(Builder(block)):
        for function in (operator.add, operator.sub, operator.floordiv, operator.lt, operator.eq):
            for result in (function(three, n), function(n, three)):
                assert isinstance(result, tl.tensor)
    names = [op.name for op in block.ops if op.name != "arith.constant"]
    assert names == [
        "arith.addi", "arith.addi", "arith.subi", "arith.subi", "arith.divsi", "arith.divsi",
        "arith.cmpi", "arith.cmpi", "arith.cmpi", "arith.cmpi",
    ]  # fmt: skip


def test_inside_a_kernel_a_constant_needs_no_box() -> None:
    three = tl.constexpr(3)
    with using(Builder(Block())):
        assert tl.constexpr(5) == 5
        assert type(tl.constexpr(5)) is int
        assert type(three + 1) is int
        assert tl.constexpr(three) == 3
    assert isinstance(three + 1, tl.constexpr)
