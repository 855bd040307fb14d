"""The first block clears what all of them add to."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, S):
    N = T.const("N")
    X: T.Tensor((N, 32), "float32")
    S: T.Tensor((32,), "float32")
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "float32")
        if bx == 0:
            T.clear(S)
        T.copy(X[bx, 0], row)
        T.atomic_add(S, row)


@tw.jit
def fixed(X, S):
    N = T.const("N")
    X: T.Tensor((N, 32), "float32")
    S: T.Tensor((32,), "float32")
    with T.Kernel(1, threads=32):
        T.clear(S)
    with T.Kernel(N, threads=32) as bx:
        row = T.alloc_fragment((32,), "float32")
        T.copy(X[bx, 0], row)
        T.atomic_add(S, row)


def launch(kernel):
    x = np.ones((3, 32), np.float32)
    s = np.full(32, 7, np.float32)
    kernel(x, s)
    return s, x.sum(axis=0)
