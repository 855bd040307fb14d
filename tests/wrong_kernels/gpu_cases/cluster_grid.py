"""Cuts a grid of 5 blocks into clusters of 2."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((640,), "float32")
    B = T.empty((640,), "float32")
    with T.ClusterKernel(5, threads=128, cluster_dims=(2, 1, 1)) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((640,), "float32")
    B = T.empty((640,), "float32")
    with T.ClusterKernel(5, threads=128, cluster_dims=(1, 1, 1)) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


def arguments():
    return (np.arange(640, dtype=np.float32),)


def expected(a):
    return a + 1
