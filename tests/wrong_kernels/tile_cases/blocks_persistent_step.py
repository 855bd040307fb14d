"""Blocks that stay step by one tile too few."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, B, workers=3):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(workers, threads=32) as worker:
        for wave in T.serial(T.ceildiv(N // 32, workers)):
            for i in T.Parallel(32):
                B[(wave * (workers - 1) + worker) * 32 + i] = A[
                    (wave * (workers - 1) + worker) * 32 + i
                ]


@tw.jit
def fixed(A, B, workers=3):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(workers, threads=32) as worker:
        for wave in T.serial(T.ceildiv(N // 32, workers)):
            for i in T.Parallel(32):
                B[(wave * workers + worker) * 32 + i] = A[(wave * workers + worker) * 32 + i]


def launch(kernel):
    a = np.arange(192, dtype=np.float32)
    b = np.zeros(192, np.float32)
    kernel(a, b)
    return b, a
