"""Keys and values of a step of attention, in too large tiles."""

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running


@tw.jit
def wrong(Q, K, V):
    S = T.const("S")
    Q: T.Tensor((64, 128), "float16")
    K: T.Tensor((S, 128), "float16")
    V: T.Tensor((S, 128), "float16")
    Out = T.empty((64, 128), "float32")
    with T.Kernel(1, threads=128):
        Q_shared = T.alloc_shared((64, 128), "float16")
        K_shared = T.alloc_shared((256, 128), "float16")
        V_shared = T.alloc_shared((256, 128), "float16")
        scores = T.alloc_fragment((64, 256), "float32")
        weights = T.alloc_fragment((64, 256), "float16")
        out = T.alloc_fragment((64, 128), "float32")
        T.copy(Q, Q_shared)
        T.clear(out)
        for k in T.Pipelined(T.ceildiv(S, 256), num_stages=2):
            T.copy(K[k * 256, 0], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            T.copy(scores, weights)
            T.copy(V[k * 256, 0], V_shared)
            T.gemm(weights, V_shared, out)
        T.copy(out, Out)
    return Out


@tw.jit
def fixed(Q, K, V):
    S = T.const("S")
    Q: T.Tensor((64, 128), "float16")
    K: T.Tensor((S, 128), "float16")
    V: T.Tensor((S, 128), "float16")
    Out = T.empty((64, 128), "float32")
    with T.Kernel(1, threads=128):
        Q_shared = T.alloc_shared((64, 128), "float16")
        K_shared = T.alloc_shared((128, 128), "float16")
        V_shared = T.alloc_shared((128, 128), "float16")
        scores = T.alloc_fragment((64, 128), "float32")
        weights = T.alloc_fragment((64, 128), "float16")
        out = T.alloc_fragment((64, 128), "float32")
        T.copy(Q, Q_shared)
        T.clear(out)
        for k in T.Pipelined(T.ceildiv(S, 128), num_stages=2):
            T.copy(K[k * 128, 0], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            T.copy(scores, weights)
            T.copy(V[k * 128, 0], V_shared)
            T.gemm(weights, V_shared, out)
        T.copy(out, Out)
    return Out


def launch(kernel):
    q = np.full((64, 128), 0.125, np.float16)
    k = np.full((512, 128), 0.125, np.float16)
    v = np.ones((512, 128), np.float16)
    with tile_running(check_capacity=True):
        return kernel(q, k, v), np.full((64, 128), 1024, np.float32)
