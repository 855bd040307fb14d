"""A TMA box starts, innermost, at a multiple of 16 bytes: any other start ends the kernel on a GPU.

So the compiler proves it before it uses TMA, and both executors check it, without a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.analysis.copies import copy_instructions
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt.api import SimtFault
from tilewright.targets.numpy.tile import TileFault

ROWS, COLUMNS, TILE = 32, 64, 16


def loads(dtype: str, first: int, step: int) -> Any:
    """Tiles of 16 x 16, loaded in a pipelined loop, from columns `first + step * k` on."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), dtype), B: T.Tensor((3, TILE, TILE), dtype)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((TILE, TILE), dtype)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[k, first + step * k], tile)
                for i, j in T.Parallel(TILE, TILE):
                    B[k, i, j] = tile[i, j]

    return kernel


def stores(dtype: str, first: int) -> Any:
    """Tiles of 16 x 16, stored from shared memory at a column that depends on the block."""

    @T.prim_func
    def kernel(A: T.Tensor((TILE, TILE), dtype), B: T.Tensor((ROWS, COLUMNS), dtype)):
        with T.Kernel(2, threads=128) as bx:
            tile = T.alloc_shared((TILE, TILE), dtype)
            for i, j in T.Parallel(TILE, TILE):
                tile[i, j] = A[i, j]
            T.copy(tile, B[0, bx * TILE + first])

    return kernel


def lowered(function: Any) -> tuple[Any, DiagnosticEngine]:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module, engine


def run(function: Any, given: np.ndarray, out: np.ndarray) -> None:
    compile_simt(lowered(function)[0]).launch([Buffer("A", given), Buffer("B", out)])


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "first", "step", "uses_tma"),
    [
        ("float16", 0, 8, True),
        ("float16", 8, 16, True),
        ("float16", -8, 8, True),
        ("float16", 56, 8, True),
        ("float16", 1, 8, False),
        ("float16", 0, 4, False),
        ("float16", -2, 8, False),
        ("int32", 4, 4, True),
        ("int32", 1, 4, False),
        ("int8", 16, 16, True),
        ("int8", 8, 16, False),
    ],
)
def test_odd_start_of_a_load_is_not_given_to_tma(
    dtype: str, first: int, step: int, uses_tma: bool
) -> None:
    function = loads(dtype, first, step)
    module, engine = lowered(function)
    assert ("nv.tma_load" in print_module(module)) == uses_tma
    reasons = [each.message for each in engine.diagnostics if "start" in each.message]
    assert bool(reasons) != uses_tma
    given, out = numbers(dtype, ROWS, COLUMNS), np.full((3, TILE, TILE), 99, dtype)
    run(function, given, out)
    wanted = np.full_like(out, 99)
    tw.compile(function, target="numpy")(given, wanted)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    ("first", "uses_tma"), [(0, True), (8, True), (3, False), (-4, False), (-8, False)]
)
def test_odd_or_negative_start_of_a_store_is_not_given_to_tma(first: int, uses_tma: bool) -> None:
    function = stores("float16", first)
    assert ("nv.tma_store" in print_module(lowered(function)[0])) == uses_tma
    given, out = numbers("float16", TILE, TILE), np.full((ROWS, COLUMNS), 99, "float16")
    run(function, given, out)
    wanted = np.full_like(out, 99)
    tw.compile(function, target="numpy")(given, wanted)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("function", [loads("float16", 1, 8), stores("float16", 3)])
def test_the_executor_notices_a_start_that_was_not_proved(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = [
        each for each in copy_instructions.BULK_CONDITIONS if each.__name__ != "_starts_at_granule"
    ]
    monkeypatch.setattr(copy_instructions, "BULK_CONDITIONS", tuple(rest))
    shapes = [param.shape for param in function.params]
    given, out = (numbers("float16", *shape) for shape in shapes)
    with pytest.raises(SimtFault, match="which is not a multiple of 16"):
        run(function, given, out)


def by_author(column: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((TILE, TILE), "float16")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((TILE, TILE), "float16")
            full = T.alloc_barrier(1)
            if T.get_thread_binding() == 0:
                T.tma_copy(A[0:TILE, column : column + TILE], tile, barrier=full[0])
                T.barrier_arrive(full[0])
            T.barrier_wait(full[0], 0)
            T.copy(tile, B)

    return kernel


def test_the_executor_notices_a_store_that_starts_before_the_tensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copy_instructions, "_starts_inside", lambda copy: None)
    given, out = numbers("float16", TILE, TILE), numbers("float16", ROWS, COLUMNS)
    with pytest.raises(SimtFault, match="only loads may have negative coordinates"):
        run(stores("float16", -8), given, out)


def vector(length: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((length,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((32,), "float32")
            for i in T.Parallel(32):
                tile[i] = A[i]
            T.copy(tile, B[0:32])

    return kernel


@pytest.mark.parametrize(("length", "uses_tma"), [(32, True), (20, True), (21, False), (35, False)])
def test_a_store_does_not_fill_the_16_bytes_in_which_a_row_ends(
    length: int, uses_tma: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = vector(length)
    assert ("nv.tma_store" in print_module(lowered(function)[0])) == uses_tma
    given, out = numbers("float32", 32), np.full(length, 99, np.float32)
    run(function, given, out)
    np.testing.assert_array_equal(out[:32], given[:length])
    if length == 21:
        monkeypatch.setattr(copy_instructions, "_ends_at_granule", lambda copy: None)
        with pytest.raises(SimtFault, match="passes the end of rows of 84 bytes"):
            run(function, given, out)


def stored_by_author(row: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((TILE, TILE), "float16"), B: T.Tensor((ROWS, COLUMNS), "float16")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((TILE, TILE), "float16")
            T.copy(A, tile)
            T.tma_copy(tile, B[bx + row : bx + row + TILE, 0:TILE])
            T.tma_store_arrive()
            T.tma_store_wait()

    return kernel


def test_a_tma_store_of_the_author_before_the_tensor_is_an_error() -> None:
    with pytest.raises(CompileError, match=r"TW3015.*TMA store to B starts at a negative"):
        lowered(stored_by_author(-3))
    given, out = numbers("float16", TILE, TILE), numbers("float16", ROWS, COLUMNS)
    with pytest.raises(TileFault, match=r"TMA store to B.* starts before the tensor"):
        tw.compile(stored_by_author(-3), target="numpy")(given, out)


def test_a_tma_copy_of_the_author_at_an_odd_column_is_an_error() -> None:
    with pytest.raises(CompileError, match=r"TW3015.*TMA copy starts at column 12 of A"):
        lowered(by_author(12))
    given, out = numbers("float16", ROWS, COLUMNS), numbers("float16", TILE, TILE)
    with pytest.raises(TileFault, match=r"starts at column 12, byte 24 of its row: not a multiple"):
        tw.compile(by_author(12), target="numpy")(given, out)
    tw.compile(by_author(16), target="numpy")(given, out)
    np.testing.assert_array_equal(out, given[:TILE, 16 : 16 + TILE])
