"""Compare-and-swap, locks and polling: values at every level, scopes in the device code."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.gpu.tile_levels import by_threads, by_tiles, cubins, lowered
from tests.sampling import every, examples, only
from tests.targets.cuda.host_run import run_on_host
from tests.targets.numpy.kernels import IR_NAMES, run, same_bits
from tests.targets.numpy.tile.tile_support import block
from tilewright.ir.diagnostics.engine import CompileError
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.tile import TileFault
from tilewright.targets.numpy.tile.support import lanes

# -- one element an iteration ------------------------------------------------------------------


def swaps(dtype: Any, count: int, size: int, how: str = "order acq_rel") -> str:
    """Each iteration compares and swaps the element of `T` that `I` names."""
    type = IR_NAMES[np.dtype(dtype)]
    table, line = f"memref<{size}x{type}, #global>", f"memref<{count}x{type}, #global>"
    return block(
        f"%T: {table}, %I: memref<{count}xi32, #global>, %E: {line}, %N: {line}, %O: {line}",
        f"""
    tile.parallel (%i) in ({count}) {{
      %at = memref.load %I[%i] : memref<{count}xi32, #global>
      %k = arith.index_cast %at : i32 to index
      %e = memref.load %E[%i] : {line}
      %n = memref.load %N[%i] : {line}
      %old = tile.atomic cas %T[%k], %n compare %e {how} : {table}, {type} -> {type}
      memref.store %old, %O[%i] : {line}
    }}
""",
    )


def pointer_swaps(dtype: Any, count: int) -> str:
    """The same at the pointer level."""
    type = IR_NAMES[np.dtype(dtype)]

    def pointers(name: str, element: str, offset: str = "%lane") -> str:
        pointer = f"!tt.ptr<{element}>"
        return f"""
  %{name}s = tt.splat %{name} : {pointer} -> tensor<{count}x{pointer}>
  %{name}q = tt.addptr %{name}s, {offset} : tensor<{count}x{pointer}>, tensor<{count}xi32>"""

    def load(name: str, element: str) -> str:
        return f"{pointers(name, element)}\n  %{name}v = tt.load %{name}q : tensor<{count}x!tt.ptr<{element}>>"

    tensor = f"tensor<{count}x{type}>"
    return f"""
tt.func public @kernel(%t: !tt.ptr<{type}>, %i: !tt.ptr<i32>, %e: !tt.ptr<{type}>, %n: !tt.ptr<{type}>, %o: !tt.ptr<{type}>) {{
  %lane = tt.make_range {{start = 0 : i32, end = {count} : i32}} : tensor<{count}xi32>
  {load("i", "i32")}{load("e", type)}{load("n", type)}{pointers("t", type, "%iv")}{pointers("o", type)}
  %old = tt.atomic_cas acq_rel, gpu, %tq, %ev, %nv : (tensor<{count}x!tt.ptr<{type}>>, {tensor}, {tensor}) -> {tensor}
  tt.store %oq, %old : tensor<{count}x!tt.ptr<{type}>>
  tt.return
}}"""


DTYPES = (np.int32, np.int64, np.int16, np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def drawn(dtype: Any, count: int, size: int, seed: int, *, distinct: bool) -> list[Any]:
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 3, size).astype(dtype)
    where = draw.permutation(size)[:count] if distinct else draw.integers(0, size, count)
    expected, new = (draw.integers(0, 3, count).astype(dtype) for _ in range(2))
    return [table, where.astype(np.int32), expected, new, np.full(count, 7).astype(dtype)]


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(DTYPES), st.integers(1, 9), st.integers(0, 2**20))
def test_swaps_have_the_bits_of_the_pointer_level(dtype, size, seed):
    """Also where several iterations swap one element: in their order."""
    arrays = drawn(dtype, 16, size, seed, distinct=False)
    expected = [each.copy() for each in arrays]
    run(pointer_swaps(dtype, 16), (1,), *expected)
    found = by_tiles(swaps(dtype, 16, size), *arrays)
    assert same_bits(found[0], expected[0]) and same_bits(found[4], expected[4])


@pytest.mark.parametrize("dtype", only([np.int64, np.float32, np.float16], DTYPES))
def test_threads_swap(dtype):
    arrays = drawn(dtype, 37, 50, 3, distinct=True)
    text = swaps(dtype, 37, 50)
    expected = by_tiles(text, *arrays)
    assert (expected[0] != arrays[0]).any()
    for target in ("cuda:sm_90a", "hip:gfx942"):
        found = by_threads(text, *arrays, target=target)
        assert same_bits(found[0], expected[0]) and same_bits(found[4], expected[4])


def test_zeros_differ_by_their_sign():
    """Bits are compared, not numbers."""
    text = swaps(np.float32, 2, 2)
    table = np.array([0.0, -0.0], np.float32)
    given = [table, np.arange(2, dtype=np.int32), np.zeros(2, np.float32), np.ones(2, np.float32)]
    for level in (by_tiles, by_threads):
        found = level(text, *given, np.zeros(2, np.float32))
        assert found[0].tolist() == [1.0, 0.0] and np.signbit(found[0][1])


def test_outside_of_a_tensor_nothing_is_swapped():
    text = block(
        "%T: memref<10xi32, #global>, %O: memref<16xi32, #global>",
        """
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    tile.parallel (%i) in (16) {
      %old = tile.atomic cas %T[%i], %one compare %zero : memref<10xi32, #global>, i32 -> i32
      memref.store %old, %O[%i] : memref<16xi32, #global>
    }
""",
    )
    table, out = np.arange(10, dtype=np.int32) % 2, np.full(16, 7, np.int32)
    for level in (by_tiles, by_threads):
        found = level(text, table, out)
        assert found[0].tolist() == [1] * 10
        assert found[1].tolist() == [*(n % 2 for n in range(10)), *[0] * 6]


# -- locks and flags ---------------------------------------------------------------------------


def locked(order: str = "order acquire", release: str = "order release", grid: str = "5") -> str:
    """Every block adds one to a tile, in a critical section."""
    return block(
        "%L: memref<1xi32, #global>, %C: memref<100xf32, #global>",
        f"""
    %free = arith.constant 0 : i32
    %held = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    tile.parallel (%u) in (1) {{
      scf.while : () -> () {{
        %old = tile.atomic cas %L[%u], %held compare %free {order} : memref<1xi32, #global>, i32 -> i32
        %busy = arith.cmpi ne, %old, %free : i32
        scf.condition(%busy)
      }} do {{
        scf.yield
      }}
    }}
    tile.sync
    tile.parallel (%i) in (100) {{
      %v = memref.load %C[%i] : memref<100xf32, #global>
      %w = arith.addf %v, %one : f32
      memref.store %w, %C[%i] : memref<100xf32, #global>
    }}
    tile.sync
    tile.parallel (%u) in (1) {{
      %old = tile.atomic exch %L[%u], %free {release} : memref<1xi32, #global>, i32 -> i32
    }}
""",
        grid=grid,
    )


def locked_by_the_block(grid: str = "5") -> str:
    """The same in code of the block: all threads wait for the lock that one of them takes."""
    return block(
        "%L: memref<1xi32, #global>, %C: memref<100xf32, #global>",
        """
    %zero = arith.constant 0 : index
    %free = arith.constant 0 : i32
    %held = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    scf.while : () -> () {
      %old = tile.atomic cas %L[%zero], %held compare %free order acquire : memref<1xi32, #global>, i32 -> i32
      %busy = arith.cmpi ne, %old, %free : i32
      scf.condition(%busy)
    } do {
      scf.yield
    }
    tile.parallel (%i) in (100) {
      %v = memref.load %C[%i] : memref<100xf32, #global>
      %w = arith.addf %v, %one : f32
      memref.store %w, %C[%i] : memref<100xf32, #global>
    }
    tile.atomic store %L[%zero], %free order release : memref<1xi32, #global>, i32
""",
        grid=grid,
    )


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"])
def test_a_lock_in_code_of_the_block(target):
    given = np.zeros(1, np.int32), np.arange(100, dtype=np.float32)
    text = locked_by_the_block()
    for found in (by_tiles(text, *given), by_threads(text, *given, target=target)):
        assert found[0][0] == 0
        np.testing.assert_array_equal(found[1], given[1] + 5)


def test_one_thread_of_a_block_swaps():
    """Once a block, whatever the order of threads: the second block finds the first one's value."""
    text = block(
        "%T: memref<1xi32, #global>, %O: memref<3xi32, #global>",
        """
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %b = arith.index_cast %bx : index to i32
    %next = arith.addi %b, %one : i32
    %old = tile.atomic cas %T[%zero], %next compare %b order acq_rel scope sys : memref<1xi32, #global>, i32 -> i32
    tile.parallel (%u) in (1) {
      memref.store %old, %O[%bx] : memref<3xi32, #global>
    }
""",
        grid="3",
    )
    given = np.zeros(1, np.int32), np.full(3, 77, np.int32)
    for target in ("cuda:sm_90a", "hip:gfx942"):
        for found in (by_tiles(text, *given), by_threads(text, *given, target=target)):
            assert found[0].tolist() == [3] and found[1].tolist() == [0, 1, 2]
    (source,) = cubins(text, ["sm_90a"])
    assert source.count("tw::cas_system<int>(") == 1


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"])
def test_a_lock(target):
    given = np.zeros(1, np.int32), np.arange(100, dtype=np.float32)
    for found in (by_tiles(locked(), *given), by_threads(locked(), *given, target=target)):
        assert found[0][0] == 0
        np.testing.assert_array_equal(found[1], given[1] + 5)


def test_a_lock_runs_as_compiled_code(tmp_path, monkeypatch):
    """The text of the kernel, on the host: threads of a block are concurrent."""
    lock, values = np.zeros(1, np.int32), np.arange(100, dtype=np.float32)
    arguments = [Buffer("L", lock), Buffer("C", values)]
    run_on_host(lowered(locked(grid="3"), "cuda:sm_80"), arguments, tmp_path, monkeypatch)
    assert lock[0] == 0
    np.testing.assert_array_equal(values, np.arange(100) + 3)


def test_a_lock_that_is_never_released(monkeypatch):
    monkeypatch.setattr(lanes, "_MAX_TRIP_COUNT", 1000)
    with pytest.raises(TileFault, match="did not terminate"):
        by_tiles(locked(), np.ones(1, np.int32), np.zeros(100, np.float32))


@pytest.mark.parametrize(
    ("order", "release"),
    [
        ("order relaxed", "order release"),
        ("order acquire", "order relaxed"),
        ("order acquire scope cta", "order release scope cta"),
    ],
)
def test_a_lock_that_orders_nothing_is_a_race(order, release):
    """A scope of one block orders nothing for the others."""
    with pytest.raises(TileFault, match="race"):
        by_tiles(locked(order, release), np.zeros(1, np.int32), np.zeros(100, np.float32))


POLLED = block(
    "%F: memref<4xi32, #global>, %D: memref<4x64xf32, #global>, %O: memref<4x64xf32, #global>",
    """
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %bx, %zero : index
    %c1 = arith.constant 1 : index
    %before = arith.subi %bx, %c1 : index
    scf.if %first {
    } else {
      tile.parallel (%u) in (1) {
        scf.while : () -> () {
          %seen = tile.atomic load %F[%before] order acquire : memref<4xi32, #global> -> i32
          %wait = arith.cmpi ne, %seen, %one : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
      }
      tile.sync
      tile.parallel (%i) in (64) {
        %v = memref.load %O[%before, %i] : memref<4x64xf32, #global>
        %d = memref.load %D[%bx, %i] : memref<4x64xf32, #global>
        %s = arith.addf %v, %d : f32
        memref.store %s, %D[%bx, %i] : memref<4x64xf32, #global>
      }
    }
    tile.parallel (%i) in (64) {
      %d = memref.load %D[%bx, %i] : memref<4x64xf32, #global>
      memref.store %d, %O[%bx, %i] : memref<4x64xf32, #global>
    }
    tile.sync
    tile.parallel (%u) in (1) {
      tile.atomic store %F[%bx], %one order release : memref<4xi32, #global>, i32
    }
""",
    grid="4",
)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_each_block_waits_for_the_one_before(target):
    values = np.random.default_rng(1).integers(-9, 9, (4, 64)).astype(np.float32)
    given = np.zeros(4, np.int32), values, np.full((4, 64), 77, np.float32)
    for found in (by_tiles(POLLED, *given), by_threads(POLLED, *given, target=target)):
        np.testing.assert_array_equal(found[2], values.cumsum(axis=0))
        assert found[0].tolist() == [1] * 4


# -- device code -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("", ["atomicCAS("]),
        ("order acquire scope cta", ["atomicCAS(", "__threadfence_block();"]),
        ("order acq_rel scope gpu", ["__threadfence();", "atomicCAS(", "__threadfence();"]),
        ("order release scope sys", ["__threadfence_system();", "tw::cas_system<int>("]),
    ],
)
def test_orders_and_scopes(how, expected):
    for source in cubins(swaps(np.int32, 32, 32, how)):
        position = 0
        for text in expected:
            position = source.index(text, position) + 1
        fences = sum("fence" in each for each in expected)
        assert source.count("__threadfence") == fences


@pytest.mark.parametrize("dtype", only([np.int64, np.float32, np.float16], DTYPES))
def test_every_type_compiles(dtype):
    for scope, name in (("gpu", "atomicCAS("), ("sys", "tw::cas_system<")):
        (source,) = cubins(swaps(dtype, 32, 32, f"scope {scope}"), ["sm_90a"])
        assert name in source


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        *every(3, [(t, kind) for t in ("i32", "i64") for kind in ("add", "umin", "exch", "or")]),
        *((t, kind) for t in ("f32", "f16") for kind in ("add", "max")),
        ("f32", "exch"),
    ],
)
def test_updates_for_all_devices_compile(kind, type):
    text = block(
        f"%T: memref<8x{type}, #global>, %V: memref<8x{type}, #global>",
        f"""
    tile.parallel (%i) in (8) {{
      %v = memref.load %V[%i] : memref<8x{type}, #global>
      tile.atomic {kind} %T[%i], %v scope sys : memref<8x{type}, #global>, {type}
    }}
""",
    )
    (source,) = cubins(text, ["sm_90a"])
    assert "_system" in source


def test_bytes_are_refused():
    with pytest.raises(CompileError, match="atomic cas on 8-bit elements is not supported"):
        for function in kernels_of(lowered(swaps(np.int8, 32, 32))):
            emit_kernel(function)
