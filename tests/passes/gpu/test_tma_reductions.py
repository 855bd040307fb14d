"""Tiles in shared memory that are added to a tensor: by TMA, in any number of iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.gpu.seeds import source_of
from tilewright import T
from tilewright.dialects.nv import TmaStoreWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

COLUMNS, TILE, STEPS, BLOCKS = 64, 16, 5, 3


def updates(rows: int, dtype: str = "float32", *, is_read: bool = False) -> Any:
    """Each block adds to all tiles of a tensor; rows need not be a multiple of a tile."""

    @T.prim_func
    def kernel(A: T.Tensor((BLOCKS, rows, COLUMNS), dtype), B: T.Tensor((rows, COLUMNS), dtype)):
        with T.Kernel(BLOCKS, threads=128) as bx:
            tile = T.alloc_shared((TILE, COLUMNS), dtype)
            other = T.alloc_shared((TILE, COLUMNS), dtype)
            for k in T.serial(T.ceildiv(rows, TILE)):
                T.copy(A[bx, k * TILE : (k + 1) * TILE, :], other)
                for i, j in T.Parallel(TILE, COLUMNS):
                    tile[i, j] = other[i, j] * 2
                T.atomic_add(B[k * TILE : (k + 1) * TILE, :], tile)
                if is_read:
                    T.copy(B[0:TILE, :], other)

    return kernel


def lowered(function: Any, arch: str = "sm_90a") -> Any:
    engine = DiagnosticEngine()
    module = function.module.clone()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    return module


def check(module: Any, rows: int, dtype: str = "float32") -> None:
    rng = np.random.default_rng(0)
    given = rng.integers(-8, 9, (BLOCKS, rows, COLUMNS)).astype(dtype)
    target = rng.integers(-8, 9, (rows, COLUMNS)).astype(dtype)
    expected = target + 2 * given.sum(0)
    out = Buffer("B", target)
    compile_simt(module).launch([Buffer("A", given), out])
    np.testing.assert_array_equal(out.array, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("rows", [STEPS * TILE, STEPS * TILE - 3, 1])
def test_tiles_are_added_by_tma(rows: int, dtype: str) -> None:
    module = lowered(updates(rows, dtype))
    assert "nv.tma_reduce add" in print_module(module)
    check(module, rows, dtype)


def test_a_reduction_is_valid_cuda() -> None:
    text = compile_source(source_of(lowered(updates(STEPS * TILE))), "sm_90a").ptx
    assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add" in text


def test_the_next_tile_is_not_written_before_the_last_was_read() -> None:
    module = lowered(updates(STEPS * TILE))
    for op in [op for op in module.walk() if isinstance(op, TmaStoreWaitOp)]:
        op.detach()
        op.erase()
    with pytest.raises(SimtFault, match="tile"):
        check(module, STEPS * TILE)


@pytest.mark.parametrize(("is_read", "arch"), [(True, "sm_90a"), (False, "sm_80")])
def test_other_tiles_are_added_by_threads(is_read: bool, arch: str) -> None:
    module = lowered(updates(STEPS * TILE, is_read=is_read), arch)
    assert "nv.tma_reduce" not in print_module(module)
    if not is_read:
        check(module, STEPS * TILE)
