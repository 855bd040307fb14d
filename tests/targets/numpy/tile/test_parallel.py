"""Parallel loops: element-wise code, guards, loops inside, memory of iterations, and races."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import DTYPES, block, compiled, random, run
from tilewright.targets.numpy.tile import TileFault


def _elementwise(dtype: str, ops: str, result: str = "") -> str:
    result = result or dtype
    return block(
        f"%A: memref<64x48x{dtype}, #global>, %B: memref<64x48x{dtype}, #global>, %C: memref<64x48x{result}, #global>",
        f"""
    tile.parallel (%i, %j) in (64, 48) {{
      %a = memref.load %A[%i, %j] : memref<64x48x{dtype}, #global>
      %b = memref.load %B[%i, %j] : memref<64x48x{dtype}, #global>
      {ops}
      memref.store %r, %C[%i, %j] : memref<64x48x{result}, #global>
    }}
""",
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f8E4M3FN"])
def test_every_op_rounds_to_its_type(dtype: str) -> None:
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal((64, 48)).astype(DTYPES[dtype]) for _ in range(2))
    c = np.zeros((64, 48), DTYPES[dtype])
    ops = f"""
      %p = arith.mulf %a, %b : {dtype}
      %r = arith.addf %p, %a : {dtype}"""
    run(_elementwise(dtype, ops), a, b, c)

    def rounded(x: Any) -> Any:
        return x.astype(DTYPES[dtype]).astype(np.float32)

    product = rounded(a.astype(np.float32) * b.astype(np.float32))
    expected = rounded(product + a.astype(np.float32))
    assert np.array_equal(c.astype(np.float32), expected)


def test_integers_wrap_and_unsigned_ops_look_at_bits() -> None:
    a = np.random.default_rng(0).integers(-128, 128, (64, 48)).astype(np.int8)
    b = np.random.default_rng(1).integers(1, 128, (64, 48)).astype(np.int8)
    c = np.zeros((64, 48), np.int8)
    run(_elementwise("i8", "%s = arith.addi %a, %b : i8\n %r = arith.divui %s, %b : i8"), a, b, c)
    total = (a.view(np.uint8) + b.view(np.uint8)).astype(np.uint8)
    assert np.array_equal(c.view(np.uint8), total // b.view(np.uint8))


def test_casts_and_math() -> None:
    ops = """
      %x = arith.extf %a : f16 to f32
      %y = math.exp2 %x : f32
      %z = arith.extf %b : f16 to f32
      %w = arith.divf %y, %z : f32
      %r = arith.truncf %w : f32 to bf16"""
    a, b = random((64, 48), "f16", 1), np.full((64, 48), 3, np.float16)
    c = np.zeros((64, 48), ml_dtypes.bfloat16)
    run(_elementwise("f16", ops, "bf16"), a, b, c)
    expected = (np.exp2(a.astype(np.float32)) / np.float32(3)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(c, expected)


@pytest.mark.parametrize("size", [(1, 1), (7, 5), (64, 48), (33, 100)])
def test_indices_that_are_not_the_loop_variables(size: tuple[int, int]) -> None:
    """Reversed, transposed, strided, divided."""
    m, n = size
    text = block(
        f"%A: memref<{m}x{n}xf32, #global>, %B: memref<{n}x{m}xf32, #global>, %C: memref<{m * n}xf32, #global>",
        f"""
    %last = arith.constant {m - 1} : index
    %n = arith.constant {n} : index
    tile.parallel (%i, %j) in ({m}, {n}) {{
      %k = arith.subi %last, %i : index
      %a = memref.load %A[%k, %j] : memref<{m}x{n}xf32, #global>
      memref.store %a, %B[%j, %i] : memref<{n}x{m}xf32, #global>
    }}
    tile.parallel (%t) in ({m * n}) {{
      %i = arith.floordivsi %t, %n : index
      %j = arith.remui %t, %n : index
      %a = memref.load %A[%i, %j] : memref<{m}x{n}xf32, #global>
      memref.store %a, %C[%t] : memref<{m * n}xf32, #global>
    }}
""",
    )
    a = random((m, n), "f32", 2)
    b, c = np.zeros((n, m), np.float32), np.zeros(m * n, np.float32)
    run(text, a, b, c)
    assert np.array_equal(b, a[::-1].T)
    assert np.array_equal(c, a.reshape(-1))


def test_global_memory_is_guarded() -> None:
    text = block(
        "%A: memref<10xf32, #global>, %B: memref<10xf32, #global>",
        """
    %c3 = arith.constant 3 : index
    tile.parallel (%i) in (16) {
      %k = arith.subi %i, %c3 : index
      %a = memref.load %A[%k] : memref<10xf32, #global>
      memref.store %a, %B[%i] : memref<10xf32, #global>
    }
""",
    )
    b = np.full(10, 5, np.float32)
    run(text, np.arange(1, 11, dtype=np.float32), b)
    assert b.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7]


def test_branches_switch_iterations_off() -> None:
    text = block(
        "%A: memref<8x8xi32, #global>, %B: memref<8x8xi32, #global>",
        """
    %two = arith.constant 2 : i32
    %ten = arith.constant 10 : i32
    tile.parallel (%i, %j) in (8, 8) {
      %lower = arith.cmpi ult, %j, %i : index
      scf.if %lower {
        %a = memref.load %A[%i, %j] : memref<8x8xi32, #global>
        %x = arith.muli %a, %two : i32
        memref.store %x, %B[%i, %j] : memref<8x8xi32, #global>
      } else {
        %same = arith.cmpi eq, %i, %j : index
        %v = scf.if %same -> (i32) {
          scf.yield %ten : i32
        } else {
          %a = memref.load %A[%j, %i] : memref<8x8xi32, #global>
          scf.yield %a : i32
        }
        memref.store %v, %B[%i, %j] : memref<8x8xi32, #global>
      }
    }
""",
    )
    a, b = random((8, 8), "i32", 3), np.zeros((8, 8), np.int32)
    run(text, a, b)
    expected = np.where(np.tri(8, k=-1, dtype=bool), 2 * a, a.T)
    np.fill_diagonal(expected, 10)
    assert np.array_equal(b, expected)


def test_loops_inside_with_bounds_that_differ() -> None:
    text = block(
        "%A: memref<12xi32, #global>, %B: memref<12xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    tile.parallel (%i) in (12) {
      %s = scf.for %k = %c0 to %i step %c1 iter_args(%t = %zero) -> (i32) {
        %a = memref.load %A[%k] : memref<12xi32, #global>
        %n = arith.addi %t, %a : i32
        scf.yield %n : i32
      }
      memref.store %s, %B[%i] : memref<12xi32, #global>
    }
""",
    )
    a, b = random((12,), "i32", 4), np.ones(12, np.int32)
    run(text, a, b)
    assert np.array_equal(b, np.concatenate([[0], np.cumsum(a)[:-1]]))


def test_while_loops_end_for_each_iteration_by_itself() -> None:
    text = block(
        "%B: memref<20xi32, #global>",
        """
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    tile.parallel (%i) in (20) {
      %x = arith.index_cast %i : index to i32
      %start = arith.addi %x, %one : i32
      %r:2 = scf.while (%n = %start, %steps = %zero) : (i32, i32) -> (i32, i32) {
        %c = arith.cmpi ne, %n, %one : i32
        scf.condition(%c) %n, %steps : i32, i32
      } do {
      ^bb0(%n: i32, %steps: i32):
        %odd = arith.remui %n, %two : i32
        %is = arith.cmpi eq, %odd, %one : i32
        %up = arith.muli %n, %three : i32
        %up1 = arith.addi %up, %one : i32
        %half = arith.divui %n, %two : i32
        %next = arith.select %is, %up1, %half : i32
        %more = arith.addi %steps, %one : i32
        scf.yield %next, %more : i32, i32
      }
      memref.store %r#1, %B[%i] : memref<20xi32, #global>
    }
""",
    )
    b = np.zeros(20, np.int32)
    run(text, b)

    def collatz(n: int) -> int:
        steps = 0
        while n != 1:
            n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
        return steps

    assert b.tolist() == [collatz(n) for n in range(1, 21)]


def test_iterations_have_variables_of_their_own() -> None:
    """A `var` made outside the loop, one inside, and a local array indexed by a serial loop."""
    text = block(
        "%A: memref<16xf32, #global>, %B: memref<16xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %v = tile.alloc "v" : memref<1xf32, #var>
    tile.parallel (%i) in (16) {
      %w = tile.alloc "w" : memref<3xf32, #local>
      %a = memref.load %A[%i] : memref<16xf32, #global>
      memref.store %zero, %v[%c0] : memref<1xf32, #var>
      scf.for %k = %c0 to %c3 step %c1 {
        memref.store %a, %w[%k] : memref<3xf32, #local>
      }
      scf.for %k = %c0 to %c3 step %c1 {
        %x = memref.load %w[%k] : memref<3xf32, #local>
        %y = memref.load %v[%c0] : memref<1xf32, #var>
        %z = arith.addf %x, %y : f32
        memref.store %z, %v[%c0] : memref<1xf32, #var>
      }
      %t = memref.load %v[%c0] : memref<1xf32, #var>
      memref.store %t, %B[%i] : memref<16xf32, #global>
    }
""",
    )
    a, b = random((16,), "f32", 6), np.zeros(16, np.float32)
    run(text, a, b)
    assert np.array_equal(b, 3 * a)


def test_variable_that_iterations_leave_different_is_undefined_after() -> None:
    text = block(
        "%B: memref<4xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %v = tile.alloc "v" : memref<1xi32, #var>
    tile.parallel (%i) in (4) {
      %x = arith.index_cast %i : index to i32
      memref.store %x, %v[%c0] : memref<1xi32, #var>
    }
    %y = memref.load %v[%c0] : memref<1xi32, #var>
    memref.store %y, %B[%c0] : memref<4xi32, #global>
""",
    )
    with pytest.raises(TileFault, match=r"read of uninitialised v\[0\]"):
        run(text, np.zeros(4, np.int32))


CARRIED = """
    %c0 = arith.constant 0 : index
    %v = tile.alloc "v" : memref<2xi32, #local>
    %zero = arith.constant 0 : i32
    tile.fill %v, %zero : memref<2xi32, #local>, i32
    tile.parallel (%i) in (4) {
      %index = INDEX
      %a = memref.load %A[%i] : memref<4xi32, #global>
      %old = memref.load %v[%index] : memref<2xi32, #local>
      %sum = arith.addi %old, %a : i32
      memref.store %sum, %v[%index] : memref<2xi32, #local>
      memref.store %sum, %B[%i] : memref<4xi32, #global>
    }
"""
ONE_ELEMENT = "arith.addi %c0, %c0 : index"
HALVES = """arith.remsi %i, %two : index"""


def _carried(values: list[int], index: str) -> list[int]:
    """Each iteration adds its value to what the thread has before the loop."""
    body = CARRIED.replace("INDEX", index).replace(
        "%zero =", "%two = arith.constant 2 : index\n    %zero ="
    )
    arguments = "%A: memref<4xi32, #global>, %B: memref<4xi32, #global>"
    found = np.zeros(4, np.int32)
    run(block(arguments, body), np.array(values, np.int32), found)
    return found.tolist()


def test_variable_that_is_carried_from_one_iteration_to_another() -> None:
    """What a thread that runs both would add up depends on how iterations are distributed over threads."""
    message = r"race in T.Parallel: iteration \(1\) writes v\[0\], which iteration \(0\) reads"
    for values in ([1, 2, 3, 4], [1, 1, 1, 1], [0, 3, 0, 0]):
        with pytest.raises(TileFault, match=message):
            _carried(values, ONE_ELEMENT)
    with pytest.raises(TileFault, match=r"iteration \(2\) writes v\[0\], which iteration \(0\)"):
        _carried([0, 5, 1, 0], HALVES)


def test_variable_that_no_other_iteration_changes() -> None:
    assert _carried([0, 0, 0, 0], ONE_ELEMENT) == [0, 0, 0, 0]
    assert _carried([0, 0, 0, 0], HALVES) == [0, 0, 0, 0]


def test_empty_loops_do_nothing() -> None:
    text = block(
        "%B: memref<4xf32, #global>, %n: i32",
        """
    %one = arith.constant 1.0 : f32
    %m = arith.index_cast %n : i32 to index
    tile.parallel (%i) in (%m) {
      memref.store %one, %B[%i] : memref<4xf32, #global>
    }
""",
    )
    b = np.zeros(4, np.float32)
    run(text, b, 0)
    assert b.tolist() == [0, 0, 0, 0]
    run(text, b, 3)
    assert b.tolist() == [1, 1, 1, 0]


def test_loops_in_loops() -> None:
    text = block(
        "%A: memref<4x6xf32, #global>, %B: memref<4x6xf32, #global>",
        """
    tile.parallel (%i) in (4) {
      %x = arith.index_cast %i : index to i32
      %f = arith.sitofp %x : i32 to f32
      tile.parallel (%j) in (6) {
        %a = memref.load %A[%i, %j] : memref<4x6xf32, #global>
        %b = arith.addf %a, %f : f32
        memref.store %b, %B[%i, %j] : memref<4x6xf32, #global>
      }
    }
""",
    )
    a, b = random((4, 6), "f32", 7), np.zeros((4, 6), np.float32)
    run(text, a, b)
    assert np.array_equal(b, a + np.arange(4, dtype=np.float32)[:, None])


def test_truth_values_in_memory() -> None:
    text = block(
        "%A: memref<16xi1, #global>, %B: memref<16xi1, #global>, %C: memref<16xf32, #global>",
        """
    %s = tile.alloc "s" : memref<16xi1, #shared>
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %yes = arith.constant true
    tile.copy %A -> %s : memref<16xi1, #global> -> memref<16xi1, #shared>
    tile.parallel (%i) in (16) {
      %a = memref.load %s[%i] : memref<16xi1, #shared>
      %b = arith.xori %a, %yes : i1
      memref.store %b, %B[%i] : memref<16xi1, #global>
      %c = arith.select %a, %one, %two : f32
      memref.store %c, %C[%i] : memref<16xf32, #global>
    }
""",
    )
    a = np.arange(16) % 3 == 0
    b, c = np.zeros(16, np.bool_), np.zeros(16, np.float32)
    run(text, a, b, c)
    assert np.array_equal(b, ~a)
    assert np.array_equal(c, np.where(a, 1, 2))


# Races.


def _races(body: str) -> str:
    return block(
        '%A: memref<8x8xf32, #global> {tile.name = "A"}, %B: memref<8xf32, #global> {tile.name = "B"}',
        f"""
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c7 = arith.constant 7 : index
    %one = arith.constant 1.0 : f32
    {body}
""",
    )


def _race(body: str) -> str:
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    with pytest.raises(TileFault) as caught:
        run(_races(body), a, np.zeros(8, np.float32))
    assert caught.value.kind == "race"
    return str(caught.value)


def test_two_iterations_write_one_element() -> None:
    shown = _race("""
    tile.parallel (%i, %j) in (8, 8) {
      %a = memref.load %A[%i, %j] : memref<8x8xf32, #global>
      memref.store %a, %B[%i] : memref<8xf32, #global>
    }""")
    assert (
        "kernel.mlir:20:7: error[TW6108]: data race in T.Parallel: iteration (0, 0) writes B[0], "
        "which iteration (0, 7) writes too: 0.0 and 7.0"
    ) in shown
    assert "memref.store %a, %B[%i]" in shown
    assert "block (0, 0, 0)" in shown
    assert "let each iteration write its own element, use T.atomic_add or T.reduce_*" in shown


def test_one_iteration_reads_what_another_writes() -> None:
    shown = _race("""
    tile.parallel (%i) in (7) {
      %k = arith.addi %i, %c1 : index
      %a = memref.load %B[%i] : memref<8xf32, #global>
      memref.store %a, %B[%k] : memref<8xf32, #global>
    }""")
    assert "iteration (0) writes B[1], which iteration (1) reads" in shown
    assert "iteration (1) reads it here" in shown
    assert "split the loop in two" in shown


def test_write_before_the_read_of_another() -> None:
    shown = _race("""
    tile.parallel (%i) in (8) {
      %k = arith.subi %c7, %i : index
      memref.store %one, %B[%i] : memref<8xf32, #global>
      %a = memref.load %B[%k] : memref<8xf32, #global>
      memref.store %a, %A[%i, %i] : memref<8x8xf32, #global>
    }""")
    assert "iteration (0) reads B[7], which iteration (7) writes" in shown


def test_same_value_twice_is_no_race() -> None:
    b = np.zeros(8, np.float32)
    text = _races("""
    tile.parallel (%i, %j) in (8, 8) {
      memref.store %one, %B[%i] : memref<8xf32, #global>
    }""")
    run(text, np.zeros((8, 8), np.float32), b)
    assert (b == 1).all()


def test_disjoint_writes_are_no_race() -> None:
    b = np.zeros(8, np.float32)
    text = _races("""
    tile.parallel (%i) in (4) {
      %k = arith.muli %i, %c2 : index
      %l = arith.addi %k, %c1 : index
      memref.store %one, %B[%k] : memref<8xf32, #global>
      %a = memref.load %B[%k] : memref<8xf32, #global>
      memref.store %a, %B[%l] : memref<8xf32, #global>
    }""")
    run(text, np.zeros((8, 8), np.float32), b)
    assert (b == 1).all()


def test_masked_iterations_do_not_race() -> None:
    b = np.zeros(8, np.float32)
    text = _races("""
    tile.parallel (%i, %j) in (8, 8) {
      %c = arith.cmpi eq, %i, %j : index
      scf.if %c {
        %a = memref.load %A[%i, %j] : memref<8x8xf32, #global>
        memref.store %a, %B[%i] : memref<8xf32, #global>
      }
    }""")
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    run(text, a, b)
    assert np.array_equal(b, np.diag(a))


def test_loops_that_keep_apart_are_not_watched() -> None:
    watched = "watch=True"
    plain = _races("""
    tile.parallel (%i, %j) in (8, 8) {
      %a = memref.load %A[%i, %j] : memref<8x8xf32, #global>
      %x = arith.addf %a, %one : f32
      memref.store %x, %A[%i, %j] : memref<8x8xf32, #global>
    }""")
    assert watched not in compiled(plain).source
    shifted = plain.replace("%A[%i, %j] : memref<8x8xf32, #global>\n      %x", "%A[%j, %i] : memref<8x8xf32, #global>\n      %x")  # fmt: skip
    assert watched in compiled(shifted).source
    assert watched in compiled(_races("""
    tile.parallel (%i, %j) in (8, 8) {
      memref.store %one, %B[%i] : memref<8xf32, #global>
    }""")).source  # fmt: skip


def test_races_are_not_looked_for_unchecked() -> None:
    b = np.zeros(8, np.float32)
    text = _races("""
    tile.parallel (%i, %j) in (8, 8) {
      %a = memref.load %A[%i, %j] : memref<8x8xf32, #global>
      memref.store %a, %B[%i] : memref<8xf32, #global>
    }""")
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    run(text, a, b, checked=False)
    assert np.array_equal(b, a[:, 7])


# Faults inside parallel loops.


def test_index_out_of_bounds_in_shared_memory() -> None:
    text = block(
        "%B: memref<8xf32, #global>",
        """
    %one = arith.constant 1.0 : f32
    %c1 = arith.constant 1 : index
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.parallel (%i) in (8) {
      %k = arith.addi %i, %c1 : index
      memref.store %one, %s[%k] : memref<8xf32, #shared>
    }
""",
    )
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros(8, np.float32))
    shown = str(caught.value)
    assert "error[TW6101]: write out of bounds: s[8], but axis 0 of s has 8 elements" in shown
    assert "iteration (7) of T.Parallel(8)" in shown
    assert "keep index 0 in 0 … 7" in shown


def test_uninitialised_element() -> None:
    text = block(
        "%B: memref<8x4xf32, #global>",
        """
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "acc" : memref<8x4xf32, #fragment>
    %r = tile.region %s[0, 0] [5, 4] : memref<8x4xf32, #fragment> to !tile.region<5x4xf32, #fragment>
    tile.fill %r, %one : !tile.region<5x4xf32, #fragment>, f32
    tile.parallel (%i, %j) in (8, 4) {
      %x = memref.load %s[%i, %j] : memref<8x4xf32, #fragment>
      memref.store %x, %B[%i, %j] : memref<8x4xf32, #global>
    }
""",
    )
    with pytest.raises(TileFault) as caught:
        run(text, np.zeros((8, 4), np.float32))
    shown = str(caught.value)
    assert "error[TW6107]: read of uninitialised acc[5, 0]" in shown
    assert "iteration (5, 0) of T.Parallel(8, 4)" in shown
    assert "12 of 32 elements read are uninitialised" in shown
    assert "acc is float32 with shape (8, 4) in a fragment" in shown
