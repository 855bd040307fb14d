"""Requests four stages of a loop whose copies go through registers."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


def gemm(stages):
    @tw.jit
    def multiply(A, B):
        A: T.Tensor((64, 128), "float16")
        B: T.Tensor((128, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
        return C

    return multiply


wrong, fixed = gemm(4), gemm(2)


def arguments():
    rng = np.random.default_rng(0)
    return tuple(rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
