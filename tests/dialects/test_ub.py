"""The text and the checks of ``ub``."""

import pytest
from xdsl.dialects.builtin import f32
from xdsl.traits import ConstantLike, IsTerminator, is_side_effect_free

from tests.dialects.text_support import (
    check_same_as_triton,
    function,
    messages,
    printed_body,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import ub
from tilewright.ir.interfaces import constant_value

LINES = [
    "%0 = ub.poison : i32",
    "%1 = ub.poison {a} : tensor<4x!tt.ptr<f32>>",
    "%c1_i32 = arith.constant {a = #ub.poison} 1 : i32",
    "ub.unreachable {a}",
]


def test_lines_come_back():
    text = function("\n".join(LINES))
    assert printed_body(text) == LINES
    assert through_generic_form(text) == LINES
    check_same_as_triton(text)


def test_value_may_be_spelled_out():
    text = function("%0 = ub.poison <#ub.poison> : i32\nub.unreachable")
    assert printed_body(text) == ["%0 = ub.poison : i32", "ub.unreachable"]
    check_same_as_triton(text)


def test_poison_is_a_constant():
    op = ub.PoisonOp(f32)
    op.verify()
    assert op.get_trait(ConstantLike) is not None
    assert constant_value(op.result) == ub.POISON
    assert is_side_effect_free(op)


def test_nothing_follows_unreachable(capfd: pytest.CaptureFixture[str]):
    text = function("ub.unreachable\n  tt.return")
    message = "'ub.unreachable' op must be the last operation in the parent block"
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]
    assert ub.UnreachableOp().has_trait(IsTerminator)
