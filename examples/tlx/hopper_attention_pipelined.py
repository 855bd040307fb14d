"""Attention, forward, on Hopper: persistent, products of neighbouring blocks overlapped.

While the softmax of block `j` is computed, the product of the weights of block `j - 1` with V is in
flight. A program takes tile after tile; turns of the ring and phases are counted across them.
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
    return p.to(tl.float16), shrink, largest_now, total * shrink + tl.sum(p, 1)


@tw.jit
def load(desc, buffer, row, full, empty, phase, BYTES: tl.constexpr):
    """Fill a buffer once it is free."""
    tlx.barrier_wait(empty, phase)
    tlx.barrier_expect_bytes(full, BYTES)
    tlx.async_descriptor_load(desc, buffer, [row, 0], full)


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, scale, context, tiles, heads,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // CONSUMERS
    BYTES: tl.constexpr = BN * HEAD * 2
    q = tlx.local_alloc((HALF, HEAD), tl.float16, CONSUMERS)
    k = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    v = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    full_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    empty_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    blocks = context // BN

    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0
            number = 0
            for work in range(tl.program_id(0), tiles * heads, tl.num_programs(0)):
                base = (work // tiles) * context
                row = base + (work % tiles) * BM
                for part in tl.static_range(CONSUMERS):
                    load(
                        q_desc, q[part], row + part * HALF, full_q[part], empty_q[part],
                        number & 1 ^ 1, HALF * HEAD * 2,
                    )  # fmt: skip
                for j in range(blocks):
                    slot = turn % STAGES
                    phase = (turn // STAGES) & 1 ^ 1
                    load(k_desc, k[slot], base + j * BN, full_k[slot], empty_k[slot], phase, BYTES)
                    load(v_desc, v[slot], base + j * BN, full_v[slot], empty_v[slot], phase, BYTES)
                    turn += 1
                number += 1  # noqa: SIM113 - a loop of the device
        with tlx.async_task(num_warps=4, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            turn = 0
            number = 0
            for work in range(tl.program_id(0), tiles * heads, tl.num_programs(0)):
                row = (work // tiles) * context + (work % tiles) * BM
                largest = tl.full([HALF], -float("inf"), dtype=tl.float32)
                total = tl.zeros([HALF], dtype=tl.float32)
                acc = tl.zeros([HALF, HEAD], dtype=tl.float32)
                tlx.barrier_wait(full_q[part], number & 1)
                slot = turn % STAGES
                tlx.barrier_wait(full_k[slot], (turn // STAGES) & 1)
                scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(empty_k[slot], 1)
                p, shrink, largest, total = softmax_step(scores * scale, largest, total)
                for _ in range(1, blocks):
                    before = turn % STAGES
                    phase_before = (turn // STAGES) & 1
                    turn += 1
                    slot = turn % STAGES
                    tlx.barrier_wait(full_k[slot], (turn // STAGES) & 1)
                    scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                    tlx.barrier_wait(full_v[before], phase_before)
                    acc = tlx.async_dot(p, v[before], acc)
                    scores = tlx.async_dot_wait(1, scores)
                    tlx.barrier_arrive(empty_k[slot], 1)
                    p, shrink, largest, total = softmax_step(scores * scale, largest, total)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty_v[before], 1)
                    acc = acc * shrink[:, None]
                slot = turn % STAGES
                tlx.barrier_wait(full_v[slot], (turn // STAGES) & 1)
                acc = tlx.async_dot(p, v[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_v[slot], 1)
                tlx.barrier_arrive(empty_q[part], 1)
                turn += 1
                number += 1  # noqa: SIM113
                result = acc / total[:, None]
                o_desc.store([row + part * HALF, 0], result.to(tl.float16))


def attention(q, k, v, block=(128, 64), stages=2, consumers=2, programs=3):
    heads, context, head = q.shape
    if context % block[0] or context % block[1]:
        raise ValueError(f"the context, {context}, must be a multiple of {block[0]} and {block[1]}")
    out = np.empty_like(q)
    half = block[0] // consumers
    flat = [array.reshape(heads * context, head) for array in (q, k, v, out)]
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, [rows, head])
        for array, rows in zip(flat, (half, block[1], block[1], half), strict=True)
    ]
    attention_kernel[(programs,)](
        *descriptors, 1.44269504 / math.sqrt(head), context, context // block[0], heads,
        HEAD=head, BM=block[0], BN=block[1], STAGES=stages, CONSUMERS=consumers,
    )  # fmt: skip
    return out


def reference(q, k, v):
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def example(rng):
    """The result and what NumPy says in float64."""
    q, k, v = rng.standard_normal((3, 2, 256, 64)).astype(np.float16)
    return attention(q, k, v), reference(q, k, v)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
