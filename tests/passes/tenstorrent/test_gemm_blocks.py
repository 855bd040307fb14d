"""GEMMs that are no loop over K: sub-blocks of DST instead of single tiles."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced, differences
from tilewright import T
from tilewright.dialects.tensix import MatmulBlockOp, MatmulTileOp
from tilewright.ir.traversal import walk
from tilewright.targets.tenstorrent.artefact import Artefact, Executor
from tilewright.targets.tenstorrent.execution import RunOptions

BOTH = (Executor.IR, Executor.SOURCE)


def values(*shape: int, dtype: Any = ml_dtypes.bfloat16) -> Any:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def chained(
    tiles: tuple[int, int, int], *, transposed: bool, computed: bool, clears: bool, dtype: str
) -> Traced:
    """A GEMM in a loop whose every step uses the result, so that it cannot stay in DST."""
    m, n, k = (32 * each for each in tiles)
    b_shape = (n, k) if transposed else (k, n)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((3, *b_shape), dtype),
        D: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared(b_shape, dtype)
            other = T.alloc_shared(b_shape, dtype)
            c = T.alloc_fragment((m, n), "float32")
            d = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.clear(c)
            T.clear(d)
            for step in T.Pipelined(3, num_stages=2):
                T.copy(B[step, 0, 0], b)
                if computed:
                    for i, j in T.Parallel(*b_shape):
                        other[i, j] = b[i, j] + 1.0
                    T.gemm(a, other, c, transpose_B=transposed, clear_accum=clears)
                else:
                    T.gemm(a, b, c, transpose_B=transposed, clear_accum=clears)
                for i, j in T.Parallel(m, n):
                    d[i, j] = d[i, j] + T.abs(c[i, j])
            T.copy(d, D)

    element = np.float32 if dtype == "float32" else ml_dtypes.bfloat16
    return Traced(kernel, (values(m, k, dtype=element), values(3, *b_shape, dtype=element)))


def blocks(program: Artefact) -> list[tuple[int, int, int]]:
    """Columns, rows and row stride of the sub-blocks; (1, 1, 1) for single tiles."""
    found: list[tuple[int, int, int]] = []
    for op in walk(program.kernels["compute"]):
        if isinstance(op, MatmulBlockOp):
            found.append(op.extents)
        elif isinstance(op, MatmulTileOp):
            found.append((1, 1, 1))
    return found


CASES = [
    # DST has 4 slots: buffers of float32.
    ((2, 2, 1), False, False, True, (2, 2, 1)),
    ((2, 2, 3), True, False, True, (2, 2, 3)),
    ((2, 2, 3), True, False, False, (2, 2, 3)),
    ((2, 4, 2), True, True, False, (1, 2, 2)),
    ((3, 5, 2), False, True, True, (1, 3, 2)),
    ((1, 3, 2), True, False, False, (3, 1, 2)),
    ((1, 1, 2), True, False, False, (1, 1, 1)),
    ((4, 1, 1), True, True, True, (1, 4, 1)),
]


@pytest.mark.parametrize("case", CASES)
def test_blocks_of_dst(case: Any) -> None:
    tiles, transposed, computed, clears, block = case
    traced = chained(
        tiles, transposed=transposed, computed=computed, clears=clears, dtype="bfloat16"
    )
    program = traced.compiled("1x1")
    assert blocks(program) == [block]
    run = program.run(traced.arrays(), RunOptions(seed=1))
    assert differences(run.arrays, traced.expected()) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ("bfloat16", "float32"))
def test_blocks_of_dst_from_sources(case: Any, dtype: str) -> None:
    tiles, transposed, computed, clears, _ = case
    traced = chained(tiles, transposed=transposed, computed=computed, clears=clears, dtype=dtype)
    for executor in BOTH:
        for residency in ("off", "on"):
            program = traced.compiled("1x1", **{"tt.residency": residency})
            run = program.run(traced.arrays(), RunOptions(seed=2), executor)
            assert differences(run.arrays, traced.expected()) == []


def test_a_transposed_operand_with_another_reader_stays_in_rows() -> None:
    """Tiles are stored in the order of the GEMM only where nothing else reads them."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), T.bfloat16),
        B: T.Tensor((96, 64), T.bfloat16),
        D: T.Tensor((64, 96), T.float32),
        E: T.Tensor((96, 64), T.float32),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((64, 64), T.bfloat16)
            b = T.alloc_shared((96, 64), T.bfloat16)
            c = T.alloc_fragment((64, 96), T.float32)
            e = T.alloc_fragment((96, 64), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(96, 64):
                e[i, j] = b[i, j] * 2.0
            T.copy(c, D)
            T.copy(e, E)

    traced = Traced(kernel, (values(64, 64), values(96, 64)))
    program = traced.compiled("1x1")
    assert blocks(program) == [(1, 2, 2)]
    run = program.run(traced.arrays(), RunOptions(seed=3))
    assert differences(run.arrays, traced.expected()) == []


@pytest.mark.parametrize("sharded", ("A", "B"))
def test_operands_in_shards(sharded: str) -> None:
    """Rows of a shard are longer than those of the block that a GEMM takes from it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 192), T.bfloat16),
        B: T.Tensor((64, 192), T.bfloat16),
        D: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((64, 64), T.bfloat16)
            b = T.alloc_shared((64, 64), T.bfloat16)
            c = T.alloc_fragment((64, 64), T.float32)
            d = T.alloc_fragment((64, 64), T.float32)
            T.clear(d)
            for step in T.serial(3):
                T.copy(A[0, step * 64], a)
                T.copy(B[0, step * 64], b)
                T.gemm(a, b, c, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    d[i, j] = d[i, j] + T.abs(c[i, j])
            T.copy(d, D)

    traced = Traced(kernel, (values(64, 192), values(64, 192) + 1))
    program = traced.compiled("1x1", **{"tt.shard": {sharded: "height"}})
    assert [each.tensor for each in program.plan.cbs if each.tensor is not None] == [sharded]
    assert blocks(program) == [(2, 2, 6 if sharded == "A" else 2)]
    run = program.run(traced.arrays(), RunOptions(seed=1))
    assert differences(run.arrays, traced.expected()) == []
