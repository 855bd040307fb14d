"""Counts keys in a table of buckets whose size, an element of a tensor, is zero."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(Keys, Size, Counts):
    N = T.const("N")
    Keys: T.Tensor((N,), "int32")
    Size: T.Tensor((1,), "int32")
    Counts: T.Tensor((16,), "int32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            if bx * 64 + i < N:
                T.atomic_add(Counts[Keys[bx * 64 + i] % Size[0]], 1)


@tw.jit
def fixed(Keys, Size, Counts):
    N = T.const("N")
    Keys: T.Tensor((N,), "int32")
    Size: T.Tensor((1,), "int32")
    Counts: T.Tensor((16,), "int32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            if bx * 64 + i < N:
                T.atomic_add(Counts[Keys[bx * 64 + i] % T.max(Size[0], 1)], 1)


def launch(kernel):
    counts = np.zeros(16, np.int32)
    kernel(np.arange(100, dtype=np.int32), np.zeros(1, np.int32), counts)
    return counts, np.array([100] + [0] * 15, np.int32)
