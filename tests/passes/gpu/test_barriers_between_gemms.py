"""A barrier between two GEMMs in flight does not end the reads of the first one."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tests.passes.gpu.seeds import check, whole
from tilewright import T

ROWS, COLUMNS = 128, 64


@tw.jit
def two_gemms(Q, K):
    Q: T.Tensor((ROWS, COLUMNS), "float16")
    K: T.Tensor((COLUMNS, COLUMNS), "float16")
    Out = T.empty((ROWS, COLUMNS), "float32")
    with T.Kernel(1, threads=256):
        first = T.alloc_shared((ROWS, COLUMNS), "float16")
        second = T.alloc_shared((ROWS, COLUMNS), "float16")
        keys = T.alloc_shared((COLUMNS, COLUMNS), "float16")
        values = T.alloc_shared((COLUMNS, COLUMNS), "float16")
        staged = T.alloc_shared((ROWS, COLUMNS), "float16")  # in the bytes of `first`
        rows = T.alloc_fragment((ROWS, COLUMNS), "float16")
        one = T.alloc_fragment((ROWS, COLUMNS), "float32")
        other = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.copy(Q, first)
        T.copy(K, keys)
        T.copy(K, values)
        T.copy(Q, rows)
        T.clear(one)
        T.clear(other)
        T.sync_threads()
        T.copy(rows, second)  # takes a barrier before the second GEMM
        T.gemm(first, keys, one, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
        T.gemm(second, values, other, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
        T.copy(one, staged)
        for i, j in T.Parallel(ROWS, COLUMNS):
            other[i, j] += staged[ROWS - 1 - i, j]
        T.copy(other, Out)
    return Out


def test_operands_of_the_first_gemm_are_not_overwritten_too_early() -> None:
    """Warps of one group wrote `staged` while the tensor core of the other read `first`."""
    q, k = whole(1, ROWS, COLUMNS), whole(2, COLUMNS, COLUMNS)
    scores = q.astype(np.float32) @ k.astype(np.float32).T
    check(two_gemms, q, k, expected=scores + scores[::-1], cubin=False)
