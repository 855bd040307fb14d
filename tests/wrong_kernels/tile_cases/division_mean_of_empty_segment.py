"""The mean of a segment without elements, by way of a fragment."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[2])
def wrong(segments):
    @T.prim_func
    def mean(
        S: T.Tensor((segments,), "int32"),
        C: T.Tensor((segments,), "int32"),
        M: T.Tensor((segments,), "int32"),
    ):
        with T.Kernel(T.ceildiv(segments, 32), threads=32) as bx:
            F = T.alloc_fragment((32,), "int32")
            for i in T.Parallel(32):
                F[i] = S[bx * 32 + i] // C[bx * 32 + i]
            T.copy(F, M[bx * 32])

    return mean


@tw.jit(out_idx=[2])
def fixed(segments):
    @T.prim_func
    def mean(
        S: T.Tensor((segments,), "int32"),
        C: T.Tensor((segments,), "int32"),
        M: T.Tensor((segments,), "int32"),
    ):
        with T.Kernel(T.ceildiv(segments, 32), threads=32) as bx:
            F = T.alloc_fragment((32,), "int32")
            for i in T.Parallel(32):
                F[i] = T.if_then_else(C[bx * 32 + i] != 0, S[bx * 32 + i] // C[bx * 32 + i], 0)
            T.copy(F, M[bx * 32])

    return mean


def launch(kernel):
    sums = np.arange(0, 400, 10, dtype=np.int32)
    counts = np.arange(40, dtype=np.int32) % 4
    expected = np.where(counts == 0, 0, sums // np.maximum(counts, 1)).astype(np.int32)
    return kernel(40)(sums, counts), expected
