"""Takes an element that the data name, of a fragment whose layout is fixed."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, P):
    A: T.Tensor((128,), "float32")
    P: T.Tensor((128,), "int32")
    C = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        values = T.alloc_fragment((128,), "float32")
        T.annotate_layout({values: T.Fragment((128,), forward_fn=lambda i: (i, 0))})
        T.copy(A, values)
        for i in T.Parallel(128):
            C[i] = values[P[i]]
    return C


@tw.jit
def fixed(A, P):
    A: T.Tensor((128,), "float32")
    P: T.Tensor((128,), "int32")
    C = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        values = T.alloc_shared((128,), "float32")
        T.copy(A, values)
        for i in T.Parallel(128):
            C[i] = values[P[i]]
    return C


def arguments():
    return np.arange(128, dtype=np.float32), np.arange(128, dtype=np.int32)[::-1].copy()


def expected(a, p):
    return a[p]
