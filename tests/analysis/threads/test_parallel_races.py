"""Races that are found are real, loops that are proved have none: against brute force."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.passes.pass_support import parse
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.threads.parallel_races import Race, find_races
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import ParallelOp
from tilewright.ir.traversal import walk

EXTENTS = (5, 4)


def index(rng: random.Random) -> tuple[str, list[str]]:
    """An index as a formula for Python, and as ops."""
    a, b, c = (rng.choice((0, 1, 1, 2, 4, 5)) for _ in range(3))
    text, lines = f"{a}*i + {b}*j + {c}", [
        f"arith.muli %i, %c{a}",
        f"arith.muli %j, %c{b}",
        "arith.addi {0}, {1}",
        f"arith.addi {{2}}, %c{c}",
    ]  # fmt: skip
    if rng.random() < 0.4:
        divisor = rng.choice((2, 4, 5))
        word = rng.choice(("floordivsi", "remsi"))
        text = f"({text}) {'//' if word == 'floordivsi' else '%'} {divisor}"
        lines.append(f"arith.{word} {{3}}, %c{divisor}")
    return text, lines


def ops(lines: list[str], prefix: str) -> tuple[str, str]:
    names = [f"%{prefix}{number}" for number in range(len(lines))]
    made = [f"{n} = {line.format(*names)} : index" for n, line in zip(names, lines, strict=True)]
    return "\n".join(made), names[-1]


def check(seed: int) -> tuple[bool, bool]:
    rng = random.Random(seed)
    (write, write_ops), (read, read_ops) = index(rng), index(rng)
    has_read, limit = rng.random() < 0.5, rng.choice((2, 5))
    first, at = ops(write_ops, "w")
    second, other = ops(read_ops, "r")
    constants = "\n".join(f"%c{c} = arith.constant {c} : index" for c in (0, 1, 2, 4, 5))
    load = "%v = memref.load %B[%i, %j] : memref<5x4xf32, #global>"
    if has_read:
        load = f"{second}\n%v = memref.load %A[{other}] : memref<99xf32, #global>"
    module = parse(f"""
    #global = #tile.space<global>
    func.func @f(%A: memref<99xf32, #global>, %B: memref<5x4xf32, #global>) {{
      {constants}
      tile.kernel (%bx) in (3) threads(32) {{
        tile.parallel (%i, %j) in {EXTENTS} {{
          %low = arith.cmpi slt, %i, %c{limit} : index
          scf.if %low {{
            {load}
            {first}
            memref.store %v, %A[{at}] : memref<99xf32, #global>
          }}
        }}
      }}
      func.return
    }}
    """)
    touched: dict[int, list[tuple[tuple[int, int], bool]]] = {}
    for i, j in itertools.product(*map(range, EXTENTS)):
        if i < limit:
            names = {"i": i, "j": j}
            touched.setdefault(eval(write, names), []).append(((i, j), True))
            if has_read:
                touched.setdefault(eval(read, names), []).append(((i, j), False))
    races = any(
        one[0] != other[0] and (one[1] or other[1])
        for each in touched.values()
        for one, other in itertools.combinations(each, 2)
    )
    ranges = IndexRanges(next(op for op in walk(module) if isinstance(op, FuncOp)))
    (loop,) = (op for op in walk(module) if isinstance(op, ParallelOp))
    found = list(find_races(loop, ranges))
    assert all(isinstance(each, Race) for each in found)
    for each in found:
        assert isinstance(each, Race)
        assert each.iterations[0] != each.iterations[1]
        (element,) = each.element
        at_element = {iteration for iteration, _ in touched[element]}
        assert {*each.iterations} <= at_element
    return bool(found), races


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_against_brute_force(start: int) -> None:
    for seed in range(start, start + 10):
        found, real = check(seed)
        assert found == real, seed


@pytest.mark.slow
@pytest.mark.parametrize("start", range(60, 1060, 100))
def test_more_against_brute_force(start: int) -> None:
    for seed in range(start, start + 100):
        found, real = check(seed)
        assert found == real, seed
