"""Attention, forward, on Hopper: persistent, causal or not, results leave through the bytes of Q.

As many programs as the chip has SMs take tile after tile. While a consumer computes the softmax of
block `j`, its product of the weights of block `j - 1` with V is in flight; the two consumers take
turns to issue products, so that one fills the tensor cores while the other computes exponentials.
Blocks are visited from the last one down: under a causal mask only the first few are masked, and
the longest tiles are taken first. `o` shares the storage of `q`, which nobody reads any more once
the last scores are there. Turns of the ring, phases and tiles are counted across all tiles.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import tl, tlx

MASKED = -1.0e6
"""Stands for minus infinity: a row whose first block is masked throughout must stay a number."""


@tw.jit
def softmax_step(scores, largest, total, scale):
    """Weights of a block, and how much what came before shrinks."""
    largest_now = tl.maximum(largest, tl.max(scores, 1) * scale)
    shrink = tl.math.exp2(largest - largest_now)
    p = tl.math.exp2(scores * scale - largest_now[:, None])
    return p.to(tl.float16), shrink, largest_now, total * shrink + tl.sum(p, 1)


@tw.jit
def masked(scores, row, column, LOW: tl.constexpr):
    """Scores of keys behind their query do not count."""
    rows = row + tl.arange(0, scores.shape[0])
    columns = column + tl.arange(0, scores.shape[1])
    return tl.where(rows[:, None] >= columns[None, :], scores, LOW)


@tw.jit
def tile_of(work, tiles, heads, CAUSAL: tl.constexpr):
    """Head and tile; causal ones get shorter with their number, and the longest come first."""
    if CAUSAL:
        head = work % heads
        tile = tiles - 1 - work // heads
    else:
        head = work // tiles
        tile = work % tiles
    return head, tile


@tw.jit
def blocks_of(tile, context, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """How many blocks of keys a tile looks at."""
    if CAUSAL:
        count = tl.cdiv((tile + 1) * BM, BN)
    else:
        count = tl.cdiv(context, BN)
    return count


@tw.jit
def load(desc, buffer, row, full, empty, phase, BYTES: tl.constexpr):
    """Fill a buffer once it is free."""
    tlx.barrier_wait(empty, phase)
    tlx.barrier_expect_bytes(full, BYTES)
    tlx.async_descriptor_load(desc, buffer, [row, 0], full)


@tw.jit
def my_turn(part, GATE: tl.constexpr, CONSUMERS: tl.constexpr):
    """Wait until the other consumer has issued its products."""
    if CONSUMERS == 2:
        tlx.named_barrier_wait(GATE + part, 256)


@tw.jit
def your_turn(part, GATE: tl.constexpr, CONSUMERS: tl.constexpr):
    """Let the other consumer issue its products."""
    if CONSUMERS == 2:
        tlx.named_barrier_arrive(GATE + 1 - part, 256)


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, scale, context, tiles, heads,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr, CAUSAL: tl.constexpr, LOW: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // CONSUMERS
    BYTES: tl.constexpr = BN * HEAD * 2
    GATE: tl.constexpr = 9  # named barriers: the first eight are the compiler's
    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    q = tlx.local_alloc((HALF, HEAD), tl.float16, CONSUMERS, reuse=storage)
    o = tlx.local_alloc((HALF, HEAD), tl.float16, CONSUMERS, reuse=storage)
    storage.set_buffer_overlap(tlx.reuse_group(q, o, group_type=tlx.reuse_group_type.shared))
    k = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    v = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    full_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    empty_q = tlx.alloc_barriers(num_barriers=CONSUMERS, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0
            number = 0
            for work in range(tl.program_id(0), tiles * heads, tl.num_programs(0)):
                head, tile = tile_of(work, tiles, heads, CAUSAL)
                base = head * context
                blocks = blocks_of(tile, context, BM, BN, CAUSAL)
                for j in range(blocks):
                    row = base + (blocks - 1 - j) * BN
                    slot = turn % STAGES
                    phase = (turn // STAGES) & 1 ^ 1
                    load(k_desc, k[slot], row, full_k[slot], empty_k[slot], phase, BYTES)
                    load(v_desc, v[slot], row, full_v[slot], empty_v[slot], phase, BYTES)
                    if j == 0:  # keys and values of a tile are on their way before Q is free
                        for part in tl.static_range(CONSUMERS):
                            load(
                                q_desc, q[part], base + tile * BM + part * HALF, full_q[part],
                                empty_q[part], number & 1 ^ 1, HALF * HEAD * 2,
                            )  # fmt: skip
                    turn += 1
                number += 1  # noqa: SIM113 - a loop of the device
        with tlx.async_task(num_warps=4, registers=232, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            if part == 1:
                your_turn(part, GATE, CONSUMERS)  # the first consumer begins
            turn = 0
            number = 0
            for work in range(tl.program_id(0), tiles * heads, tl.num_programs(0)):
                head, tile = tile_of(work, tiles, heads, CAUSAL)
                blocks = blocks_of(tile, context, BM, BN, CAUSAL)
                row = tile * BM + part * HALF
                largest = tl.full([HALF], LOW, dtype=tl.float32)
                total = tl.zeros([HALF], dtype=tl.float32)
                acc = tl.zeros([HALF, HEAD], dtype=tl.float32)
                tlx.barrier_wait(full_q[part], number & 1)
                slot = turn % STAGES
                tlx.barrier_wait(full_k[slot], (turn // STAGES) & 1)
                my_turn(part, GATE, CONSUMERS)
                scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                your_turn(part, GATE, CONSUMERS)
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(empty_k[slot], 1)
                if CAUSAL:
                    scores = masked(scores, row, (blocks - 1) * BN, LOW)
                p, shrink, largest, total = softmax_step(scores, largest, total, scale)
                for j in range(1, blocks):
                    before = turn % STAGES
                    phase_before = (turn // STAGES) & 1
                    turn += 1
                    slot = turn % STAGES
                    tlx.barrier_wait(full_k[slot], (turn // STAGES) & 1)
                    my_turn(part, GATE, CONSUMERS)
                    scores = tlx.async_dot(q[part], tlx.local_trans(k[slot]))
                    tlx.barrier_wait(full_v[before], phase_before)
                    acc = tlx.async_dot(p, v[before], acc)
                    your_turn(part, GATE, CONSUMERS)
                    scores = tlx.async_dot_wait(1, scores)
                    tlx.barrier_arrive(empty_k[slot], 1)
                    if CAUSAL:
                        column = (blocks - 1 - j) * BN
                        if column + BN > row + 1:
                            scores = masked(scores, row, column, LOW)
                    p, shrink, largest, total = softmax_step(scores, largest, total, scale)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty_v[before], 1)
                    acc = acc * shrink[:, None]
                slot = turn % STAGES
                tlx.barrier_wait(full_v[slot], (turn // STAGES) & 1)
                acc = tlx.async_dot(p, v[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_v[slot], 1)
                turn += 1
                number += 1  # noqa: SIM113
                result = acc / total[:, None]
                tlx.local_store(o[part], result.to(tl.float16))
                tlx.fence_async_shared()
                tlx.async_descriptor_store(o_desc, o[part], [head * context + row, 0])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty_q[part], 1)
            if part == 0:
                my_turn(part, GATE, CONSUMERS)  # nobody leaves an arrival behind


def attention(q, k, v, causal=False, block=(128, 64), stages=2, consumers=2, programs=3):
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
        CAUSAL=causal, LOW=MASKED,
    )  # fmt: skip
    return out


def reference(q, k, v, causal=False):
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def example(rng):
    """The results, all keys and causal, and what NumPy says in float64."""
    q, k, v = rng.standard_normal((3, 2, 256, 64)).astype(np.float16)
    choices = (False, True)
    found = tuple(attention(q, k, v, causal) for causal in choices)
    return found, tuple(reference(q, k, v, causal) for causal in choices)


if __name__ == "__main__":
    results, expected = example(np.random.default_rng(0))
    for name, result, exact in zip(("all keys", "causal"), results, expected, strict=True):
        print(f"{name}: largest error: {np.abs(result - exact).max()}")
