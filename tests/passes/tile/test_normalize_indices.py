"""Simplified index arithmetic computes what it computed before, and simplifying comes to an end."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import apply, parse
from tilewright.analysis.affine import Interval
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import StoreOp
from tilewright.ir.traversal import walk
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

BINARY = ("addi", "subi", "muli", "minsi", "maxsi", "floordivsi", "ceildivsi", "divsi", "remsi")
ROWS, LANES = 6, 5


def random_kernel(seed: int) -> str:
    """A kernel that stores index arithmetic over its loops, under a random condition."""
    rng = random.Random(seed)
    values = ["%bx", "%i", "%j", "%k", "%n"]
    lines: list[str] = []

    def operand() -> str:
        return rng.choice([*values, *(f"%c{rng.choice((1, 2, 3, 4, 5, 8, 12))}" for _ in range(2))])

    for number in range(rng.randint(4, 10)):
        op = rng.choice(BINARY)
        right = f"%c{rng.choice((1, 2, 3, 4, 8))}" if "div" in op or "rem" in op else operand()
        lines.append(f"%v{number} = arith.{op} {operand()}, {right} : index")
        values.append(f"%v{number}")
    predicate = rng.choice(("slt", "sle", "sgt", "sge", "eq", "ne"))
    lines.append(f"%cond = arith.cmpi {predicate}, {rng.choice(values)}, {operand()} : index")
    lines.append(f"%word = arith.index_cast {values[-1]} : index to i64")
    constants = "\n".join(f"%c{c} = arith.constant {c} : index" for c in (0, 1, 2, 3, 4, 5, 8, 12))
    body = "\n".join(lines)
    return f"""
#global = #tile.space<global>
func.func @kernel(%A: memref<2x3x{ROWS}x{LANES}xi64, #global>, %n: index)
    attributes {{tile.entry}} {{
  {constants}
  %few = arith.cmpi sle, %n, %c12 : index
  %some = arith.cmpi sge, %n, %c1 : index
  tile.assume %few
  tile.assume %some
  tile.kernel (%bx) in (2) threads(32) {{
    scf.for %k = %c0 to %c3 step %c1 {{
      tile.parallel (%i, %j) in ({ROWS}, {LANES}) {{
        {body}
        scf.if %cond {{
          memref.store %word, %A[%bx, %k, %i, %j] : memref<2x3x{ROWS}x{LANES}xi64, #global>
        }}
      }}
    }}
  }}
  func.return
}}
"""


def run(kernel: ModuleOp, n: int) -> np.ndarray:
    out = np.full((2, 3, ROWS, LANES), -999, np.int64)
    compile_tile_module(kernel).launch([Buffer("A", out), np.int64(n)], TileOptions())
    return out


def check(seed: int) -> None:
    text = random_kernel(seed)
    changed = apply(parse(text), "normalize-indices")
    for n in (1, 7, 12):
        np.testing.assert_array_equal(run(changed, n), run(parse(text), n))


@pytest.mark.parametrize("seed", range(25))
def test_random_arithmetic_keeps_its_values(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25, 600))
def test_more_random_arithmetic(seed: int) -> None:
    check(seed)


def nest(depth: int) -> str:
    """Loops in loops, each with divisions of everything around it."""
    lines = ["#global = #tile.space<global>", "func.func @f(%A: memref<?xi64, #global>) {"]
    lines += [f"%c{c} = arith.constant {c} : index" for c in (0, 1, 7)]
    lines.append("%s0 = arith.addi %c0, %c1 : index")
    for level in range(depth):
        lines.append(f"scf.for %i{level} = %c0 to %s{level} step %c1 {{")
        lines.append(f"%m{level} = arith.muli %s{level}, %i{level} : index")
        lines.append(f"%d{level} = arith.floordivsi %m{level}, %c7 : index")
        lines.append(f"%s{level + 1} = arith.addi %d{level}, %s{level} : index")
    lines.append(f"%w = arith.index_cast %s{depth} : index to i64")
    lines.append("memref.store %w, %A[%c0] : memref<?xi64, #global>")
    return "\n".join([*lines, "}" * depth, "func.return", "}"])


@pytest.mark.parametrize("depth", [8, 60])
def test_deep_nests_end(depth: int) -> None:
    module = parse(nest(depth))
    start = time.process_time()
    apply(module, "normalize-indices")
    assert time.process_time() - start < 10


def test_a_budget_ends_the_analysis_not_the_pass() -> None:
    text = random_kernel(3)
    module = parse(text)
    function = next(op for op in walk(module) if isinstance(op, FuncOp))
    ranges = IndexRanges(function, budget=5)
    assert len(ranges.scopes) == 5
    assert len(IndexRanges(function).scopes) > 20


def test_ranges_of_loops_blocks_and_steps() -> None:
    module = parse("""
    #global = #tile.space<global>
    func.func @f(%A: memref<?x8xindex, #global>, %n: index) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c19 = arith.constant 19 : index
      tile.kernel (%bx) in (6) threads(32) {
        scf.for %k = %c3 to %c19 step %c4 {
          %twice = arith.addi %k, %bx : index
          memref.store %k, %A[%twice, %bx] : memref<?x8xindex, #global>
        }
      }
      func.return
    }
    """)
    (store,) = (op for op in walk(module) if isinstance(op, StoreOp))
    ranges = IndexRanges(next(op for op in walk(module) if isinstance(op, FuncOp)))
    assert ranges.range(store.value, store) == Interval(3, 15)
    assert ranges.range(store.indices[0], store) == Interval(3, 20)
    assert ranges.context(store).congruence(ranges.poly(store.value)).modulo(4) == 3
