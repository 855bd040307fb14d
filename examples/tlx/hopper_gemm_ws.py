"""C = A @ B on Hopper with roles: one task issues TMA copies, two multiply, barriers connect them.

Two consumers share a tile of C, each computes half of its rows; so the ring has a slot of A for
each of them, and a slot of B for both. `full` barriers are fed by the bytes of the copies, `empty`
ones by the consumers.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // CONSUMERS
    a = tlx.local_alloc((HALF, BK), tl.float16, STAGES * CONSUMERS)
    b = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    empty_a = tlx.alloc_barriers(num_barriers=STAGES * CONSUMERS, arrive_count=1)
    full_a = tlx.alloc_barriers(num_barriers=STAGES * CONSUMERS, arrive_count=1)
    empty_b = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_b = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # the producer
            phase = 1  # a fresh barrier lets the first waits through
            for k in range(steps):
                slot = k % STAGES
                for part in tl.static_range(CONSUMERS):
                    at = slot + part * STAGES
                    tlx.barrier_wait(empty_a[at], phase)
                    tlx.barrier_expect_bytes(full_a[at], HALF * BK * 2)
                    tlx.async_descriptor_load(
                        a_desc, a[at], [row + part * HALF, k * BK], full_a[at]
                    )
                tlx.barrier_wait(empty_b[slot], phase)
                tlx.barrier_expect_bytes(full_b[slot], BK * BN * 2)
                tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full_b[slot])
                phase = phase ^ (slot == STAGES - 1)
        with tlx.async_task(num_warps=4, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            acc = tl.zeros((HALF, BN), dtype=tl.float32)
            phase = 0
            for k in range(steps):
                slot = k % STAGES
                at = slot + part * STAGES
                tlx.barrier_wait(full_a[at], phase)
                tlx.barrier_wait(full_b[slot], phase)
                acc = tlx.async_dot(a[at], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_a[at], 1)
                tlx.barrier_arrive(empty_b[slot], 1)
                phase = phase ^ (slot == STAGES - 1)
            c_desc.store([row + part * HALF, column], acc.to(tl.float16))


def gemm(a, b, block=(128, 64, 32), stages=3, consumers=2):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    half = block[0] // consumers
    gemm_kernel[(tw.cdiv(M, block[0]), tw.cdiv(N, block[1]))](
        tw.TensorDescriptor.from_tensor(a, [half, block[2]]),
        tw.TensorDescriptor.from_tensor(b, [block[2], block[1]]),
        tw.TensorDescriptor.from_tensor(c, [half, block[1]]),
        K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages, CONSUMERS=consumers,
    )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((200, 160)).astype(np.float16)
    b = rng.standard_normal((160, 136)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
