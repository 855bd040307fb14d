"""Every block adds its part to one element, without an atomic."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, S):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    S: T.Tensor((1,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        tile = T.alloc_fragment((64,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(X[bx * 64], tile)
        T.reduce_sum(tile, total, dim=0)
        S[0] = S[0] + total[0]


@tw.jit
def fixed(X, S):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    S: T.Tensor((1,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        tile = T.alloc_fragment((64,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(X[bx * 64], tile)
        T.reduce_sum(tile, total, dim=0)
        T.atomic_add(S[0], total[0])


def launch(kernel):
    x = np.ones(256, np.float32)
    s = np.zeros(1, np.float32)
    kernel(x, s)
    return s, x.sum(keepdims=True)
