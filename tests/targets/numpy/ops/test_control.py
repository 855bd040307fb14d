"""Control flow in which programs go different ways, against plain Python run program by program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tests.targets.numpy.kernels import compiled, run
from tilewright.targets.numpy import NumpyFault, Unsupported


def check(text: str, rule: Callable[[int, int], int], values: list[int]) -> None:
    """Program i writes `rule(i, values[i])`; however many run at once, and whatever they share."""
    for array in (np.array(values, np.int32), np.full(len(values), values[0], np.int32)):
        expected = [rule(index, int(value)) for index, value in enumerate(array)]
        for batch in (None, 1, 3):
            out = np.full(len(array), -77, np.int32)
            run(text, (len(array),), array, out, batch=batch)
            assert out.tolist() == expected, batch


def program(body: str) -> str:
    """A kernel whose program i has `%i`, its value `%v`, and stores `%r`."""
    return f"""tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {{
  %i = tt.get_program_id x : i32
  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32
  %q = tt.addptr %out, %i : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
{body}
  tt.store %q, %r : !tt.ptr<i32>
  tt.return
}}"""


SMALL = st.lists(st.integers(-4, 9), min_size=1, max_size=9)

IF = program("""
  %c = arith.cmpi sgt, %v, %c2 : i32
  %r = scf.if %c -> (i32) {
    %d = arith.muli %v, %i : i32
    scf.yield %d : i32
  } else {
    scf.yield %c3 : i32
  }""")


@given(values=SMALL)
def test_if(values: list[int]) -> None:
    check(IF, lambda i, v: v * i if v > 2 else 3, values)


NESTED_IF = program("""
  %c = arith.cmpi sgt, %v, %c2 : i32
  %even = arith.andi %i, %c1 : i32
  %e = arith.cmpi eq, %even, %c0 : i32
  %r = scf.if %c -> (i32) {
    %a = scf.if %e -> (i32) {
      scf.yield %v : i32
    } else {
      %n = arith.subi %c0, %v : i32
      scf.yield %n : i32
    }
    scf.yield %a : i32
  } else {
    %b = scf.if %e -> (i32) {
      scf.yield %c1 : i32
    } else {
      scf.yield %i : i32
    }
    scf.yield %b : i32
  }""")


@given(values=SMALL)
def test_branches_in_branches(values: list[int]) -> None:
    def rule(i: int, v: int) -> int:
        if v > 2:
            return v if i % 2 == 0 else -v
        return 1 if i % 2 == 0 else i

    check(NESTED_IF, rule, values)


IF_STORES = program("""
  %c = arith.cmpi sgt, %v, %c2 : i32
  tt.store %q, %c0 : !tt.ptr<i32>
  scf.if %c {
    tt.store %q, %v : !tt.ptr<i32>
  }
  %r = tt.load %q : !tt.ptr<i32>""")


@given(values=SMALL)
def test_only_those_that_take_a_branch_store(values: list[int]) -> None:
    check(IF_STORES, lambda i, v: v if v > 2 else 0, values)


FOR = program("""
  %r = scf.for %k = %c0 to %v step %c1 iter_args(%s = %c3) -> (i32) : i32 {
    %t = arith.addi %s, %k : i32
    %u = arith.muli %t, %c2 : i32
    scf.yield %u : i32
  }""")


@given(values=SMALL)
def test_loops_of_different_length(values: list[int]) -> None:
    def rule(i: int, v: int) -> int:
        total = 3
        for k in range(v):
            total = (total + k) * 2
        return total

    check(FOR, rule, values)


FOR_IN_IF_IN_FOR = program("""
  %n = arith.addi %i, %c1 : i32
  %r = scf.for %k = %i to %v step %n iter_args(%s = %c0) -> (i32) : i32 {
    %o = arith.andi %k, %c1 : i32
    %c = arith.cmpi eq, %o, %c1 : i32
    %t = scf.if %c -> (i32) {
      %u = scf.for %j = %c0 to %k step %c2 iter_args(%a = %s) -> (i32) : i32 {
        %b = arith.addi %a, %j : i32
        scf.yield %b : i32
      }
      scf.yield %u : i32
    } else {
      %w = arith.subi %s, %k : i32
      scf.yield %w : i32
    }
    scf.yield %t : i32
  }""")


@given(values=SMALL)
def test_loops_in_branches_in_loops(values: list[int]) -> None:
    def rule(i: int, v: int) -> int:
        total = 0
        for k in range(i, v, i + 1):
            total = total + sum(range(0, k, 2)) if k % 2 else total - k
        return total

    check(FOR_IN_IF_IN_FOR, rule, values)


UNSIGNED_FOR = program("""
  %big = arith.constant -3 : i32
  %r = scf.for unsigned %k = %big to %m step %c1 iter_args(%s = %v) -> (i32) : i32 {
    %t = arith.addi %s, %k : i32
    scf.yield %t : i32
  }""").replace("%c3 = arith.constant 3", "%m = arith.constant -1 : i32\n  %c3 = arith.constant 3")


def test_bounds_without_a_sign() -> None:
    check(UNSIGNED_FOR, lambda i, v: v - 3 - 2, [4, 5, 6])


WHILE = program("""
  %r:2 = scf.while (%s = %v, %n = %c0) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi sgt, %s, %c0 : i32
    %f = arith.muli %n, %c2 : i32
    scf.condition(%c) %s, %f : i32, i32
  } do {
  ^bb0(%s2: i32, %f2: i32):
    %t = arith.subi %s2, %c2 : i32
    %m = arith.addi %f2, %i : i32
    scf.yield %t, %m : i32, i32
  }
  %z = arith.addi %r#0, %r#1 : i32""").replace("tt.store %q, %r :", "tt.store %q, %z :")


@given(values=SMALL)
def test_while_ends_for_each_by_itself(values: list[int]) -> None:
    def rule(i: int, v: int) -> int:
        s, n = v, 0
        while True:
            f = n * 2
            if not s > 0:
                return s + f
            s, n = s - 2, f + i

    check(WHILE, rule, values)


BLOCKS = program("""
  %c = arith.cmpi sgt, %v, %c2 : i32
  cf.cond_br %c, ^one(%v : i32), ^two
^two:
  %d = arith.cmpi slt, %v, %c0 : i32
  cf.cond_br %d, ^end(%c1 : i32), ^one(%i : i32)
^one(%a: i32):
  %b = arith.muli %a, %c3 : i32
  cf.br ^end(%b : i32)
^end(%r: i32):""")


@given(values=SMALL)
def test_blocks(values: list[int]) -> None:
    check(BLOCKS, lambda i, v: v * 3 if v > 2 else 1 if v < 0 else i * 3, values)


EARLY = """tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %i = tt.get_program_id x : i32
  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32
  %q = tt.addptr %out, %i : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  %r = tt.call @pick(%v, %i) : (i32, i32) -> i32
  tt.store %q, %r : !tt.ptr<i32>
  tt.return
}
tt.func private @pick(%a: i32, %b: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c = arith.cmpi sgt, %a, %c0 : i32
  cf.cond_br %c, ^one, ^two
^one:
  tt.return %a : i32
^two:
  %n = arith.subi %b, %a : i32
  tt.return %n : i32
}"""


@given(values=SMALL)
def test_early_returns_of_a_called_function(values: list[int]) -> None:
    check(EARLY, lambda i, v: v if v > 0 else i - v, values)


TENSORS = """tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %zero = arith.constant dense<0> : tensor<8xi32>
  %i = tt.get_program_id x : i32
  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  %lane = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %first = arith.muli %i, %c8 : i32
  %block = tt.addptr %out, %first : !tt.ptr<i32>, i32
  %wide = tt.splat %block : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %ptrs = tt.addptr %wide, %lane : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  %one = arith.constant dense<1> : tensor<8xi32>
  %r:2 = scf.for %k = %c0 to %v step %c1 iter_args(%s = %zero, %q = %ptrs) -> (tensor<8xi32>, tensor<8x!tt.ptr<i32>>) : i32 {
    %kw = tt.splat %k : i32 -> tensor<8xi32>
    %t = arith.muli %lane, %kw : tensor<8xi32>
    %u = arith.addi %s, %t : tensor<8xi32>
    %m = tt.addptr %q, %one : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    scf.yield %u, %m : tensor<8xi32>, tensor<8x!tt.ptr<i32>>
  }
  tt.store %r#1, %r#0 : tensor<8x!tt.ptr<i32>>
  tt.return
}"""


@settings(max_examples=examples(25))
@given(values=st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_loops_carry_tensors_and_pointers(values: list[int]) -> None:
    x = np.array(values, np.int32)
    for batch in (None, 1, 2):
        out = np.full(8 * len(x) + 8, -1, np.int32)
        expected = out.copy()
        for index, count in enumerate(values):
            first = 8 * index + count
            expected[first : first + 8] = np.arange(8) * sum(range(count))
        report = run(TENSORS, (len(x),), x, out, batch=batch)
        assert out.tolist() == expected.tolist(), report.serial_reasons


def test_a_loop_without_a_difference_is_pythons_own() -> None:
    text = TENSORS.replace("%c0 to %v", "%c0 to %c8")
    assert "for k in np.arange(i32_0, i32_8, i32_1, dtype=i32):" in compiled(text).source
    assert "rt.loop(" in compiled(TENSORS).source


SPIN = """tt.func public @kernel(%lock: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.while : () -> () {
    %old = tt.atomic_cas acq_rel, gpu, %lock, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
    %c = arith.cmpi eq, %old, %c1 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  %v = tt.load %out : !tt.ptr<i32>
  %w = arith.addi %v, %c1 : i32
  tt.store %out, %w : !tt.ptr<i32>
  %u = tt.atomic_rmw exch, acq_rel, gpu, %lock, %c0 : (!tt.ptr<i32>, i32) -> i32
  tt.return
}"""


def test_a_lock_makes_programs_run_one_by_one() -> None:
    lock, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    report = run(SPIN, (7,), lock, out)
    assert (lock[0], out[0]) == (0, 7)
    assert report.serial_programs == 7


def test_a_lock_that_is_never_released_is_reported() -> None:
    lock, out = np.ones(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(
        NumpyFault, match=r"deadlock: program \(0, 0, 0\) waits for memory that no program writes"
    ):
        run(SPIN, (3,), lock, out)


def test_blocks_that_go_back_are_refused() -> None:
    text = """tt.func public @kernel(%c: i1) {
  cf.br ^one
^one:
  cf.cond_br %c, ^one, ^two
^two:
  tt.return
}"""
    with pytest.raises(Unsupported, match="backward branches are not supported on target numpy"):
        compiled(text)


def test_recursion_is_refused_with_its_chain() -> None:
    text = """tt.func public @kernel() {
  tt.call @one() : () -> ()
  tt.return
}
tt.func private @one() attributes {noinline = true} {
  tt.call @two() : () -> ()
  tt.return
}
tt.func private @two() attributes {noinline = true} {
  tt.call @one() : () -> ()
  tt.return
}"""
    with pytest.raises(Unsupported, match="recursive call: kernel -> one -> two -> one"):
        compiled(text)
