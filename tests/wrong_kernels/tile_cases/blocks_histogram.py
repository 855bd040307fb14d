"""Blocks count into one histogram with loads and stores."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(bins):
    @T.prim_func
    def histogram(X: T.Tensor((128,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(4, threads=32) as bx:
            for i in T.serial(32):
                H[X[bx * 32 + i]] += 1

    return histogram


@tw.jit
def fixed(bins):
    @T.prim_func
    def histogram(X: T.Tensor((128,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(4, threads=32) as bx:
            for i in T.serial(32):
                T.atomic_add(H[X[bx * 32 + i]], 1)

    return histogram


def launch(kernel):
    x = np.arange(128, dtype=np.int32) * 7 % 10
    h = np.zeros(10, np.int32)
    kernel(10)(x, h)
    return h, np.bincount(x, minlength=10).astype(np.int32)
