"""A product that overwrites one of its operands."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def square(A, B, C):
    N = T.const("N")
    A: T.Tensor((N, N), "float32")
    B: T.Tensor((N, N), "float32")
    C: T.Tensor((N, N), "float32")
    with T.Kernel(T.ceildiv(N, 16), T.ceildiv(N, 16), threads=64) as (bx, by):
        A_shared = T.alloc_shared((16, N), "float32")
        B_shared = T.alloc_shared((N, 16), "float32")
        C_local = T.alloc_fragment((16, 16), "float32")
        T.copy(A[by * 16, 0], A_shared)
        T.copy(B[0, bx * 16], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[by * 16, bx * 16])


def wrong(a, b):
    square(a, b, a)
    return a


def fixed(a, b):
    c = np.empty_like(a)
    square(a, b, c)
    return c


def launch(run):
    a, b = np.ones((32, 32), np.float32), np.ones((32, 32), np.float32)
    return run(a.copy(), b), a @ b
