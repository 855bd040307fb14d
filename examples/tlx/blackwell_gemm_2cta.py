"""C = A @ B on Blackwell, two CTAs at one product: each holds half of A and half of B.

The pair computes 2 x BM rows. Each CTA loads its own rows of A and its half of B's columns, and
tells the first one of the pair; that one starts the product, which reads the shared memory of both
and leaves each its own rows in tensor memory.
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
    b = tlx.local_alloc((BK, BN // 2), tl.float16, STAGES)
    acc = tlx.local_alloc((BM, BN), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    both = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=2)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    rank = tlx.cluster_cta_rank()
    is_first = rank == 0
    row = tl.program_id(0) * BM  # neighbours along x are a pair
    column = tl.program_id(1) * BN
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            result = tlx.local_load(acc[0])
            c_desc.store([row, column], result.to(tl.float16))
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(steps):
                slot = k % STAGES
                tlx.barrier_wait(empty[slot], (k // STAGES) & 1 ^ 1)
                tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN // 2) * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [row, k * BK], full[slot])
                tlx.async_descriptor_load(
                    b_desc, b[slot], [k * BK, column + rank * (BN // 2)], full[slot]
                )
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(steps):
                slot = k % STAGES
                phase = (k // STAGES) & 1
                tlx.barrier_wait(full[slot], phase)
                tlx.barrier_arrive(both[slot], 1, remote_cta_rank=0)
                tlx.barrier_wait(both[slot], phase, pred=is_first)
                tlx.async_dot(
                    a[slot], b[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]], two_ctas=True
                )
            tlx.tcgen05_commit(done[0], two_ctas=True)


def gemm(a, b, block=(128, 128, 64), stages=2):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    pairs = tw.cdiv(M, 2 * block[0])
    with tw.running(target="cuda:100"):
        gemm_kernel[(2 * pairs, tw.cdiv(N, block[1]))](
            tw.TensorDescriptor.from_tensor(a, [block[0], block[2]]),
            tw.TensorDescriptor.from_tensor(b, [block[2], block[1] // 2]),
            tw.TensorDescriptor.from_tensor(c, [block[0], block[1]]),
            K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages, ctas_per_cga=(2, 1, 1),
        )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((400, 192)).astype(np.float16)
    b = rng.standard_normal((192, 136)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
