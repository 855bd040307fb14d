"""A block starts from the total that the block before it has written."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Totals):
    N = T.const("N")
    X: T.Tensor((N, 32), "int32")
    Totals: T.Tensor((N + 1,), "int32")
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "int32")
        total = T.alloc_fragment((1,), "int32")
        T.copy(X[bx, 0], row)
        T.reduce_sum(row, total, dim=0)
        Totals[bx + 1] = Totals[bx] + total[0]


@tw.jit
def fixed(X, Totals):
    N = T.const("N")
    X: T.Tensor((N, 32), "int32")
    Totals: T.Tensor((N + 1,), "int32")
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "int32")
        total = T.alloc_fragment((1,), "int32")
        T.copy(X[bx, 0], row)
        T.reduce_sum(row, total, dim=0)
        Totals[bx + 1] = total[0]
    with T.Kernel(1, threads=32):
        for i in T.serial(N):
            Totals[i + 1] = Totals[i] + Totals[i + 1]


def launch(kernel):
    x = np.ones((4, 32), np.int32)
    totals = np.zeros(5, np.int32)
    kernel(x, totals)
    return totals, np.arange(5, dtype=np.int32) * 32
