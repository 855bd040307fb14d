"""Compiles for 32 elements and passes 64."""

import numpy as np

import tilewright as tw
from tilewright import T


def make(out_idx):
    @tw.jit(out_idx=out_idx)
    def factory(size):
        @T.prim_func
        def double(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
            with T.Kernel(1, threads=64):
                for i in T.Parallel(size):
                    B[i] = A[i] * 2

        return double

    return factory


def wrong(a):
    return make(1)(32)(a)


def fixed(a):
    return make(1)(64)(a)


def launch(run):
    a = np.arange(64, dtype=np.float32)
    return run(a), a * 2
