"""The walk over a module: every fault is reported, whatever a verifier raises."""

import inspect
import sys
from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, OpTrait, OpTraits, Region

from tests.ir.flow_ops import (
    VALID,
    EndOp,
    PlainOp,
    check,
    detach,
    first,
    messages,
    named,
    parse,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import CallLike, Edge, Point, RegionBranch, enter
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify, verify_operation

NOT_DOMINATING = "operand #0 does not dominate this use"


def test_valid_ir_has_no_errors():
    assert check(parse(VALID)) == []


# The ops' own verifiers.


def test_several_bad_ops_are_all_reported_without_printing_the_module():
    module = parse("""
      func.func @f(%x: i32, %y: i64) {
        %a = arith.addi %x, %x : i32
        %b = arith.muli %x, %x : i32
        func.return
      }""")
    for name in ("arith.addi", "arith.muli"):
        first(module, name).operands[1] = named(module, "y")
    text = "op operand #1: attribute i32 expected from variable 'T', but got i64"
    assert messages(module) == [f"'arith.addi' {text}", f"'arith.muli' {text}"]


def test_plain_exceptions_of_verifiers_are_errors_too():
    module = parse("""
      func.func @f(%c: i1, %x: i32) {
        %r = scf.while (%a = %x) : (i32) -> i32 {
          scf.condition(%c) %a : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %b : i32
        }
        func.return
      }""")
    first(module, "scf.while").operands[0] = named(module, "c")
    assert messages(module) == [
        "'scf.while' op Block arguments with wrong type, expected i1, got i32"
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("width must be 8"), "width must be 8"),
        (
            IndexError("list index out of range"),
            "verifier raised IndexError: list index out of range",
        ),
        (Exception(), "verifier raised Exception"),
    ],
)
def test_what_a_failing_verifier_says(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
):
    def fail(_: Operation) -> None:
        raise error

    monkeypatch.setattr("tilewright.ir.verify.verify_by_definition", fail)
    assert verify_operation(PlainOp.create()) == message
    assert messages(PlainOp.create()) == [f"'test.op' op {message}"]


def test_name_of_the_op_is_said_once(monkeypatch: pytest.MonkeyPatch):
    texts = iter(["'test.op' op is wrong", "'test.op' is wrong", "is wrong", "op is wrong"])

    def fail(_: Operation) -> None:
        raise ValueError(next(texts))

    monkeypatch.setattr("tilewright.ir.verify.verify_by_definition", fail)
    expected = ["is wrong", "is wrong", "is wrong", "op is wrong"]
    assert [verify_operation(PlainOp.create()) for _ in range(4)] == expected


def test_verifier_of_single_ops_can_be_replaced():
    seen: list[str] = []

    def picky(op: Operation) -> str | None:
        seen.append(op.name)
        return "is not wanted" if op.name == "func.return" else None

    engine = DiagnosticEngine()
    assert not verify(parse("func.func @f() {\n func.return\n }"), engine, picky)
    assert seen == ["builtin.module", "func.func", "func.return"]
    assert [d.message for d in engine.diagnostics] == ["'func.return' op is not wanted"]


def test_op_too_broken_for_the_rules_is_left_to_its_own_verifier():
    module = parse("func.func @f() {\n func.return\n }")
    del first(module, "func.func").properties["function_type"]
    assert messages(module) == [
        "'func.func' op requires attribute 'function_type'",
        "'func.return' op verifier raised KeyError: 'function_type'",
    ]


class Confused(CallLike):
    @classmethod
    def callee(cls, op: Operation) -> SymbolRefAttr | None:
        raise ValueError("callee cannot be read")


class Lost(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        return [enter(op, op.regions[7])]


@pytest.mark.parametrize(
    ("trait", "message"),
    [
        (Confused(), "callee cannot be read"),
        (Lost(), "verifier raised IndexError: tuple index out of range"),
    ],
)
def test_trait_that_fails_is_an_error(trait: OpTrait, message: str):
    class FailingOp(PlainOp):
        traits = OpTraits(lambda: (trait,))

    assert messages(ModuleOp([FailingOp.create()])) == [f"'test.op' op {message}"]


def test_unregistered_op_is_called_by_its_own_name():
    module = parse("""
      func.func @f(%x: i32) {
        "no.such_op"(%x) : (i32) -> ()
        %a = arith.addi %x, %x : i32
        func.return
      }""")
    assert check(module) == []
    late = named(module, "a")
    next(op for op in walk(module) if op.name == "builtin.unregistered").operands[0] = late
    assert messages(module) == [NOT_DOMINATING]
    detach(first(module, "func.return"))
    assert messages(module)[0] == "block with no terminator, has 'arith.addi'"


def test_deep_nesting_needs_no_deep_stack():
    # Built by hand: a parser or printer may well recurse.
    block = Block([EndOp.create()])
    for _ in range(300):
        block = Block([PlainOp.create(regions=[Region(block)]), EndOp.create()])
    module = ModuleOp([PlainOp.create(regions=[Region(block)])])
    limit = sys.getrecursionlimit()
    depth = len(inspect.stack())
    try:
        sys.setrecursionlimit(depth + 100)
        found = messages(module)
    finally:
        sys.setrecursionlimit(limit)
    assert found == []
