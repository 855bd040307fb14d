"""Branches on a quotient that there is none of."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(Total, Part):
    N = T.const("N")
    Total: T.Tensor((N,), "int32")
    Part: T.Tensor((N,), "int32")
    Many = T.empty((N,), "int32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            Many[bx * 32 + i] = 0
            if Total[bx * 32 + i] // Part[bx * 32 + i] > 2:
                Many[bx * 32 + i] = 1
    return Many


@tw.jit
def fixed(Total, Part):
    N = T.const("N")
    Total: T.Tensor((N,), "int32")
    Part: T.Tensor((N,), "int32")
    Many = T.empty((N,), "int32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            Many[bx * 32 + i] = 0
            if Total[bx * 32 + i] > 2 * Part[bx * 32 + i]:
                Many[bx * 32 + i] = 1
    return Many


def launch(kernel):
    total = np.arange(50, dtype=np.int32)
    part = np.full(50, 10, np.int32)
    part[33] = 0
    return kernel(total, part), (total > 2 * part).astype(np.int32)
