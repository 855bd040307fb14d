"""C = A @ B on Hopper with roles: one task issues TMA copies, two multiply, barriers connect them.

Two consumers share a tile of C, each computes half of its rows; so the ring has two slots of A and
one of B for every stage. `full` barriers are fed by the bytes of the copies, `empty` ones by the
consumers. One product stays in flight while the next one is issued, so slots go back a step late.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // 2
    a = tlx.local_alloc((HALF, BK), tlx.dtype_of(a_desc), 2 * STAGES)
    b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=2)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default", registers=240, replicate=2):
            part = tlx.async_task_replica_id()
            acc = tl.zeros((HALF, BN), dtype=tl.float32)
            phase = 0
            for k in range(steps):
                slot = k % STAGES
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a[2 * slot + part], b[slot], acc)
                acc = tlx.async_dot_wait(1, acc)
                before = (k + STAGES - 1) % STAGES
                tlx.barrier_arrive(empty[before], 1, pred=k > 0)
                phase = phase ^ (slot == STAGES - 1)
            acc = tlx.async_dot_wait(0, acc)
            c_desc.store([row + part * HALF, column], acc.to(tlx.dtype_of(c_desc)))
        with tlx.async_task(num_warps=1, registers=24):  # the producer
            phase = 1  # a fresh barrier lets the first waits through
            for k in range(steps):
                slot = k % STAGES
                tlx.barrier_wait(empty[slot], phase)
                tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                tlx.async_descriptor_load(a_desc, a[2 * slot], [row, k * BK], full[slot])
                tlx.async_descriptor_load(a_desc, a[2 * slot + 1], [row + HALF, k * BK], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
                phase = phase ^ (slot == STAGES - 1)


class Config(NamedTuple):
    """Sizes for an H200."""

    block: tuple[int, int, int] = (128, 256, 64)
    stages: int = 3


SMALL = Config(block=(128, 64, 32))
"""Quick to run without a GPU."""


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def gemm(a, b, config=None, out=None):
    """The product of two matrices of half precision, NumPy's or on a GPU."""
    (BM, BN, BK), stages = config or Config()
    (M, K), N = a.shape, b.shape[1]
    c = empty(a, (M, N)) if out is None else out
    gemm_kernel[(tw.cdiv(M, BM), tw.cdiv(N, BN))](
        tw.TensorDescriptor.from_tensor(a, [BM // 2, BK]),
        tw.TensorDescriptor.from_tensor(b, [BK, BN]),
        tw.TensorDescriptor.from_tensor(c, [BM // 2, BN]),
        K, BM=BM, BN=BN, BK=BK, STAGES=stages,
    )  # fmt: skip
    return c


def example(rng, config=SMALL):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((200, 160)).astype(np.float16)
    b = rng.standard_normal((160, 136)).astype(np.float16)
    return gemm(a, b, config), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
