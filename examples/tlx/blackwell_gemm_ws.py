"""C = A @ B on Blackwell with roles: copies, products and the epilogue are three tasks.

The accumulator lives in tensor memory. A product is started by one thread and runs on its own; when
it is done, the tensor core itself arrives at the barrier that frees the slots it read.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    a = tlx.local_alloc((BM, BK), tl.float16, STAGES)
    b = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    acc = tlx.local_alloc((BM, BN), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # the epilogue
            tlx.barrier_wait(done[0], 0)
            result = tlx.local_load(acc[0])
            c_desc.store([row, column], result.to(tl.float16))
        with tlx.async_task(num_warps=1, num_regs=24):  # copies
            for k in range(steps):
                slot = k % STAGES
                tlx.barrier_wait(empty[slot], (k // STAGES) & 1 ^ 1)
                tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [row, k * BK], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
        with tlx.async_task(num_warps=1, num_regs=24):  # products
            for k in range(steps):
                slot = k % STAGES
                tlx.barrier_wait(full[slot], (k // STAGES) & 1)
                tlx.async_dot(a[slot], b[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]])
            tlx.tcgen05_commit(done[0])


def gemm(a, b, block=(128, 64, 64), stages=2):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    with tw.running(target="cuda:100"):
        gemm_kernel[(tw.cdiv(M, block[0]), tw.cdiv(N, block[1]))](
            tw.TensorDescriptor.from_tensor(a, [block[0], block[2]]),
            tw.TensorDescriptor.from_tensor(b, [block[2], block[1]]),
            tw.TensorDescriptor.from_tensor(c, [block[0], block[1]]),
            K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages,
        )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((200, 192)).astype(np.float16)
    b = rng.standard_normal((192, 136)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
