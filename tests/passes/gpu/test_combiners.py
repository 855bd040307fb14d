"""Reductions and scans by a region: bits of the pointer level, at every level, for any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.gpu.combiner_kernels import (
    COMBINERS,
    Combiner,
    pointer_ops,
    results_like,
    tile_kernel,
)
from tests.passes.gpu.tile_levels import by_threads, by_tiles, cubins, lowered
from tests.sampling import every, examples, only
from tests.targets.cuda.host_run import run_on_host
from tests.targets.numpy.kernels import on_blocks, same_bits
from tests.targets.numpy.tile.tile_support import block
from tilewright.ir.diagnostics.engine import CompileError
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.tile import TileFault

POWERS = (((64,), 0), ((8, 16), 0), ((8, 16), 1), ((4, 2, 32), 1), ((2, 128, 2), 1), ((1, 4), 0))
ODD = (((1,), 0), ((7,), 0), ((9,), 0), ((100,), 0), ((1000,), 0), ((3, 37), 1), ((37, 3), 0),
       ((5, 6, 7), 1), ((2, 70, 5), 1), ((4, 513), 1), ((1, 40), 1), ((40, 1), 0))  # fmt: skip


def at_tiles(combiner: Combiner, sources: list[Any], axis: int, **how: Any) -> list[Any]:
    text = tile_kernel(combiner, sources[0].shape, axis, **how)
    empty = results_like(combiner, sources[0].shape, axis, scan=how.get("scan", False))
    return by_tiles(text, *sources, *empty)[len(sources) :]


def at_threads(
    combiner: Combiner, sources: list[Any], axis: int, target: str = "cuda:sm_90a", **how: Any
) -> list[Any]:
    text = tile_kernel(combiner, sources[0].shape, axis, **how)
    empty = results_like(combiner, sources[0].shape, axis, scan=how.get("scan", False))
    return by_threads(text, *sources, *empty, target=target)[len(sources) :]


def at_pointers(combiner: Combiner, sources: list[Any], axis: int, **how: Any) -> list[Any]:
    one = [each[None] for each in sources]
    found: list[Any] = []
    for which in range(len(sources)):
        text, like = pointer_ops(combiner, one, axis, which, **how)
        found.append(on_blocks(text, like, *one)[0])
    return found


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert same_bits(np.ravel(one), np.ravel(other)), (one, other)


@pytest.mark.parametrize("name", COMBINERS)
@pytest.mark.parametrize(("shape", "axis"), only(POWERS[1:3], POWERS))
def test_a_reduction_has_the_bits_of_the_pointer_level(name, shape, axis):
    combiner = COMBINERS[name]
    sources = combiner.sources(shape, axis)
    expected = at_pointers(combiner, sources, axis)
    assert_same(at_tiles(combiner, sources, axis), expected)


@pytest.mark.parametrize("name", COMBINERS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), only(POWERS[2:3], POWERS))
def test_a_scan_has_the_bits_of_the_pointer_level(name, shape, axis, reverse):
    combiner = COMBINERS[name]
    sources = combiner.sources(shape, axis)
    how = {"scan": True, "reverse": reverse}
    assert_same(
        at_tiles(combiner, sources, axis, **how), at_pointers(combiner, sources, axis, **how)
    )


# -- threads -----------------------------------------------------------------------------------

TREES = ("argmax", "any argmax", "max and sum", "welford", "linear", "last", "branch", "sum f16",
         "sum bf16", "umax", "any")  # fmt: skip
"""Combined in the order of a balanced tree by NumPy as well, so that all bits are equal."""


@pytest.mark.parametrize(("shape", "axis"), only(ODD[::2], ODD))
@pytest.mark.parametrize("name", ["argmax", "welford", "linear"])
def test_threads_reduce_in_the_same_order(name, shape, axis):
    combiner = COMBINERS[name]
    sources = combiner.sources(shape, axis, seed=3)
    expected = at_tiles(combiner, sources, axis)
    assert_same(at_threads(combiner, sources, axis), expected)


@pytest.mark.parametrize("name", every(2, TREES))
def test_any_combiner_in_any_space(name):
    combiner = COMBINERS[name]
    sources = combiner.sources((6, 75), 1, seed=4)
    expected = at_tiles(combiner, sources, 1)
    for target, space in (("cuda:sm_80", "shared"), ("hip:gfx942", "fragment")):
        assert_same(at_threads(combiner, sources, 1, target, space=space), expected)


@pytest.mark.parametrize("threads", every(2, [96, 32, 256]))
def test_any_thread_count(threads):
    combiner = COMBINERS["linear of integers"]
    sources = combiner.sources((300, 3), 0, seed=5)
    expected = at_tiles(combiner, sources, 0)
    assert_same(at_threads(combiner, sources, 0, threads=threads), expected)
    expected = at_tiles(combiner, sources, 0, scan=True)
    assert_same(at_threads(combiner, sources, 0, threads=threads, scan=True), expected)


EXACT = ("argmax", "any argmax", "last", "linear of integers", "branch", "min i8", "xor", "any")


@pytest.mark.parametrize(("shape", "axis"), only(ODD[1::2], ODD))
@pytest.mark.parametrize("reverse", [False, True])
def test_threads_scan(shape, axis, reverse):
    combiner = COMBINERS["linear of integers"]
    sources = combiner.sources(shape, axis, seed=6)
    how = {"scan": True, "reverse": reverse}
    expected = at_tiles(combiner, sources, axis, **how)
    assert_same(at_threads(combiner, sources, axis, **how), expected)


@pytest.mark.parametrize("name", every(3, EXACT))
@pytest.mark.parametrize("in_place", [False, True])
def test_any_combiner_scans_in_place(name, in_place):
    combiner = COMBINERS[name]
    sources = combiner.sources((6, 75), 1, seed=7)
    expected = at_tiles(combiner, sources, 1, scan=True)
    how = {"scan": True, "in_place": in_place}
    assert_same(at_tiles(combiner, sources, 1, **how), expected)
    for target, space in (("cuda:sm_90a", "shared"), ("hip:gfx942", "fragment")):
        assert_same(at_threads(combiner, sources, 1, target, space=space, **how), expected)


@pytest.mark.parametrize(
    ("name", "scan"), every(2, [("argmax", False), ("welford", False), ("linear", True)])
)
def test_device_code_compiles(name, scan):
    combiner = COMBINERS[name]
    for source in cubins(tile_kernel(combiner, (4, 200), 1, scan=scan, reverse=scan)):
        assert "__syncthreads" in source


@pytest.mark.parametrize(
    ("name", "scan"), every(2, [("linear of integers", True), ("any argmax", False)])
)
def test_the_text_of_a_kernel_runs_on_the_host(name, scan, tmp_path, monkeypatch):
    """Compiled by a C++ compiler, every CUDA thread a thread: barriers are where they have to be."""
    combiner = COMBINERS[name]
    sources = combiner.sources((3, 300), 1, seed=11)
    expected = at_tiles(combiner, sources, 1, scan=scan)
    empty = results_like(combiner, (3, 300), 1, scan=scan)
    buffers = [Buffer(f"x{n}", each) for n, each in enumerate([*sources, *empty])]
    module = lowered(tile_kernel(combiner, (3, 300), 1, scan=scan, threads=64), "cuda:sm_80")
    run_on_host(module, buffers, tmp_path, monkeypatch)
    assert_same(empty, expected)


# -- values ------------------------------------------------------------------------------------


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 90), st.integers(1, 4), st.integers(0, 2**20), st.sampled_from([0, 1]))
def test_welford_is_the_variance(length, lines, seed, axis):
    combiner = COMBINERS["welford"]
    shape = (length, lines) if axis == 0 else (lines, length)
    sources = combiner.sources(shape, axis, seed)
    mean, squares, count = at_tiles(combiner, sources, axis)
    exact = sources[0].astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axis=axis), atol=1e-5)
    np.testing.assert_allclose(squares / count, exact.var(axis=axis), rtol=1e-4, atol=1e-5)
    assert (count == length).all()


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 90), st.integers(0, 2**20), st.booleans())
def test_a_linear_recurrence(length, seed, reverse):
    combiner = COMBINERS["linear"]
    factors, terms = combiner.sources((length,), 0, seed)
    _, found = at_tiles(combiner, [factors, terms], 0, scan=True, reverse=reverse)
    order = range(length)[::-1] if reverse else range(length)
    state, expected = 0.0, np.zeros(length)
    for n in order:
        state = float(factors[n]) * state + float(terms[n])
        expected[n] = state
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_index_of_the_first_maximum_of_each_row():
    combiner = COMBINERS["argmax"]
    sources = combiner.sources((13, 100), 1, seed=9)
    best, at = at_threads(combiner, sources, 1)
    np.testing.assert_array_equal(best, sources[0].max(axis=1))
    np.testing.assert_array_equal(at, sources[0].argmax(axis=1))


def test_log_sum_exp():
    combiner = COMBINERS["max and sum"]
    sources = combiner.sources((5, 77), 1, seed=10)
    top, total = at_threads(combiner, sources, 1)
    exact = sources[0].astype(np.float64)
    expected = np.log(np.exp(exact - exact.max(1, keepdims=True)).sum(1)) + exact.max(1)
    np.testing.assert_allclose(np.log(total) + top, expected, rtol=1e-6)


# -- checks ------------------------------------------------------------------------------------


def test_an_uninitialised_source_is_reported():
    text = tile_kernel(COMBINERS["argmax"], (4, 16), 1)
    start = text.index("tile.copy %A1")
    text = text[:start] + text[text.index("\n", start) :]
    sources = COMBINERS["argmax"].sources((4, 16), 1)
    empty = results_like(COMBINERS["argmax"], (4, 16), 1)
    with pytest.raises(TileFault, match=r"read of uninitialised x1\[0, 0\]"):
        by_tiles(text, *sources, *empty)
    with pytest.raises(CompileError, match="x1 is read before it is written"):
        by_threads(text, *sources, *empty)


PIPELINED = block(
    "%A: memref<8x160xi32, #global>, %B: memref<8x5xi32, #global>",
    """
    %c32 = arith.constant 32 : index
    %a = tile.alloc "a" : memref<8x32xi32, #shared>
    %r = tile.alloc "r" : memref<8xi32, #shared>
    tile.pipeline %k = 0 to 5 num_stages(2) {
      %z = arith.muli %k, %c32 : index
      %ra = tile.region %A[0, %z] [8, 32] : memref<8x160xi32, #global> to !tile.region<8x32xi32, #global>
      tile.copy %ra -> %a : !tile.region<8x32xi32, #global> -> memref<8x32xi32, #shared>
      tile.reduce_by %a -> %r dim 1 : memref<8x32xi32, #shared> -> memref<8xi32, #shared> {
      ^bb0(%x: i32, %y: i32):
        %m = arith.muli %x, %y : i32
        %s = arith.addi %x, %y : i32
        %t = arith.addi %m, %s : i32
        tile.return %t : i32
      }
      tile.parallel (%i) in (8) {
        %v = memref.load %r[%i] : memref<8xi32, #shared>
        memref.store %v, %B[%i, %k] : memref<8x5xi32, #global>
      }
    }
""",
)


def test_a_pipelined_loop_with_several_versions_of_the_source():
    """(1 + x) (1 + y) - 1, of a tile that the next copies are in flight beside."""
    values = np.random.default_rng(3).integers(-9, 9, (8, 160)).astype(np.int32)
    expected = np.prod(1 + values.reshape(8, 5, 32), axis=2, dtype=np.int32) - 1
    empty = np.full((8, 5), 77, np.int32)
    np.testing.assert_array_equal(by_tiles(PIPELINED, values, empty)[1], expected)
    for target in ("cuda:sm_90a", "cuda:sm_80"):
        for seed in range(3):
            found = by_threads(PIPELINED, values, empty, target=target, seed=seed)[1]
            np.testing.assert_array_equal(found, expected)


def test_a_scalar_from_outside_takes_part():
    text = block(
        "%A: memref<40xf32, #global>, %B: memref<1xf32, #global>, %s: f32",
        """
    %a = tile.alloc "a" : memref<40xf32, #fragment>
    %r = tile.alloc "r" : memref<1xf32, #fragment>
    tile.copy %A -> %a : memref<40xf32, #global> -> memref<40xf32, #fragment>
    tile.reduce_by %a -> %r dim 0 : memref<40xf32, #fragment> -> memref<1xf32, #fragment> {
    ^bb0(%x: f32, %y: f32):
      %m = arith.mulf %y, %s : f32
      %t = arith.addf %x, %m : f32
      tile.return %t : f32
    }
    tile.copy %r -> %B : memref<1xf32, #fragment> -> memref<1xf32, #global>
""",
    )
    values = np.random.default_rng(4).integers(-9, 9, 40).astype(np.float32)
    level = list(values)
    while len(level) > 1:
        pairs = [x + y * 2 for x, y in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, *(level[-1:] if len(level) % 2 else [])]
    empty = np.zeros(1, np.float32)
    assert by_tiles(text, values, empty, np.float32(2))[1][0] == level[0]
    assert by_threads(text, values, empty, np.float32(2))[1][0] == level[0]
