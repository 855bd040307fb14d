"""The solver across functions."""

from math import inf

from tests.ir.flow_ops import (
    named,
    parse,
)
from tests.ir.intervals import ANYTHING, Intervals, bounds, intervals
from tilewright.ir.dataflow import solve


def test_private_function_joins_its_call_sites():
    text = """
      func.func private @g(%p: i32) -> i32 {
        %q = arith.addi %p, %p : i32
        func.return %q : i32
      }
      func.func @f() {
        %a = arith.constant 3 : i32
        %b = arith.constant 5 : i32
        %r = func.call @g(%a) : (i32) -> i32
        %s = func.call @g(%b) : (i32) -> i32
        func.return
      }"""
    assert intervals(text, "p", "q", "r", "s") == [(3, 5), (6, 10), (6, 10), (6, 10)]
    assert intervals(text.replace("private ", ""), "p", "r") == [ANYTHING, ANYTHING]


def test_call_in_dead_code_does_not_count():
    text = """
      func.func private @g(%p: i32) {
        func.return
      }
      func.func @f() {
        %false = arith.constant 0 : i1
        %a = arith.constant 3 : i32
        %b = arith.constant 5 : i32
        func.call @g(%a) : (i32) -> ()
        scf.if %false {
          func.call @g(%b) : (i32) -> ()
        }
        func.return
      }"""
    assert intervals(text, "p") == [(3, 3)]


def test_private_function_that_nobody_calls_is_still_analysed():
    text = """
      func.func private @g(%p: i32) {
        %a = arith.constant 3 : i32
        func.return
      }"""
    assert intervals(text, "p", "a") == [ANYTHING, (3, 3)]


def test_unknown_callee_gives_top():
    text = """
      func.func private @declared(i32) -> i32
      func.func @f() {
        %a = arith.constant 3 : i32
        %r = func.call @declared(%a) : (i32) -> i32
        %s = func.call @missing(%a) : (i32) -> i32
        func.return
      }"""
    assert intervals(text, "r", "s") == [ANYTHING, ANYTHING]


def test_callee_outside_the_root_is_unknown():
    module = parse("""
      func.func @g(%p: i32) -> i32 {
        func.return %p : i32
      }
      func.func @f() {
        %a = arith.constant 3 : i32
        %r = func.call @g(%a) : (i32) -> i32
        func.return
      }""")
    function = module.body.block.last_op
    assert function is not None
    assert bounds(solve(function, Intervals())[named(module, "r")]) == ANYTHING


def test_only_returns_return():
    text = """
      func.func private @g(%p: i32, %c: i1) -> i32 {
        cf.cond_br %c, ^good, ^bad
      ^good:
        func.return %p : i32
      ^bad:
        "strange.unreachable"(%c, %c) : (i1, i1) -> ()
      }
      func.func @f(%c: i1) {
        %a = arith.constant 3 : i32
        %r = func.call @g(%a, %c) : (i32, i1) -> i32
        func.return
      }"""
    assert intervals(text, "r") == [(3, 3)]


def test_recursion_ends():
    text = """
      func.func private @g(%p: i32, %c: i1) -> i32 {
        %one = arith.constant 1 : i32
        %r = scf.if %c -> (i32) {
          %n = arith.addi %p, %one : i32
          %s = func.call @g(%n, %c) : (i32, i1) -> i32
          %t = arith.addi %s, %one : i32
          scf.yield %t : i32
        } else {
          scf.yield %one : i32
        }
        func.return %r : i32
      }
      func.func @f(%c: i1) {
        %zero = arith.constant 0 : i32
        %u = func.call @g(%zero, %c) : (i32, i1) -> i32
        func.return
      }"""
    assert intervals(text, "p", "s", "r", "u") == [(0, inf), (1, inf), (1, inf), (1, inf)]
