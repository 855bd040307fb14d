"""Attention, forward, on Hopper: products of neighbouring blocks overlapped, consumers in turns.

While a consumer computes the softmax of one block, its product of the weights of the block before
with V is in flight; and consumers take turns to issue products, so that the tensor cores have those
of one while another one computes exponentials. Blocks are visited from the last one down: only the
first one that a consumer looks at has a mask, and the other ones know nothing of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx

LOG2_E = 1.4426950408889634


@tw.jit
def masked(scores, row, column, context, CAUSAL: tl.constexpr):
    """Scores of keys behind their query, or behind the last one, do not count."""
    columns = column + tl.arange(0, scores.shape[1])
    if CAUSAL:
        rows = row + tl.arange(0, scores.shape[0])
        allowed = rows[:, None] >= columns[None, :]
    else:
        allowed = (columns < context)[None, :]
    return tl.where(allowed, scores, -float("inf"))


@tw.jit
def softmax_step(scores, largest, total, scale, MASKED: tl.constexpr):
    """Weights of a block, and how much what came before shrinks."""
    largest_now = tl.maximum(largest, tl.max(scores, 1))
    level = largest_now * scale
    if MASKED:  # rows in front of the first query see nothing
        level = tl.where(largest_now == -float("inf"), 0.0, level)
    shrink = tl.math.exp2(largest * scale - level)
    p = tl.math.exp2(scores * scale - level[:, None])
    return p, shrink, largest_now, total * shrink + tl.sum(p, 1)


@tw.jit
def load(desc, buffer, row, full, empty, phase, BYTES: tl.constexpr):
    """Fill a buffer once it is free."""
    tlx.barrier_wait(empty, phase)
    tlx.barrier_expect_bytes(full, BYTES)
    tlx.async_descriptor_load(desc, buffer, [row, 0], full)


@tw.jit
def my_turn(part: tl.constexpr):
    """Wait until the consumer before has issued its products."""
    tlx.named_barrier_wait(9 + part, 256)


@tw.jit
def your_turn(part: tl.constexpr, CONSUMERS: tl.constexpr):
    """Let the next consumer issue its products."""
    tlx.named_barrier_arrive(9 + (part + 1) % CONSUMERS, 256)


@tw.jit
def step(
    turn, p, acc, largest, total, q, k, v, full_k, empty_k, full_v, empty_v, scale, end,
    part: tl.constexpr, STAGES: tl.constexpr, CONSUMERS: tl.constexpr,
):  # fmt: skip
    """The scores of block `turn`, while the weights of the block before meet V."""
    before = (turn + STAGES - 1) % STAGES
    slot = turn % STAGES
    my_turn(part)
    scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
    tlx.barrier_wait(full_v[before], ((turn - 1) // STAGES) & 1)
    acc = tlx.async_dot(p, v[before], acc)
    your_turn(part, CONSUMERS)
    scores = tlx.async_dot_wait(1, scores)
    tlx.barrier_arrive(empty_k[slot], 1)
    weights, shrink, largest, total = softmax_step(scores, largest, total, scale, False)
    # Waiting for the next keys here keeps the order: first the softmax, then the other product.
    following = turn + 1
    tlx.barrier_wait(full_k[following % STAGES], (following // STAGES) & 1, pred=following < end)
    acc = tlx.async_dot_wait(0, acc)
    tlx.barrier_arrive(empty_v[before], 1)
    acc = acc * shrink[:, None]
    return weights.to(p.dtype), acc, largest, total


@tw.jit
def pass_over(turn, full_k, empty_k, full_v, empty_v, part: tl.constexpr, STAGES: tl.constexpr,
              CONSUMERS: tl.constexpr):  # fmt: skip
    """A block of keys that no row of this consumer sees."""
    slot = turn % STAGES
    phase = (turn // STAGES) & 1
    tlx.barrier_wait(full_k[slot], phase)
    my_turn(part)
    your_turn(part, CONSUMERS)
    tlx.barrier_arrive(empty_k[slot], 1)
    tlx.barrier_wait(full_v[slot], phase)
    tlx.barrier_arrive(empty_v[slot], 1)


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, o_ptr, scale, context, shift,
    HEAD: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr, CONSUMERS: tl.constexpr,
    REGISTERS: tl.constexpr, CAUSAL: tl.constexpr, RAGGED: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = 64  # of a consumer: no more than a block has columns
    BM: tl.constexpr = ROWS * CONSUMERS
    BYTES: tl.constexpr = BN * HEAD * 2
    element: tl.constexpr = tlx.dtype_of(q_desc)
    q = tlx.local_alloc((ROWS, HEAD), element, CONSUMERS)
    k = tlx.local_alloc((BN, HEAD), element, STAGES)
    v = tlx.local_alloc((BN, HEAD), element, STAGES)
    full_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the last tiles have most to do: they start
    first = tile * BM - shift  # where rows are missing, they are in front of the first query
    base = tl.program_id(1) * context  # heads lie one behind the other
    blocks = tl.cdiv(tl.minimum(first + BM, context) if CAUSAL else context, BN)

    with tlx.async_tasks():
        with tlx.async_task("default", registers=REGISTERS, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            row = first + part * ROWS
            largest = tl.full([ROWS], -float("inf"), dtype=tl.float32)
            total = tl.zeros([ROWS], dtype=tl.float32)
            acc = tl.zeros([ROWS, HEAD], dtype=tl.float32)
            if part == CONSUMERS - 1:
                your_turn(part, CONSUMERS)  # the first consumer begins
            turn = 0
            if CAUSAL:
                turn = blocks - tl.cdiv(tl.maximum(tl.minimum(row + ROWS, context), 1), BN)
                for j in range(turn):
                    pass_over(j, full_k, empty_k, full_v, empty_v, part, STAGES, CONSUMERS)
            slot = turn % STAGES
            tlx.barrier_wait(full_q[part], 0)
            tlx.barrier_wait(full_k[slot], (turn // STAGES) & 1)
            my_turn(part)
            scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
            your_turn(part, CONSUMERS)
            scores = tlx.async_dot_wait(0, scores)
            tlx.barrier_arrive(empty_k[slot], 1)
            if CAUSAL or RAGGED:  # a block of its own rows, and no other one, has a mask
                scores = masked(scores, row, (blocks - 1 - turn) * BN, context, CAUSAL)
            weights, _, largest, total = softmax_step(
                scores, largest, total, scale, CAUSAL or RAGGED
            )
            p = weights.to(element)
            turn += 1
            tlx.barrier_wait(full_k[turn % STAGES], (turn // STAGES) & 1, pred=turn < blocks)
            for j in range(turn, blocks):
                p, acc, largest, total = step(
                    j, p, acc, largest, total, q, k, v, full_k, empty_k, full_v, empty_v, scale,
                    blocks, part, STAGES, CONSUMERS,
                )  # fmt: skip
            last = (blocks - 1) % STAGES
            tlx.barrier_wait(full_v[last], ((blocks - 1) // STAGES) & 1)
            acc = tlx.async_dot(p, v[last], acc)
            if part == 0:
                my_turn(part)  # nobody leaves an arrival behind
            acc = tlx.async_dot_wait(0, acc)
            result = (acc * (1.0 / total)[:, None]).to(element)
            if RAGGED:
                rows = row + tl.arange(0, ROWS)
                places = (base + rows[:, None]) * HEAD + tl.arange(0, HEAD)[None, :]
                inside = (rows >= 0) & (rows < context)
                tl.store(o_ptr + places, result, mask=inside[:, None])
            else:
                if row >= 0:
                    o_desc.store([base + row, 0], result)
        with tlx.async_task(num_warps=1, registers=24):  # the producer
            for part in tl.static_range(CONSUMERS):
                tlx.barrier_expect_bytes(full_q[part], ROWS * HEAD * 2)
                tlx.async_descriptor_load(
                    q_desc, q[part], [base + first + part * ROWS, 0], full_q[part]
                )
            for j in range(blocks):
                at = base + (blocks - 1 - j) * BN
                slot = j % STAGES
                phase = (j // STAGES) & 1 ^ 1
                load(k_desc, k[slot], at, full_k[slot], empty_k[slot], phase, BYTES)
                load(v_desc, v[slot], at, full_v[slot], empty_v[slot], phase, BYTES)


class Config(NamedTuple):
    """Sizes for an H200: rows of keys in a block, slots of the ring, consumers of 64 rows each."""

    block: int = 128
    stages: int = 2
    consumers: int = 2
    registers: int = 240


def best(head):
    """What is fast on an H200."""
    return Config() if head > 64 else Config(stages=3, consumers=3, registers=160)


SMALL = Config(block=64)
"""Quick to run without a GPU."""


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def attention(q, k, v, causal=False, config=None, out=None):
    """Softmax(Q Kᵀ) V for arrays of any number of heads: ``(..., context, head)``.

    Where `context` is no multiple of the block, values of the next head are multiplied by zero.
    """
    *_, context, head = q.shape
    config = config or best(head)
    block, stages, consumers, registers = config
    out = empty(q, q.shape) if out is None else out
    flat = [array.reshape(-1, head) for array in (q, k, v, out)]
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, [rows, head])
        for array, rows in zip(flat, (64, block, block, 64), strict=True)
    ]
    tiles = tw.cdiv(context, 64 * consumers)
    shift = (tiles * consumers - tw.cdiv(context, 64)) * 64
    attention_kernel[(tiles, flat[0].shape[0] // context)](
        *descriptors, flat[3], LOG2_E / math.sqrt(head), context, shift,
        HEAD=head, BN=block, STAGES=stages, CONSUMERS=consumers, REGISTERS=registers,
        CAUSAL=causal, RAGGED=bool(context % block),
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
