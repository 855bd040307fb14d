"""Every block sets the same flag to the same value."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Flag):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    Flag: T.Tensor((1,), "int32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        if X[bx * 32] >= 0:
            Flag[0] = 1


@tw.jit
def fixed(X, Flag):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    Flag: T.Tensor((1,), "int32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        if X[bx * 32] >= 0:
            T.atomic_max(Flag[0], 1)


def launch(kernel):
    flag = np.zeros(1, np.int32)
    kernel(np.arange(96, dtype=np.int32), flag)
    return flag, np.ones(1, np.int32)
