"""All iterations write one element; for these inputs they agree."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((1,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[0] = A[i]
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((1,), "float32")
    with T.Kernel(1, threads=64):
        B[0] = A[63]
    return B


def launch(kernel):
    return kernel(np.ones(64, np.float32)), np.ones(1, np.float32)
