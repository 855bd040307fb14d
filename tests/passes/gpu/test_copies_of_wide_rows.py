"""Tiles wider than a TMA box, in tensors that have other dimensions between rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

ROWS, COLUMNS, STEPS, HEADS = 16, 512, 3, 2


def _scores(heads: int):
    @tw.jit
    def scores(KV, Q):
        KV: T.Tensor((STEPS * ROWS, heads, COLUMNS), "float16")
        Q: T.Tensor((64, COLUMNS), "float16")
        Out = T.empty((64, ROWS), "float32")
        with T.Kernel(heads, threads=128) as head:
            keys = T.alloc_shared((ROWS, COLUMNS), "float16")
            queries = T.alloc_shared((64, COLUMNS), "float16")
            total = T.alloc_fragment((64, ROWS), "float32")
            T.copy(Q, queries)
            T.clear(total)
            for k in T.Pipelined(STEPS, num_stages=2):
                T.copy(KV[k * ROWS : (k + 1) * ROWS, head, :], keys)
                T.gemm(queries, keys, total, transpose_B=True)
            if head == heads - 1:
                T.copy(total, Out)
        return Out

    return scores


@pytest.mark.parametrize("heads", [HEADS])
def test_rows_are_found_before_dimensions_of_one_element(heads: int) -> None:
    """The dimension before the columns has extent 1; the rows are the one before it."""
    kernel = _scores(heads)
    kv, q = whole(heads, STEPS * ROWS, heads, COLUMNS), whole(5, 64, COLUMNS)
    keys = kv[:, -1].astype(np.float32).reshape(STEPS, ROWS, COLUMNS)
    expected = sum(q.astype(np.float32) @ each.T for each in keys)
    engine = check(kernel, kv, q, expected=expected, cubin=False)
    module, _ = lowered(kernel, kv, q)
    assert source_of(module).count("tw::tma_load(keys") == COLUMNS * 2 // 128
    assert not [each for each in engine.diagnostics if each.code == "TW4021"]


def test_wide_rows_that_no_tensor_core_reads() -> None:
    """The buffer has no swizzle, so the tile is not divisible into boxes."""

    @tw.jit
    def accumulated(A):
        A: T.Tensor((STEPS * ROWS, HEADS, COLUMNS), "float16")
        Out = T.empty((ROWS, COLUMNS), "float16")
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((ROWS, COLUMNS), "float16")
            total = T.alloc_fragment((ROWS, COLUMNS), "float16")
            T.clear(total)
            for k in T.Pipelined(STEPS, num_stages=2):
                T.copy(A[k * ROWS : (k + 1) * ROWS, 0, :], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    total[i, j] += tile[i, j]
            T.copy(total, Out)
        return Out

    a = whole(7, STEPS * ROWS, HEADS, COLUMNS)
    expected = a[:, 0].reshape(STEPS, ROWS, COLUMNS).sum(axis=0, dtype=np.float16)
    check(accumulated, a, expected=expected, cubin=False)
