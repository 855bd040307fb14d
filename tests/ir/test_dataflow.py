"""The solver on every kind of control flow within a function."""

import inspect
import sys
from collections.abc import Sequence
from math import inf

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, BlockArgument, Operation, Region

from tests.ir.flow_ops import (
    ForOp,
    IfOp,
    named,
    parse,
)
from tests.ir.intervals import (
    ANYTHING,
    NOTHING,
    Interval,
    Intervals,
    bounds,
    intervals,
    value_of,
)
from tilewright.ir.dataflow import Analysis, Lattice, solve
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk


def test_straight_code():
    text = """
      func.func @f(%x: i32) {
        %a = arith.constant 3 : i32
        %b = arith.addi %a, %a : i32
        %c = arith.addi %b, %x : i32
        %d, %e = "test.op"(%a) : (i32) -> (i32, i32)
        func.return
      }"""
    assert intervals(text, "a", "b", "c", "e") == [(3, 3), (6, 6), ANYTHING, ANYTHING]


def test_both_sides_of_an_if_join():
    text = """
      func.func @f(%c: i1) {
        %a = arith.constant 3 : i32
        %b = arith.constant 8 : i32
        %r = scf.if %c -> (i32) {
          scf.yield %a : i32
        } else {
          %s = arith.addi %b, %b : i32
          scf.yield %s : i32
        }
        func.return
      }"""
    assert intervals(text, "r", "s") == [(3, 16), (16, 16)]


def test_side_that_is_never_taken_stays_bottom():
    text = """
      func.func @f() {
        %c = arith.constant 1 : i1
        %a = arith.constant 3 : i32
        %r = scf.if %c -> (i32) {
          scf.yield %a : i32
        } else {
          %s = arith.addi %a, %a : i32
          scf.yield %s : i32
        }
        func.return
      }"""
    assert intervals(text, "r", "s") == [(3, 3), NOTHING]
    module = parse(text)
    solution = solve(module, Intervals())
    branch = next(op for op in walk(module) if isinstance(op, IfOp))
    assert [solution.is_reachable(r.block) for r in branch.regions] == [True, False]
    assert named(module, "r") in solution
    assert named(module, "s") not in solution


LOOP = """
  func.func @f() {
    %n = arith.constant 0 : index
    %m = arith.constant 10 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %cap = arith.constant 7 : i32
    %r:2 = scf.for %i = %n to %m step %m iter_args(%up = %zero, %same = %one) -> (i32, i32) {
      %next = arith.addi %up, %one : i32
      %capped = arith.minsi %next, %cap : i32
      scf.yield %next, %same : i32, i32
    }
    func.return
  }"""


def test_loop_is_widened_and_only_where_it_changes():
    assert intervals(LOOP, "i", "up", "next", "capped", "same") == [
        (0, 9),
        (0, inf),
        (1, inf),
        (1, 7),
        (1, 1),
    ]


def test_merge_inside_a_loop_is_not_widened():
    text = LOOP.replace(
        "scf.yield %next",
        """
      %flag = "test.op"() : () -> i1
      %either = scf.if %flag -> (i32) {
        scf.yield %capped : i32
      } else {
        scf.yield %capped : i32
      }
      scf.yield %next""",
    )
    assert intervals(text, "up", "either") == [(0, inf), (1, 7)]


def test_counter_follows_bounds_that_grow():
    text = """
      func.func @f(%n: i32) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %cap = arith.constant 5 : i32
        %r = scf.for %i = %zero to %cap step %one iter_args(%a = %one) -> (i32) : i32 {
          scf.for %j = %zero to %a step %one : i32 {
          }
          %b = arith.addi %a, %one : i32
          %c = arith.minsi %b, %cap : i32
          scf.yield %c : i32
        }
        func.return
      }"""
    assert intervals(text, "i", "a", "j") == [(0, 4), (1, inf), (0, inf)]


def test_nested_loops():
    text = """
      func.func @f(%n: index) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r = scf.for %i = %n to %n step %n iter_args(%a = %zero) -> (i32) {
          %s = scf.for %j = %n to %n step %n iter_args(%b = %one) -> (i32) {
            %t = arith.addi %b, %a : i32
            scf.yield %t : i32
          }
          %u = arith.minsi %s, %one : i32
          scf.yield %u : i32
        }
        func.return
      }"""
    assert intervals(text, "a", "b", "s", "u", "r") == [(0, 1), (1, inf), (1, inf), (1, 1), (0, 1)]


def test_while_with_both_regions():
    text = """
      func.func @f(%c: i1) {
        %zero = arith.constant 0 : i32
        %two = arith.constant 2 : i32
        %r = scf.while (%a = %zero) : (i32) -> i32 {
          %n = arith.addi %a, %two : i32
          scf.condition(%c) %n : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %b : i32
        }
        func.return
      }"""
    assert intervals(text, "a", "n", "b", "r") == [(0, inf), (2, inf), (2, inf), (2, inf)]


def test_loop_that_never_ends_reaches_nothing_behind_it():
    text = """
      func.func @f() {
        %true = arith.constant 1 : i1
        %zero = arith.constant 0 : i32
        %r = scf.while (%a = %zero) : (i32) -> i32 {
          scf.condition(%true) %a : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %b : i32
        }
        %s = arith.addi %r, %zero : i32
        func.return
      }"""
    assert intervals(text, "b", "r", "s") == [(0, 0), NOTHING, NOTHING]


def test_blocks_and_back_edges():
    text = """
      func.func @f(%c: i1) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        cf.br ^head(%zero : i32)
      ^head(%a: i32):
        %b = arith.addi %a, %one : i32
        cf.cond_br %c, ^head(%b : i32), ^tail(%a : i32)
      ^tail(%d: i32):
        func.return
      }"""
    assert intervals(text, "a", "b", "d") == [(0, inf), (1, inf), (0, inf)]


def test_block_that_is_never_entered():
    text = """
      func.func @f() {
        %false = arith.constant 0 : i1
        %one = arith.constant 1 : i32
        cf.cond_br %false, ^a(%one : i32), ^b(%one : i32)
      ^a(%x: i32):
        %s = arith.addi %x, %x : i32
        cf.br ^b(%s : i32)
      ^b(%y: i32):
        func.return
      }"""
    assert intervals(text, "x", "s", "y") == [NOTHING, NOTHING, (1, 1)]


def test_exits_of_several_blocks_join():
    text = """
      func.func @f(%c: i1) {
        %a = arith.constant 3 : i32
        %b = arith.constant 8 : i32
        %r = scf.execute_region -> (i32) {
          cf.cond_br %c, ^a, ^b
        ^a:
          scf.yield %a : i32
        ^b:
          scf.yield %b : i32
        }
        func.return
      }"""
    assert intervals(text, "r") == [(3, 8)]


def test_exit_that_is_never_reached_does_not_count():
    text = """
      func.func @f() {
        %true = arith.constant 1 : i1
        %a = arith.constant 3 : i32
        %b = arith.constant 8 : i32
        %r = scf.execute_region -> (i32) {
          cf.cond_br %true, ^a, ^b
        ^a:
          scf.yield %a : i32
        ^b:
          scf.yield %b : i32
        }
        func.return
      }"""
    assert intervals(text, "r") == [(3, 3)]


def test_arguments_of_an_unknown_jump_are_top():
    text = """
      func.func @f() {
        %a = arith.constant 3 : i32
        "strange.jump"(%a)[^a] : (i32) -> ()
      ^a(%x: i32):
        %s = arith.addi %a, %a : i32
        func.return
      }"""
    assert intervals(text, "x", "s") == [ANYTHING, (6, 6)]


def test_results_that_are_not_forwarded_come_from_visit():
    text = """
      func.func @f() {
        %a = arith.constant 3 : i32
        %r = "test.reduce"(%a) ({
        ^bb0(%x: i32, %y: i32):
          %s = arith.addi %a, %a : i32
          "test.end"(%s) : (i32) -> ()
        }) : (i32) -> i32
        func.return
      }"""

    class Counting(Intervals):
        def visit(self, op: Operation, states: Sequence[Interval]) -> Sequence[Interval] | None:
            return [states[0]] if op.name == "test.reduce" else super().visit(op, states)

    module = parse(text)
    solution = solve(module, Counting())
    assert [bounds(solution[named(module, n)]) for n in ("r", "x", "y", "s")] == [
        (3, 3),
        ANYTHING,
        ANYTHING,
        (6, 6),
    ]


def test_captures_reach_isolated_partitions():
    text = """
      func.func @f(%n: index) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r = scf.for %i = %n to %n step %n iter_args(%a = %zero) -> (i32) {
          %w = "test.specialize"(%a, %one) ({
            %d = arith.addi %a, %one : i32
            "test.end"(%d) : (i32) -> ()
          }, {
            "test.partitions"() ({
            ^bb0(%p: i32, %q: i32):
              %s = arith.addi %q, %q : i32
              "test.end"() : () -> ()
            }, {
            ^bb0(%t: i32, %u: i32):
              "test.end"() : () -> ()
            }) : () -> ()
          }) : (i32, i32) -> i32
          scf.yield %w : i32
        }
        func.return
      }"""
    # The captures are not operands of the op that hands them on, yet its regions follow them.
    assert intervals(text, "p", "q", "s", "t", "u", "w") == [
        (0, inf),
        (1, 1),
        (2, 2),
        (0, inf),
        (1, 1),
        (1, inf),
    ]


def test_region_of_an_op_that_says_nothing():
    text = """
      func.func @f() {
        %a = arith.constant 3 : i32
        "no.such_op"() ({
        ^bb0(%x: i32):
          %s = arith.addi %a, %a : i32
        }) : () -> ()
        func.return
      }"""
    assert intervals(text, "x", "s") == [ANYTHING, (6, 6)]


def test_states_of_entry_arguments_can_be_given():
    class Small(Intervals):
        def entry(self, argument: BlockArgument) -> Interval:
            return Interval(0, argument.index)

    module = parse("""
      func.func @f(%x: i32, %y: i32) {
        %s = arith.addi %x, %y : i32
        func.return
      }""")
    for root in (module, module.body.block.first_op):
        assert root is not None
        assert bounds(solve(root, Small())[named(module, "s")]) == (0, 1)


def test_values_around_the_root_are_unknown():
    module = parse("""
      func.func @f(%x: i32, %n: index) {
        %one = arith.constant 1 : i32
        scf.for %i = %n to %n step %n {
          %two = arith.constant 2 : i32
          %a = arith.addi %one, %two : i32
          %b = arith.addi %two, %two : i32
        }
        func.return
      }""")
    loop = next(op for op in walk(module) if isinstance(op, ForOp))
    solution = solve(loop, Intervals())
    assert bounds(solution[named(module, "a")]) == ANYTHING
    assert bounds(solution[named(module, "b")]) == (4, 4)


# Ends, whatever the lattice.


class Endless(Lattice[int]):
    """Infinitely high, no widening, ``join`` never rests and ``top`` is no top."""

    bottom, top = 0, -1

    def join(self, a: int, b: int) -> int:
        return max(a, b) + 1


class CountUp(Analysis[int]):
    lattice = Endless()

    def visit(self, op: Operation, states: Sequence[int]) -> Sequence[int]:
        return [sum(states) + 1 for _ in op.results]

    def entry(self, argument: BlockArgument) -> int:
        return 0


def test_lattice_without_end_is_given_up():
    module = parse(LOOP)
    solution = solve(module, CountUp(), give_up_after=20)
    assert solution[named(module, "up")] == -1


def test_bottom_is_an_ordinary_state():
    """Being unreached and having the state ``bottom`` are different things."""

    class Sources(Lattice[frozenset[str]]):
        bottom, top = frozenset(), frozenset({"*"})

        def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
            return a | b

    class Origin(Analysis[frozenset[str]]):
        lattice = Sources()

        def visit(
            self, op: Operation, states: Sequence[frozenset[str]]
        ) -> Sequence[frozenset[str]]:
            return [frozenset[str]().union(*states)]

        def entry(self, argument: BlockArgument) -> frozenset[str]:
            return frozenset({argument.name_hint or ""})

    module = parse("""
      func.func @f(%x: i32) {
        %a = arith.constant 3 : i32
        %b = arith.addi %a, %a : i32
        %c = arith.addi %b, %x : i32
        func.return
      }""")
    solution = solve(module, Origin())
    assert named(module, "b") in solution
    assert solution[named(module, "b")] == frozenset()
    assert solution[named(module, "c")] == {"x"}


def test_deep_nesting_needs_no_deep_stack():
    block = Block(arg_types=[i1])
    condition = block.args[0]
    function = func.FuncOp("f", ([i1], []), Region(block))
    for _ in range(300):
        inner = Block()
        block.add_ops([IfOp(condition, [], Region(inner)), scf.YieldOp()])
        block = inner
    three = arith.ConstantOp.from_int_and_width(3, i32)
    block.add_ops([three, scf.YieldOp()])
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 100)
        solution = solve(function, Intervals())
    finally:
        sys.setrecursionlimit(limit)
    assert bounds(solution[three.result]) == (3, 3)


def test_example_of_the_module_text():
    """Parity, as the documentation of the solver writes it."""

    class Parity(Lattice[str]):
        bottom, top = "none", "any"

        def join(self, a: str, b: str) -> str:
            return a if a == b or b == "none" else b if a == "none" else "any"

    class ParityAnalysis(Analysis[str]):
        lattice = Parity()

        def visit(self, op: Operation, states: Sequence[str]) -> Sequence[str] | None:
            match op:
                case arith.ConstantOp():
                    return ["odd" if value_of(op) % 2 else "even"]
                case arith.AddiOp() if "any" not in states:
                    return ["even" if states[0] == states[1] else "odd"]
            return None

    module = parse("""
      func.func @f(%n: index, %c: i1) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        %r = scf.for %i = %n to %n step %n iter_args(%even = %zero) -> (i32) {
          %still = arith.addi %even, %two : i32
          scf.yield %still : i32
        }
        %odd = arith.addi %r, %one : i32
        %mixed = scf.if %c -> (i32) {
          scf.yield %odd : i32
        } else {
          scf.yield %two : i32
        }
        func.return
      }""")
    solution = solve(module, ParityAnalysis())
    names = ("r", "odd", "mixed")
    assert [solution[named(module, name)] for name in names] == ["even", "odd", "any"]
    assert constant_value(named(module, "odd")) is None
