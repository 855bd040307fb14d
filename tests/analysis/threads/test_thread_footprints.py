"""Elements by thread, against an enumeration of all threads and iterations."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.passes.pass_support import parse
from tilewright import T
from tilewright.analysis.threads.thread_footprints import EarlierAccess, Footprint, ThreadFootprints
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import StoreOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk, walk_for
from tilewright.passes.gpu.pipeline import GpuPipeline

THREADS, TRIPS, ELEMENTS = 64, 4, 4096
_SEEDS = range(40)


def _index(rng: random.Random) -> tuple[str, str]:
    """Ops that compute `%NAME.at` from %tid and %i, and the same as a Python expression."""
    scale, step, offset = rng.choice((1, 2, 8)), rng.choice((0, 1, 64, 512)), rng.choice((0, 1, 7))
    mask, divisor = rng.choice((0, 1, 9)), rng.choice((1, 2, 32))
    return (
        f"""
    %N.d = arith.constant {divisor} : index
    %N.a = arith.constant {scale} : index
    %N.b = arith.constant {step} : index
    %N.m = arith.constant {mask} : index
    %N.o = arith.constant {offset} : index
    %N.t = arith.divui %tid, %N.d : index
    %N.x = arith.xori %N.t, %N.m : index
    %N.p = arith.muli %N.x, %N.a : index
    %N.q = arith.muli %i, %N.b : index
    %N.s = arith.addi %N.p, %N.q : index
    %N.r = arith.addi %N.s, %N.o : index
    %N.at = arith.addi %N.r, %base : index
""",
        f"((t // {divisor}) ^ {mask}) * {scale} + i * {step} + {offset}",
    )


def _footprints(
    one: str, other: str, widths: tuple[int, int] = (1, 1)
) -> tuple[Footprint, Footprint]:
    text = f"""
#s = #tile.space<shared>
func.func @kernel(%x: f32, %base: index)
    attributes {{simt.kernel, simt.threads = {THREADS} : i64}} {{
  %S = tile.alloc "S" offset 0 : memref<{ELEMENTS}xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {TRIPS} : index
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %n step %c1 {{
    {one.replace("%N.", "%one_")}
    {other.replace("%N.", "%other_")}
    memref.store %x, %S[%one_at] : memref<{ELEMENTS}xf32, #s>
    memref.store %x, %S[%other_at] : memref<{ELEMENTS}xf32, #s>
  }}
  func.return
}}
"""
    module = parse(text)
    function = next(op for op in walk(module) if isinstance(op, FuncOp))
    known = ThreadFootprints(function)
    found = [
        known.of(op, op.memref, op.indices[0], width)
        for op, width in zip(walk_for(function, StoreOp), widths, strict=True)
    ]
    first, second = found
    assert first is not None
    assert second is not None
    return first, second


def _enumerated(expression: str, width: int = 1) -> dict[int, set[int]]:
    owners: dict[int, set[int]] = defaultdict(set)
    for t in range(THREADS):
        for i in range(TRIPS):
            start = eval(expression, {"t": t, "i": i})
            for element in range(start, start + width):
                owners[element].add(t)
    return owners


@pytest.mark.parametrize("seed", _SEEDS)
def test_conflicts_are_those_of_an_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    (one, first), (other, second) = _index(rng), _index(rng)
    if rng.random() < 0.3:
        other, second = one, first
    a, b = _footprints(one, other)
    here, there = _enumerated(first), _enumerated(second)
    expected = any(len(here[at] | there[at]) > 1 for at in here if at in there)
    assert a.conflicts(b) == expected == b.conflicts(a)
    for warp in (2, 32):
        apart = any(
            len({t // warp for t in here[at] | there[at]}) > 1 for at in here if at in there
        )
        assert a.conflicts(b, warp) == apart == b.conflicts(a, warp)


@pytest.mark.parametrize("seed", _SEEDS)
def test_conflicts_of_wide_accesses_are_those_of_an_enumeration(seed: int) -> None:
    """Aligned to their width or not, and of different widths."""
    rng = random.Random(seed)
    (one, first), (other, second) = _index(rng), _index(rng)
    if rng.random() < 0.3:
        other, second = one, first
    for widths in ((8, 8), (2, 8), (4, 6), (8, 1)):
        a, b = _footprints(one, other, widths)
        here, there = _enumerated(first, widths[0]), _enumerated(second, widths[1])
        expected = any(len(here[at] | there[at]) > 1 for at in here if at in there)
        assert a.conflicts(b) == expected == b.conflicts(a)


@pytest.mark.parametrize("seed", _SEEDS)
def test_no_conflict_of_different_iterations_is_overlooked(seed: int) -> None:
    rng = random.Random(seed)
    (one, first), (other, second) = _index(rng), _index(rng)
    a, b = _footprints(one, other)
    (variable,) = a.evaluated | b.evaluated or {None}
    pairs = [(t, i) for t in range(THREADS) for i in range(TRIPS)]
    here, there = (
        [(eval(each, {"t": t, "i": i}), t, i) for t, i in pairs] for each in (first, second)
    )
    accessed: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for element, t, i in here:
        accessed[element].append((t, i))
    expected = any(
        t != thread and i != iteration
        for element, thread, iteration in there
        for t, i in accessed[element]
    )
    found = EarlierAccess(a, apart=variable).conflicts(b)
    assert found or not expected


def test_iterations_with_elements_of_their_own_do_not_conflict() -> None:
    text = """
    %N.b = arith.constant 2 : index
    %N.q = arith.muli %i, %N.b : index
    %N.at = arith.addi %N.q, %base : index
"""
    a, b = _footprints(text, text)
    (variable,) = a.evaluated
    assert a.conflicts(b)
    assert not EarlierAccess(a, apart=variable).conflicts(b)


def test_both_results_occur() -> None:
    """The seeds show accesses that conflict, and accesses that do not."""
    results: set[bool] = set()
    for seed in _SEEDS[:12]:
        rng = random.Random(seed)
        first, second = _index(rng)[1], _index(rng)[1]
        if rng.random() < 0.3:
            second = first
        here, there = _enumerated(first), _enumerated(second)
        results.add(any(len(here[at] | there[at]) > 1 for at in here if at in there))
    assert results == {True, False}


@T.prim_func
def rotate(A: T.Tensor((THREADS,), "float32"), B: T.Tensor((THREADS,), "float32")):
    with T.Kernel(1, threads=THREADS):
        staged = T.alloc_shared((THREADS,), "float32")
        tid = T.get_thread_binding()
        staged[tid] = A[tid]
        B[tid] = staged[(tid + 1) % THREADS]


def test_a_conflict_that_is_overlooked_is_a_data_race(monkeypatch: pytest.MonkeyPatch) -> None:
    module, engine = rotate.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    assert any(isinstance(op, BarrierOp) for op in walk(module))
    monkeypatch.setattr(Footprint, "conflicts", lambda *_: False)
    module, engine = rotate.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    assert [each.code for each in engine.diagnostics if each.severity is Severity.ERROR] == [
        "TW9021"
    ]
