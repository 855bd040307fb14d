"""A kernel to tune and one to check, for the tests of executors."""

import itertools

import tilewright as tw
from tilewright import T

CONFIGS = [
    {"block_m": m, "block_n": n, "block_k": k}
    for m, n, k in itertools.product((32, 64, 96, 128), (32, 64, 96, 128, 160), (32, 64, 128))
]


def tuned_matmul(configs=CONFIGS):
    """Tuned by the cost model of Tenstorrent, whose times are the same everywhere."""

    @tw.autotune(configs=configs)
    @tw.jit(target="tenstorrent:wormhole", out_idx=-1)
    def matmul(M, N, K, block_m=32, block_n=32, block_k=32):
        @T.prim_func
        def gemm(
            A: T.Tensor((M, K), "bfloat16"),
            B: T.Tensor((K, N), "bfloat16"),
            C: T.Tensor((M, N), "bfloat16"),
        ):
            with T.Kernel(T.ceildiv(N, block_n), T.ceildiv(M, block_m)) as (bx, by):
                a = T.alloc_shared((block_m, block_k), "bfloat16")
                b = T.alloc_shared((block_k, block_n), "bfloat16")
                c = T.alloc_fragment((block_m, block_n), "float32")
                T.clear(c)
                for k in T.Pipelined(T.ceildiv(K, block_k), num_stages=2):
                    T.copy(A[by * block_m, k * block_k], a)
                    T.copy(B[k * block_k, bx * block_n], b)
                    T.gemm(a, b, c)
                T.copy(c, C[by * block_m, bx * block_n])

        return gemm

    return matmul


RING = """\
import numpy as np
import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def ring(x_desc, y_desc, blocks, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 2)
    spare = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1)
    full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for block in range(blocks):
                slot = block % 2
                tlx.barrier_wait(empty[slot], (block // 2) & 1 ^ 1)
                tlx.barrier_expect_bytes(full[slot], ROWS * COLUMNS * 4)
                tlx.async_descriptor_load(x_desc, tile[slot], [block * ROWS, 0], full[slot])
        with tlx.async_task(num_warps=4):
            for block in range(blocks):
                slot = block % 2
                tlx.barrier_wait(full[slot], (block // 2) & 1)
                value = tlx.local_load(tile[slot])
                tlx.local_store(spare[0], value)
                tlx.barrier_arrive(empty[slot], 1)
                y_desc.store([block * ROWS, 0], value * {factor})


x = np.arange(48 * 32, dtype=np.float32).reshape(48, 32)
y = np.empty((48, 32), np.float32)
descriptors = [tw.TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, y)]
ring[(1,)](*descriptors, 3, ROWS=16, COLUMNS=32)
print(bool((y == x * 2).all()))
"""
"""A script with a buffer that no task reads; `factor` is 2."""
