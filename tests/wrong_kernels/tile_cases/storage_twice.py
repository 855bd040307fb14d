"""Puts a buffer into a group twice."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        spec = T.storage_alias_spec()
        P = T.alloc_shared((64,), "float32", reuse=spec)
        Q = T.alloc_shared((64,), "float32", reuse=spec)
        T.set_buffer_overlap(spec, T.reuse_group(P, Q, P, group_type="distinct"))
        T.copy(A, P)
        T.copy(A, Q)
        for i in T.Parallel(64):
            B[i] = P[i] + Q[i]
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        spec = T.storage_alias_spec()
        P = T.alloc_shared((64,), "float32", reuse=spec)
        Q = T.alloc_shared((64,), "float32", reuse=spec)
        T.set_buffer_overlap(spec, T.reuse_group(P, Q, group_type="distinct"))
        T.copy(A, P)
        T.copy(A, Q)
        for i in T.Parallel(64):
            B[i] = P[i] + Q[i]
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
