"""Passes tensors whose sizes disagree."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def add(A, B):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    C = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(N):
            C[i] = A[i] + B[i]
    return C


def wrong(a, b):
    return add(a, b)


def fixed(a, b):
    return add(a, b[:64])


def launch(run):
    a = np.arange(64, dtype=np.float32)
    b = np.arange(65, dtype=np.float32)
    return run(a, b), a * 2
