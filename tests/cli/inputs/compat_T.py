"""The kernel of `T` as it is written for TileLang."""

import numpy as np
import tilelang
import tilelang.language as T


@tilelang.autotune(configs=[{"block": 64}, {"block": 32}])
@tilelang.jit(out_idx=[-1])
def scale(N, block=64):
    @T.prim_func
    def main(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block), threads=32) as bx:
            staged = T.alloc_shared((block,), "float32")
            T.copy(X[bx * block], staged)
            for i in T.Parallel(block):
                staged[i] = staged[i] * 2
            T.copy(staged, Y[bx * block])

    return main


scale(1024)(np.ones(1024, np.float32))
