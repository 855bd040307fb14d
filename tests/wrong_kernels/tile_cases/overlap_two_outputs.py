"""Passes one array for two outputs."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def halves(n):
    @T.prim_func
    def main(
        X: T.Tensor((n,), "float32"),
        L: T.Tensor((n // 2,), "float32"),
        R: T.Tensor((n // 2,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n // 2):
                L[i] = X[i]
                R[i] = X[n // 2 + i]

    return main


def wrong(x):
    out = np.empty(32, np.float32)
    halves(64)(x, out, out)
    return out


def fixed(x):
    left, right = np.empty(32, np.float32), np.empty(32, np.float32)
    halves(64)(x, left, right)
    return right


def launch(run):
    x = np.arange(64, dtype=np.float32)
    return run(x), x[32:]
