"""Atomic updates outside parallel loops: a block makes them once, at every level."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check
from tests.passes.gpu.tile_text import at_all_levels, by_threads, by_tiles, cuda_text, lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError


def kernel(body: str, arguments: str = "", blocks: int = 3) -> str:
    return f"""
func.func public @k(%X: memref<8xi32, #global>, %Y: memref<8xi32, #global>{arguments})
    attributes {{tile.entry}} {{
  tile.kernel (%bx) in ({blocks}) threads(64) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1 : i32
{body}
  }}
  func.return
}}
"""


def zeros() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(8, np.int32), np.zeros(8, np.int32)


def test_a_block_updates_once() -> None:
    text = kernel("    tile.atomic add %X[%c1], %one : memref<8xi32, #global>, i32")
    x, _ = at_all_levels(text, *zeros(), compiles=True)
    assert x.tolist() == [0, 3, 0, 0, 0, 0, 0, 0]


def test_all_threads_have_the_result() -> None:
    text = kernel(
        """
    %old = tile.atomic add %X[%c0], %one : memref<8xi32, #global>, i32 -> i32
    %at = arith.index_cast %old : i32 to index
    memref.store %one, %Y[%at] : memref<8xi32, #global>
"""
    )
    x, y = at_all_levels(text, *zeros(), compiles=True)
    assert x[0] == 3
    assert y.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_an_update_of_shared_memory() -> None:
    text = kernel(
        """
    %s = tile.alloc "s" : memref<1xi32, #shared>
    memref.store %one, %s[%c0] : memref<1xi32, #shared>
    tile.atomic add %s[%c0], %one : memref<1xi32, #shared>, i32
    %v = memref.load %s[%c0] : memref<1xi32, #shared>
    memref.store %v, %Y[%bx] : memref<8xi32, #global>
"""
    )
    assert at_all_levels(text, *zeros())[1].tolist() == [2, 2, 2, 0, 0, 0, 0, 0]


def test_updates_in_loops_and_branches() -> None:
    text = kernel(
        """
    scf.for %i = %c0 to %c4 step %c1 {
      %even = arith.andi %i, %c1 : index
      %is = arith.cmpi eq, %even, %c0 : index
      scf.if %is {
        %v = tile.atomic add %X[%i], %one : memref<8xi32, #global>, i32 -> i32
        %w = arith.addi %v, %one : i32
        tile.atomic max %Y[%i], %w : memref<8xi32, #global>, i32
      }
    }
"""
    )
    x, y = at_all_levels(text, *zeros())
    assert x.tolist() == y.tolist() == [3, 0, 3, 0, 0, 0, 0, 0]


TICKETS = """
func.func public @k(%N: memref<1xi32, #global>, %Y: memref<?x32xi32, #global>, %n: i32)
    attributes {tile.entry} {
  tile.kernel (%bx) in (3) threads(64) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %first = tile.atomic add %N[%c0], %one : memref<1xi32, #global>, i32 -> i32
    %last = scf.while (%t = %first) : (i32) -> i32 {
      %go = arith.cmpi slt, %t, %n : i32
      scf.condition(%go) %t : i32
    } do {
    ^bb0(%t: i32):
      %at = arith.index_cast %t : i32 to index
      tile.parallel (%i) in (32) {
        %v = memref.load %Y[%at, %i] : memref<?x32xi32, #global>
        %w = arith.addi %v, %t : i32
        memref.store %w, %Y[%at, %i] : memref<?x32xi32, #global>
      }
      %next = tile.atomic add %N[%c0], %one : memref<1xi32, #global>, i32 -> i32
      scf.yield %next : i32
    }
  }
  func.return
}
"""


def test_blocks_take_tickets_until_none_is_left() -> None:
    n, y = at_all_levels(TICKETS, np.zeros(1, np.int32), np.ones((10, 32), np.int32), 10)
    assert n[0] == 13
    assert (y == 1 + np.arange(10)[:, None]).all()


ORDERED = kernel(
    """
    tile.parallel (%i) in (8) {
      memref.store %one, %Y[%i] : memref<8xi32, #global>
    }
    tile.atomic store %X[%c0], %one order release : memref<8xi32, #global>, i32
    %v = tile.atomic load %X[%c0] order acquire : memref<8xi32, #global> -> i32
    tile.atomic add %X[%c1], %v order acq_rel : memref<8xi32, #global>, i32
""",
    blocks=1,
)


def test_a_release_comes_after_what_all_threads_wrote() -> None:
    x, y = at_all_levels(ORDERED, *zeros(), compiles=True)
    assert x[:2].tolist() == [1, 1]
    assert y.tolist() == [1] * 8
    text = cuda_text(ORDERED, compiles=False)
    stored, released = text.index("] = 1;"), text.index("volatile int*>(X) = 1;")
    assert "__syncthreads();" in text[stored:released]


def test_an_update_out_of_bounds_reads_the_safe_value_and_changes_nothing() -> None:
    text = kernel(
        """
    %far = arith.index_cast %n : i32 to index
    %old = tile.atomic add %X[%far], %one : memref<8xi32, #global>, i32 -> i32
    memref.store %old, %Y[%bx] : memref<8xi32, #global>
""",
        ", %n: i32",
    )
    for far, total in ((5, 3), (8, 0), (-1, 0)):
        x, y = at_all_levels(text, np.zeros(8, np.int32), np.full(8, 7, np.int32), far)
        assert x.sum() == total
        if not total:
            assert y.tolist() == [0, 0, 0, 7, 7, 7, 7, 7]


ROLES = kernel(
    """
    %s = tile.alloc "s" : memref<1xi32, #shared>
    tile.ws
    role "one" threads(0 to 32) {
      tile.atomic add %X[%c0], %one ORDER : memref<8xi32, #global>, i32
    }
    role "two" threads(32 to 64) {
      %old = tile.atomic add %X[%c1], %one : memref<8xi32, #global>, i32 -> i32
      tile.atomic add %Y[%c0], %old : memref<8xi32, #global>, i32
    }
"""
)


def test_roles_update_once_each() -> None:
    text = ROLES.replace("ORDER ", "")
    found = by_tiles(text, *zeros())
    threads = by_threads(text, *zeros())
    for one, other in zip(found, threads, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][:2].tolist() == [3, 3]
    assert found[1][0] == 0 + 1 + 2


def test_a_role_cannot_release_for_the_block() -> None:
    with pytest.raises(CompileError) as error:
        lowered(ROLES.replace("ORDER", "order release"))
    assert "error[TW4076]: atomic add with a memory order in code of the block" in str(error.value)


@tw.jit
def by_threads_that_are_named(A, B):
    A: T.Tensor((64,), "int32")
    B: T.Tensor((2,), "int32")
    with T.Kernel(2, threads=64):
        tx = T.get_thread_binding()
        T.atomic_add(B[0], A[tx])
        if tx == 5:
            T.atomic_add(B[1], 1)


def test_code_that_names_threads_is_theirs() -> None:
    a = np.arange(64, dtype=np.int32)
    expected = np.array([2 * a.sum(), 2], np.int32)
    check(by_threads_that_are_named, a, np.zeros(2, np.int32), expected=expected)


def test_a_scalar_of_the_block_is_read_and_written_once() -> None:
    """All threads store the same value, and none of them before all have read the old one."""
    text = kernel(
        """
    scf.for %i = %c0 to %c4 step %c1 {
      %v = memref.load %X[%c0] : memref<8xi32, #global>
      %w = arith.addi %v, %one : i32
      memref.store %w, %X[%c0] : memref<8xi32, #global>
    }
""",
        blocks=1,
    )
    assert at_all_levels(text, *zeros())[0][0] == 4
