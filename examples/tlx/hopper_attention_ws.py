"""Attention, forward, on Hopper with roles: a producer streams K and V past two consumers.

Each consumer owns half of the rows of a tile of Q and keeps its softmax up to date. A block of K
or V is used by both consumers and handed back when both are done with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx

LOG2_E = 1.4426950408889634


@tw.jit
def softmax_step(scores, largest, total, scale):
    """Weights of a block, and how much what came before shrinks."""
    largest_now = tl.maximum(largest, tl.max(scores, 1))
    level = largest_now * scale
    shrink = tl.math.exp2(largest * scale - level)
    p = tl.math.exp2(scores * scale - level[:, None])
    return p, shrink, largest_now, total * shrink + tl.sum(p, 1)


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_ptr, scale, context,
    HEAD: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr, CONSUMERS: tl.constexpr,
    REGISTERS: tl.constexpr, CAUSAL: tl.constexpr, RAGGED: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = 64  # of a consumer
    BM: tl.constexpr = ROWS * CONSUMERS
    element: tl.constexpr = tlx.dtype_of(q_desc)
    q = tlx.local_alloc((ROWS, HEAD), element, CONSUMERS)
    k = tlx.local_alloc((BN, HEAD), element, STAGES)
    v = tlx.local_alloc((BN, HEAD), element, STAGES)
    full_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    tile = tl.program_id(0)
    base = tl.program_id(1) * context  # heads lie one behind the other
    last = tl.minimum((tile + 1) * BM, context) if CAUSAL else context

    with tlx.async_tasks():
        with tlx.async_task("default", registers=REGISTERS, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            rows = tile * BM + part * ROWS + tl.arange(0, ROWS)
            largest = tl.full([ROWS], -float("inf"), dtype=tl.float32)
            total = tl.zeros([ROWS], dtype=tl.float32)
            acc = tl.zeros([ROWS, HEAD], dtype=tl.float32)
            tlx.barrier_wait(full_q[part], 0)
            turn = 0
            for start in range(0, last, BN):
                slot = turn % STAGES
                phase = (turn // STAGES) & 1
                tlx.barrier_wait(full_k[slot], phase)
                scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(empty_k[slot], 1)
                columns = start + tl.arange(0, BN)
                if CAUSAL:  # the first block has a key for every row
                    scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
                elif RAGGED:
                    scores = tl.where((columns < context)[None, :], scores, -float("inf"))
                p, shrink, largest, total = softmax_step(scores, largest, total, scale)
                acc = acc * shrink[:, None]
                tlx.barrier_wait(full_v[slot], phase)
                acc = tlx.async_dot(p.to(element), v[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_v[slot], 1)
                turn += 1  # noqa: SIM113 - a loop of the device
            result = acc * (1.0 / total)[:, None]
            places = (base + rows[:, None]) * HEAD + tl.arange(0, HEAD)[None, :]
            tl.store(o_ptr + places, result.to(element), mask=rows[:, None] < context)
        with tlx.async_task(num_warps=1, registers=24):  # the producer
            for part in tl.static_range(CONSUMERS):
                tlx.barrier_expect_bytes(full_q[part], ROWS * HEAD * 2)
                tlx.async_descriptor_load(
                    q_desc, q[part], [base + tile * BM + part * ROWS, 0], full_q[part]
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
                turn += 1  # noqa: SIM113


class Config(NamedTuple):
    """Sizes for an H200: rows of keys in a block, slots of the ring, consumers of 64 rows each."""

    block: int = 128
    stages: int = 2
    consumers: int = 2
    registers: int = 240


SMALL = Config(block=64)
"""Quick to run without a GPU."""


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def attention(q, k, v, causal=False, config=None, out=None):
    """Softmax(Q Kᵀ) V for arrays of any number of heads: ``(..., context, head)``."""
    *_, context, head = q.shape
    block, stages, consumers, registers = config or Config()
    out = empty(q, q.shape) if out is None else out
    flat = [array.reshape(-1, head) for array in (q, k, v)]
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, [rows, head])
        for array, rows in zip(flat, (64, block, block), strict=True)
    ]
    heads = flat[0].shape[0] // context
    attention_kernel[(tw.cdiv(context, 64 * consumers), heads)](
        *descriptors, out, LOG2_E / math.sqrt(head), context, HEAD=head, BN=block, STAGES=stages,
        CONSUMERS=consumers, REGISTERS=registers, CAUSAL=causal, RAGGED=bool(context % block),
    )  # fmt: skip
    return out


def reference(q, k, v, causal):
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[-2], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def example(rng, config=SMALL):
    """Causal and full attention, and what NumPy says in float64."""
    q, k, v = rng.standard_normal((3, 2, 256, 64)).astype(np.float16)
    results = attention(q, k, v, True, config), attention(q, k, v, False, config)
    return results, (reference(q, k, v, True), reference(q, k, v, False))


if __name__ == "__main__":
    for name, result, expected in zip(
        ("causal", "full"), *example(np.random.default_rng(0)), strict=True
    ):
        print(f"largest error, {name}:", np.abs(result - expected).max())
