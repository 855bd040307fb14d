"""Passes the bits of an array as integers, and writes them as floats."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def convert(X, Y):
    n = T.dynamic("n")
    X: T.Tensor((n,), "int32")
    Y: T.Tensor((n,), "float32")
    with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
        tile = T.alloc_shared((32,), "int32")
        T.copy(X[bx * 32], tile)
        for i in T.Parallel(32):
            Y[bx * 32 + i] = tile[i]


def wrong(bits):
    convert(bits, bits.view(np.float32))
    return bits.view(np.float32)


def fixed(bits):
    values = np.empty(bits.shape, np.float32)
    convert(bits, values)
    return values


def launch(run):
    bits = np.arange(50, dtype=np.int32)
    return run(bits.copy()), bits.astype(np.float32)
