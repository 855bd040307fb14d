"""Reads an accumulator in tensor memory while the tensor core still writes it."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), "float16")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 32), "float16")
        C = T.alloc_tmem((64, 64), "float32")
        L = T.alloc_fragment((64, 64), "float32")
        done = T.alloc_barrier(1)
        T.copy(A, S)
        T.tcgen05_gemm(S, S, C, transpose_B=True, mbar=done, clear_accum=True)
        T.copy(C, L)
        T.copy(L, B)
    return B


@tw.jit
def fixed(A):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), "float16")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 32), "float16")
        C = T.alloc_tmem((64, 64), "float32")
        L = T.alloc_fragment((64, 64), "float32")
        done = T.alloc_barrier(1)
        T.copy(A, S)
        T.tcgen05_gemm(S, S, C, transpose_B=True, mbar=done, clear_accum=True)
        T.mbarrier_wait_parity(done, 0)
        T.copy(C, L)
        T.copy(L, B)
    return B


def launch(kernel):
    a = (np.arange(64 * 32) % 7).astype(np.float16).reshape(64, 32)
    return kernel(a), a.astype(np.float32) @ a.astype(np.float32).T
