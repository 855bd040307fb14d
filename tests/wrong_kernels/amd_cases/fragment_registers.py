"""A fragment of 512 registers a thread."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx1100"


@tw.jit
def wrong(A):
    A: T.Tensor((256, 256), "float32")
    B = T.empty((256, 256), "float32")
    with T.Kernel(1, threads=128):
        rows = T.alloc_fragment((256, 256), "float32")
        T.copy(A[0, 0], rows)
        T.copy(rows, B[0, 0])
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((256, 256), "float32")
    B = T.empty((256, 256), "float32")
    with T.Kernel(1, threads=512):
        rows = T.alloc_fragment((256, 256), "float32")
        T.copy(A[0, 0], rows)
        T.copy(rows, B[0, 0])
    return B


def arguments():
    rng = np.random.default_rng(0)
    return (rng.standard_normal((256, 256)).astype(np.float32),)


def expected(a):
    return a
