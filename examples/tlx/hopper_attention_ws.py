"""Attention, forward, on Hopper with roles: a producer streams K and V past two consumers.

Each consumer owns half of the rows of a tile of Q and keeps its softmax up to date. A block of K
or V is used by both consumers and handed back when both are done with it.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def softmax_step(scores, largest, total):
    """Weights of a block, and how much what came before shrinks."""
    largest_now = tl.maximum(largest, tl.max(scores, 1))
    shrink = tl.math.exp2(largest - largest_now)
    p = tl.math.exp2(scores - largest_now[:, None])
    return p, shrink, largest_now, total * shrink + tl.sum(p, 1)


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, scale, context,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // CONSUMERS
    q = tlx.local_alloc((HALF, HEAD), tl.float16, CONSUMERS)
    k = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    v = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    full_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    tile = tl.program_id(0)
    base = tl.program_id(1) * context  # heads lie one behind the other
    last = tl.minimum((tile + 1) * BM, context) if CAUSAL else context

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for part in tl.static_range(CONSUMERS):
                tlx.barrier_expect_bytes(full_q[part], HALF * HEAD * 2)
                tlx.async_descriptor_load(
                    q_desc, q[part], [base + tile * BM + part * HALF, 0], full_q[part]
                )
            turn = 0
            for start in range(0, last, BN):
                slot = turn % STAGES
                phase = (turn // STAGES) & 1 ^ 1
                tlx.barrier_wait(empty_k[slot], phase)
                tlx.barrier_expect_bytes(full_k[slot], BN * HEAD * 2)
                tlx.async_descriptor_load(k_desc, k[slot], [base + start, 0], full_k[slot])
                tlx.barrier_wait(empty_v[slot], phase)
                tlx.barrier_expect_bytes(full_v[slot], BN * HEAD * 2)
                tlx.async_descriptor_load(v_desc, v[slot], [base + start, 0], full_v[slot])
                turn += 1  # noqa: SIM113 - a loop of the device
        with tlx.async_task(num_warps=4, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            rows = tile * BM + part * HALF + tl.arange(0, HALF)
            largest = tl.full([HALF], -float("inf"), dtype=tl.float32)
            total = tl.zeros([HALF], dtype=tl.float32)
            acc = tl.zeros([HALF, HEAD], dtype=tl.float32)
            tlx.barrier_wait(full_q[part], 0)
            turn = 0
            for start in range(0, last, BN):
                slot = turn % STAGES
                phase = (turn // STAGES) & 1
                tlx.barrier_wait(full_k[slot], phase)
                scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(empty_k[slot], 1)
                scores *= scale
                if CAUSAL:
                    columns = start + tl.arange(0, BN)
                    scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e30)
                p, shrink, largest, total = softmax_step(scores, largest, total)
                acc = acc * shrink[:, None]
                tlx.barrier_wait(full_v[slot], phase)
                acc = tlx.async_dot(p.to(tl.float16), v[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_v[slot], 1)
                turn += 1  # noqa: SIM113
            result = acc / total[:, None]
            o_desc.store([base + tile * BM + part * HALF, 0], result.to(tl.float16))


def attention(q, k, v, causal, block=(128, 64), stages=2, consumers=2):
    heads, context, head = q.shape
    if context % block[0] or context % block[1]:
        raise ValueError(f"the context, {context}, must be a multiple of {block[0]} and {block[1]}")
    out = np.empty_like(q)
    half = block[0] // consumers
    flat = [array.reshape(heads * context, head) for array in (q, k, v, out)]
    sizes = (half, block[1], block[1], half)
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, [rows, head])
        for array, rows in zip(flat, sizes, strict=True)
    ]
    attention_kernel[(context // block[0], heads)](
        *descriptors, 1.44269504 / math.sqrt(head), context, HEAD=head, BM=block[0], BN=block[1],
        STAGES=stages, CONSUMERS=consumers, CAUSAL=causal,
    )  # fmt: skip
    return out


def reference(q, k, v, causal):
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def example(rng):
    """Causal and full attention, and what NumPy says in float64."""
    q, k, v = rng.standard_normal((3, 2, 256, 64)).astype(np.float16)
    results = attention(q, k, v, True), attention(q, k, v, False)
    return results, (reference(q, k, v, True), reference(q, k, v, False))


if __name__ == "__main__":
    for name, result, expected in zip(
        ("causal", "full"), *example(np.random.default_rng(0)), strict=True
    ):
        print(f"largest error, {name}:", np.abs(result - expected).max())
