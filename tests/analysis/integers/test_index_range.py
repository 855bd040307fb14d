"""Answers of `analysis.index_range` about code that is long, that has changed, or is not asked for."""

from __future__ import annotations

from tests.passes.pass_support import parse
from tilewright.analysis.affine import Interval
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import StoreOp
from tilewright.ir.traversal import walk

KERNEL = """
#global = #tile.space<global>
func.func @f(%A: memref<64xindex, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  tile.kernel (%bx) in (6) threads(32) {
    scf.for %i = %c0 to %c8 step %c8 {
      memref.store %i, %A[%bx] : memref<64xindex, #global>
    }
    %small = arith.cmpi slt, %bx, %n : index
    scf.if %small {
      memref.store %c0, %A[%bx] : memref<64xindex, #global>
    }
  }
  func.return
}
"""


def _stores(text: str) -> tuple[FuncOp, list[StoreOp]]:
    function = next(op for op in walk(parse(text)) if isinstance(op, FuncOp))
    return function, [op for op in walk(function) if isinstance(op, StoreOp)]


def test_what_nobody_asks_for_is_not_computed() -> None:
    function, (first, _) = _stores(KERNEL)
    ranges = IndexRanges(function)
    assert ranges.range(first.indices[0], function) == Interval(0, 5)
    assert len(ranges.sources) == 1, "the index of the loop and %n are no part of %bx"


def test_answers_are_about_the_code_that_was_looked_at() -> None:
    function, (first, second) = _stores(KERNEL)
    ranges = IndexRanges(function)
    block, loop = first.indices[0], first.parent_op()
    assert loop is not None
    loop.operands[1] = loop.operands[0]  # runs never, now
    second.detach()
    assert ranges.range(first.value, first) == Interval(0, 0)
    assert ranges.context(second).is_nonneg(ranges.poly(function.body.block.args[1]) - 1)
    assert ranges.range(block, second) == Interval(0, 5)


def test_chains_longer_than_pythons_stack() -> None:
    count = 5000
    lines = [f"%x{n + 1} = arith.addi %x{n}, %c1 : index" for n in range(count)]
    function, (store,) = _stores(
        "#global = #tile.space<global>\n"
        "func.func @f(%A: memref<64xindex, #global>, %x0: index) {\n"
        "%c1 = arith.constant 1 : index\n"
        + "\n".join(lines)
        + f"\nmemref.store %x{count}, %A[%c1] : memref<64xindex, #global>\nfunc.return\n}}"
    )
    ranges = IndexRanges(function)
    start = ranges.poly(function.body.block.args[1])
    assert ranges.poly(store.value) - start == count


def test_integers_that_may_wrap_keep_the_power_of_two_that_divides_them() -> None:
    function, (store,) = _stores(
        "#global = #tile.space<global>\n"
        "func.func @f(%A: memref<64xindex, #global>, %n: i32 {tile.divisibility = 48 : i32}) {\n"
        "%c5 = arith.constant 5 : i32\n"
        "%wrapped = arith.muli %n, %c5 : i32\n"
        "%i = arith.index_cast %wrapped : i32 to index\n"
        "memref.store %i, %A[%i] : memref<64xindex, #global>\n"
        "func.return }"
    )
    ranges = IndexRanges(function)
    index = ranges.poly(store.value)
    assert ranges.range(store.value, store) == Interval(-(1 << 31), (1 << 31) - 16)
    assert ranges.context(store).is_multiple(index, 16)
    assert not ranges.context(store).is_multiple(index, 48), "5 * 48 * n modulo 2**32 may not be"
