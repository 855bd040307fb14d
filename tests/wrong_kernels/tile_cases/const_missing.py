"""Names a size that nothing declares."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((size,), "float32")  # noqa: F821
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] * 2
    return B


@tw.jit
def fixed(A):
    size = T.const("size")
    A: T.Tensor((size,), "float32")
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
