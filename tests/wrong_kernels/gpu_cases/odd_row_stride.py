"""Has rows of 202 bytes, where no access of 16 bytes can begin: elements go one by one."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((64, N), "float16")
    B = T.empty((64, N), "float16")
    with T.Kernel(T.ceildiv(N, 64), threads=128) as bx:
        values = T.alloc_fragment((64, 64), "float16")
        T.copy(A[0, bx * 64], values)
        T.copy(values, B[0, bx * 64])
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((64, N), "float16")
    B = T.empty((64, N), "float16")
    with T.Kernel(T.ceildiv(N, 64), threads=128) as bx:
        values = T.alloc_fragment((64, 64), "float16")
        T.copy(A[0, bx * 64], values)
        T.copy(values, B[0, bx * 64])
    return B


def arguments(kernel):
    # Rows of 101 elements, and padded to 104.
    size = 101 if kernel is wrong else 104
    return (np.random.default_rng(0).standard_normal((64, size)).astype(np.float16),)


def expected(a):
    return a
