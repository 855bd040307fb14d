"""Blocks on dies: a permutation for every number of blocks, contiguous ranges on each die."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.numpy.simt.simt_support import lowered
from tilewright.analysis.integers.index_values import IndexValues
from tilewright.dialects import make_context
from tilewright.dialects.gpu import BlockIdOp
from tilewright.dialects.memref import StoreOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk
from tilewright.passes.amd.remap_blocks import RemapBlocks
from tilewright.targets.numpy.simt import Buffer, compile_simt

DIES = 8


def blocks(grid: tuple[int, int, int]) -> np.ndarray:
    """The linear index of the block that each started one becomes."""
    text = f"""
#global = #tile.space<global>
module {{
  func.func public @main(%Out: memref<8xi64, #global>) {{
    %x = arith.constant {grid[0]} : index
    %y = arith.constant {grid[1]} : index
    %z = arith.constant {grid[2]} : index
    simt.launch @kernel grid(%x, %y, %z) args(%Out) : memref<8xi64, #global>
    func.return
  }}
  func.func @kernel(%Out: memref<8xi64, #global>) attributes {{simt.kernel, simt.threads = 64 : i64,
      tile.target = #tile.target<hip, gfx942>}} {{
    %x = gpu.block_id x
    %y = gpu.block_id y
    %z = gpu.block_id z
    %v = arith.constant 1 : i64
    memref.store %v, %Out[%x] : memref<8xi64, #global>
    memref.store %v, %Out[%y] : memref<8xi64, #global>
    memref.store %v, %Out[%z] : memref<8xi64, #global>
    func.return
  }}
}}"""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None
    RemapBlocks(always=True).run(source.module, engine)
    ids = [op for op in walk(source.module) if isinstance(op, BlockIdOp)]
    started = np.arange(int(np.prod(grid)))
    raw = np.unravel_index(started, grid[::-1])[::-1]
    given = {op.result: raw["xyz".index(op.dimension.data.value)] for op in ids}
    stores = [op for op in walk(source.module) if isinstance(op, StoreOp)]
    x, y, z = (IndexValues().evaluate(op.indices[0], given) for op in stores)
    return np.broadcast_to(x + grid[0] * (y + grid[1] * z), started.shape)


@pytest.mark.parametrize("first", [1, 1000])
def test_one_dimension_is_a_permutation_with_a_range_for_each_die(first: int) -> None:
    """Few sizes here; `test_every_size` has all up to 2,000."""
    for size in range(first, first + 20):
        _check(size, blocks((size, 1, 1)))


@pytest.mark.slow
def test_every_size() -> None:
    for size in range(1, 2001):
        _check(size, blocks((size, 1, 1)))


def _check(size: int, found: np.ndarray) -> None:
    assert np.array_equal(np.sort(found), np.arange(size))
    for die in range(min(DIES, size)):
        ranged = found[die::DIES]
        assert np.array_equal(ranged, np.arange(ranged[0], ranged[0] + len(ranged)))


@pytest.mark.parametrize("grid", [(5, 7, 1), (16, 16, 1), (3, 4, 5), (1, 9, 1), (33, 1, 2)])
def test_grids_of_several_dimensions(grid: tuple[int, int, int]) -> None:
    _check(int(np.prod(grid)), blocks(grid))


def test_a_block_that_is_lost_is_seen() -> None:
    with pytest.raises(AssertionError):
        _check(9, np.array([0, 2, 3, 4, 5, 6, 7, 8, 8]))


def test_a_gemm_of_many_blocks_is_right() -> None:
    import tilewright as tw
    from tilewright import T

    @tw.jit
    def gemm(A, B):
        A: T.Tensor((80, 32), "float16")
        B: T.Tensor((96, 32), "float16")
        C = T.empty((80, 96), "float32")
        with T.Kernel(3, 5, threads=64) as (bx, by):
            a = T.alloc_shared((16, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((16, 32), "float32")
            T.copy(A[by * 16, 0], a)
            T.copy(B[bx * 32, 0], b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.copy(c, C[by * 16, bx * 32])
        return C

    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (80, 32)).astype(np.float16)
    b = rng.integers(-2, 3, (96, 32)).astype(np.float16)
    module = lowered(gemm.get_tir(a, b).module.clone(), amd_pipeline("gfx942"))
    assert "arith.minui" in str(module)
    out = np.full((80, 96), np.nan, np.float32)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b), Buffer("C", out)])
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32).T)
