"""A kernel of `T`: one scaled array, by way of shared memory."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.autotune(configs=[{"block": 64}, {"block": 32}])
@tw.jit
def scale(X, block=64):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=32) as bx:
        staged = T.alloc_shared((block,), "float32")
        T.copy(X[bx * block], staged)
        for i in T.Parallel(block):
            staged[i] = staged[i] * 2
        T.copy(staged, Y[bx * block])
    return Y


scale(np.ones(1024, np.float32))
