"""Two buffers share storage, and the second is written before the first is read."""

import numpy as np

import tilewright as tw
from tilewright import T


def made(early: bool):
    @tw.jit(out_idx=[-1])
    def sums(n):
        @T.prim_func
        def kernel(
            A: T.Tensor((n, 64), "float32"),
            B: T.Tensor((n, 64), "float32"),
            C: T.Tensor((n, 64), "float32"),
        ):
            with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:
                spec = T.storage_alias_spec()
                a = T.alloc_shared((32, 64), "float32", reuse=spec)
                b = T.alloc_shared((32, 64), "float32", reuse=spec)
                spec.set_buffer_overlap(T.reuse_group(a, b))
                c = T.alloc_fragment((32, 64), "float32")
                T.copy(A[bx * 32, 0], a)
                if early:
                    T.copy(B[bx * 32, 0], b)
                    for i, j in T.Parallel(32, 64):
                        c[i, j] = a[i, j] + b[i, j]
                else:
                    T.copy(a, c)
                    T.copy(B[bx * 32, 0], b)
                    for i, j in T.Parallel(32, 64):
                        c[i, j] = c[i, j] + b[i, j]
                T.copy(c, C[bx * 32, 0])

        return kernel

    return sums


wrong, fixed = made(True), made(False)


def launch(kernel):
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return kernel(64)(a, 2 * a), 3 * a
