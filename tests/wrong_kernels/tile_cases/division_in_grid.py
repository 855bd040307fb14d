"""As many blocks as go into a block of no elements."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(n):
    @T.prim_func
    def double(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), block: T.int32):
        with T.Kernel(T.ceildiv(n, block), threads=32) as bx:
            for i in T.serial(block):
                if bx * block + i < n:
                    Y[bx * block + i] = X[bx * block + i] * 2

    return double


@tw.jit
def fixed(n):
    @T.prim_func
    def double(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), block: T.int32):
        with T.Kernel(T.ceildiv(n, T.max(block, 1)), threads=32) as bx:
            for i in T.serial(block):
                if bx * block + i < n:
                    Y[bx * block + i] = X[bx * block + i] * 2

    return double


def launch(kernel):
    x = np.arange(20, dtype=np.float32)
    y = np.zeros(20, np.float32)
    kernel(20)(x, y, 0)
    return y, np.zeros(20, np.float32)
