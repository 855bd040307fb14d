"""Blocks that stay take whole waves only."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, workers=4):
    N = T.const("N")
    A: T.Tensor((N,), "int32")
    B = T.empty((N,), "int32")
    with T.Kernel(workers, threads=32) as worker:
        for wave in T.serial(N // 32 // workers):
            for i in T.Parallel(32):
                B[(wave * workers + worker) * 32 + i] = A[(wave * workers + worker) * 32 + i]
    return B


@tw.jit
def fixed(A, workers=4):
    N = T.const("N")
    A: T.Tensor((N,), "int32")
    B = T.empty((N,), "int32")
    with T.Kernel(workers, threads=32) as worker:
        for wave in T.serial(T.ceildiv(T.ceildiv(N, 32), workers)):
            for i in T.Parallel(32):
                B[(wave * workers + worker) * 32 + i] = A[(wave * workers + worker) * 32 + i]
    return B


def launch(kernel):
    a = np.arange(200, dtype=np.int32)
    return kernel(a), a
