"""Iterations count into one histogram without atomics."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[1])
def wrong(n):
    @T.prim_func
    def histogram(X: T.Tensor((n,), "int32"), H: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=64):
            counts = T.alloc_shared((16,), "int32")
            T.clear(counts)
            for i in T.Parallel(n):
                counts[X[i]] += 1
            T.copy(counts, H)

    return histogram


@tw.jit(out_idx=[1])
def fixed(n):
    @T.prim_func
    def histogram(X: T.Tensor((n,), "int32"), H: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=64):
            counts = T.alloc_shared((16,), "int32")
            T.clear(counts)
            for i in T.Parallel(n):
                T.atomic_add(counts[X[i]], 1)
            T.copy(counts, H)

    return histogram


def launch(kernel):
    x = np.arange(64, dtype=np.int32) % 16
    return kernel(64)(x), np.full(16, 4, np.int32)
