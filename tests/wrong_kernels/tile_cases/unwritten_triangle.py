"""Skips the tiles above the diagonal of a causal mask."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(Q):
    M = T.const("M")
    Q: T.Tensor((M, 16), "float16")
    S = T.empty((M, M), "float32")
    with T.Kernel(T.ceildiv(M, 16), T.ceildiv(M, 16), threads=128) as (bx, by):
        rows = T.alloc_shared((16, 16), "float16")
        columns = T.alloc_shared((16, 16), "float16")
        scores = T.alloc_fragment((16, 16), "float32")
        T.clear(scores)
        if bx <= by:
            T.copy(Q[by * 16, 0], rows)
            T.copy(Q[bx * 16, 0], columns)
            T.gemm(rows, columns, scores, transpose_B=True)
            T.copy(scores, S[by * 16, bx * 16])
    return S


@tw.jit
def fixed(Q):
    M = T.const("M")
    Q: T.Tensor((M, 16), "float16")
    S = T.empty((M, M), "float32")
    with T.Kernel(T.ceildiv(M, 16), T.ceildiv(M, 16), threads=128) as (bx, by):
        rows = T.alloc_shared((16, 16), "float16")
        columns = T.alloc_shared((16, 16), "float16")
        scores = T.alloc_fragment((16, 16), "float32")
        T.clear(scores)
        if bx <= by:
            T.copy(Q[by * 16, 0], rows)
            T.copy(Q[bx * 16, 0], columns)
            T.gemm(rows, columns, scores, transpose_B=True)
        T.copy(scores, S[by * 16, bx * 16])
    return S


def launch(kernel):
    q = np.ones((32, 16), np.float16)
    tiles = np.tril(np.ones((2, 2), np.float32))
    return kernel(q), np.kron(tiles, np.full((16, 16), 16, np.float32))
