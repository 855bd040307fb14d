"""The block that comes last reads what others wrote; the counter orders nothing."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Parts, Count, S):
    N = T.const("N")
    X: T.Tensor((N, 32), "int32")
    Parts: T.Tensor((N,), "int32")
    Count: T.Tensor((1,), "int32")
    S: T.Tensor((1,), "int32")
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "int32")
        total = T.alloc_fragment((1,), "int32")
        T.copy(X[bx, 0], row)
        T.reduce_sum(row, total, dim=0)
        Parts[bx] = total[0]
        before = T.atomic_add(Count[0], 1, return_prev=True)
        if before == N - 1:
            S[0] = 0
            for i in T.serial(N):
                S[0] = S[0] + Parts[i]


@tw.jit
def fixed(X, Parts, Count, S):
    N = T.const("N")
    X: T.Tensor((N, 32), "int32")
    Parts: T.Tensor((N,), "int32")
    Count: T.Tensor((1,), "int32")
    S: T.Tensor((1,), "int32")
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "int32")
        total = T.alloc_fragment((1,), "int32")
        T.copy(X[bx, 0], row)
        T.reduce_sum(row, total, dim=0)
        Parts[bx] = total[0]
        before = T.atomic_add(Count[0], 1, memory_order="acq_rel", return_prev=True)
        if before == N - 1:
            S[0] = 0
            for i in T.serial(N):
                S[0] = S[0] + Parts[i]


def launch(kernel):
    s = np.zeros(1, np.int32)
    kernel(np.ones((4, 32), np.int32), np.zeros(4, np.int32), np.zeros(1, np.int32), s)
    return s, np.full(1, 128, np.int32)
