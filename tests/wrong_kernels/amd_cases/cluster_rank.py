"""Requests the rank of a block in its cluster."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        rank = T.block_rank_in_cluster()
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + rank
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + bx
    return B


def arguments():
    return (np.arange(256, dtype=np.float32),)


def expected(a):
    return a + np.arange(256) // 128
