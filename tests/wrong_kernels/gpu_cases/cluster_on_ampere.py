"""Asks for clusters on a GPU that has none."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "cuda:sm_80"


@tw.jit
def wrong(A):
    A: T.Tensor((4096,), "float32")
    B = T.empty((4096,), "float32")
    with T.ClusterKernel(32, threads=128, cluster_dims=(2, 1, 1)) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((4096,), "float32")
    B = T.empty((4096,), "float32")
    with T.Kernel(32, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


def arguments():
    return (np.arange(4096, dtype=np.float32),)


def expected(a):
    return a + 1
