"""More groups than heads: the heads of a group are none."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(Q, K):
    heads, groups = T.dynamic("heads, groups")
    Q: T.Tensor((heads, 64), "float32")
    K: T.Tensor((groups, 64), "float32")
    S = T.empty((heads, 64), "float32")
    with T.Kernel(heads, threads=64) as bh:
        K_shared = T.alloc_shared((64,), "float32")
        T.copy(K[bh // (heads // groups), 0], K_shared)
        for i in T.Parallel(64):
            S[bh, i] = Q[bh, i] * K_shared[i]
    return S


@tw.jit
def fixed(Q, K):
    heads, groups = T.dynamic("heads, groups")
    Q: T.Tensor((heads, 64), "float32")
    K: T.Tensor((groups, 64), "float32")
    S = T.empty((heads, 64), "float32")
    with T.Kernel(heads, threads=64) as bh:
        K_shared = T.alloc_shared((64,), "float32")
        T.copy(K[bh * groups // heads, 0], K_shared)
        for i in T.Parallel(64):
            S[bh, i] = Q[bh, i] * K_shared[i]
    return S


def launch(kernel):
    q = np.arange(128, dtype=np.float32).reshape(2, 64)
    k = np.arange(256, dtype=np.float32).reshape(4, 64)
    return kernel(q, k), q * k[[0, 2]]
