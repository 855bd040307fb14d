"""Attention, forward, on Blackwell, with a tree of aliases in tensor memory.

Scores are dead once their weights exist, so the weights P, the factors alpha and the sums l lie
where the scores QK were::

    shared(qk, distinct(p, alpha, l))

Four tasks: copies; products, which the tensor core runs in order; softmax; the correction, which
rescales the accumulator before the next product adds to it.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, scale, context,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    q = tlx.local_alloc((BM, HEAD), tl.float16, 1)
    k = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    v = tlx.local_alloc((BN, HEAD), tl.float16, STAGES)
    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    qk = tlx.local_alloc((BM, BN), tl.float32, 1, tlx.storage_kind.tmem, reuse=storage)
    p = tlx.local_alloc((BM, BN), tl.float16, 1, tlx.storage_kind.tmem, reuse=storage)
    alpha = tlx.local_alloc((BM, 1), tl.float32, 1, tlx.storage_kind.tmem, reuse=storage)
    sums = tlx.local_alloc((BM, 1), tl.float32, 1, tlx.storage_kind.tmem, reuse=storage)
    made = tlx.reuse_group(p, alpha, sums, group_type=tlx.reuse_group_type.distinct)
    storage.set_buffer_overlap(tlx.reuse_group(qk, made, group_type=tlx.reuse_group_type.shared))
    acc = tlx.local_alloc((BM, HEAD), tl.float32, 1, tlx.storage_kind.tmem)

    full_q = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    full_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_k = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    full_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty_v = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    scored = tlx.alloc_barriers(num_barriers=1, arrive_count=1)  # qk holds scores
    weighed = tlx.alloc_barriers(num_barriers=1, arrive_count=1)  # p and alpha are made
    scaled = tlx.alloc_barriers(num_barriers=1, arrive_count=1)  # acc is ready for the next product
    added = tlx.alloc_barriers(num_barriers=1, arrive_count=1)  # a product with v is done
    summed = tlx.alloc_barriers(num_barriers=1, arrive_count=1)  # sums are final
    base = tl.program_id(1) * context
    row = base + tl.program_id(0) * BM
    blocks = context // BN

    with tlx.async_tasks():
        with tlx.async_task("default"):  # correction
            for j in range(blocks):
                tlx.barrier_wait(weighed[0], j & 1)
                factor = tlx.local_load(alpha[0])
                if j > 0:
                    tlx.barrier_wait(added[0], j & 1 ^ 1)
                    tlx.local_store(acc[0], tlx.local_load(acc[0]) * factor)
                tlx.barrier_arrive(scaled[0], 1)
            tlx.barrier_wait(added[0], blocks & 1 ^ 1)
            tlx.barrier_wait(summed[0], 0)
            result = tlx.local_load(acc[0]) / tlx.local_load(sums[0])
            o_desc.store([row, 0], result.to(tl.float16))
        with tlx.async_task(num_warps=4, num_regs=152):  # softmax
            largest = tl.full([BM], -float("inf"), dtype=tl.float32)
            total = tl.zeros([BM], dtype=tl.float32)
            for j in range(blocks):
                tlx.barrier_wait(scored[0], j & 1)
                scores = tlx.local_load(qk[0]) * scale
                largest_now = tl.maximum(largest, tl.max(scores, 1))
                shrink = tl.math.exp2(largest - largest_now)
                weights = tl.math.exp2(scores - largest_now[:, None])
                total = total * shrink + tl.sum(weights, 1)
                largest = largest_now
                tlx.local_store(alpha[0], shrink[:, None])
                tlx.local_store(p[0], weights.to(tl.float16))
                tlx.barrier_arrive(weighed[0], 1)
            tlx.local_store(sums[0], total[:, None])
            tlx.barrier_arrive(summed[0], 1)
        with tlx.async_task(num_warps=1, num_regs=24):  # products
            tlx.barrier_wait(full_q[0], 0)
            for j in range(blocks):
                slot = j % STAGES
                phase = (j // STAGES) & 1
                tlx.barrier_wait(full_k[slot], phase)
                tlx.async_dot(
                    q[0], tlx.local_trans(k[slot]), qk[0], use_acc=False,
                    mBarriers=[scored[0], empty_k[slot]],
                )  # fmt: skip
                tlx.barrier_wait(weighed[0], j & 1)
                tlx.barrier_wait(scaled[0], j & 1)
                tlx.barrier_wait(full_v[slot], phase)
                tlx.async_dot(
                    p[0], v[slot], acc[0], use_acc=j > 0, mBarriers=[added[0], empty_v[slot]]
                )
        with tlx.async_task(num_warps=1, num_regs=24):  # copies
            tlx.barrier_expect_bytes(full_q[0], BM * HEAD * 2)
            tlx.async_descriptor_load(q_desc, q[0], [row, 0], full_q[0])
            for j in range(blocks):
                slot = j % STAGES
                phase = (j // STAGES) & 1 ^ 1
                tlx.barrier_wait(empty_k[slot], phase)
                tlx.barrier_expect_bytes(full_k[slot], BN * HEAD * 2)
                tlx.async_descriptor_load(k_desc, k[slot], [base + j * BN, 0], full_k[slot])
                tlx.barrier_wait(empty_v[slot], phase)
                tlx.barrier_expect_bytes(full_v[slot], BN * HEAD * 2)
                tlx.async_descriptor_load(v_desc, v[slot], [base + j * BN, 0], full_v[slot])


def attention(q, k, v, block=(128, 64), stages=2):
    heads, context, head = q.shape
    if context % block[0] or context % block[1]:
        raise ValueError(f"the context, {context}, must be a multiple of {block[0]} and {block[1]}")
    out = np.empty_like(q)
    flat = [array.reshape(heads * context, head) for array in (q, k, v, out)]
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, [rows, head])
        for array, rows in zip(flat, (block[0], block[1], block[1], block[0]), strict=True)
    ]
    with tw.running(target="cuda:100"):
        attention_kernel[(context // block[0], heads)](
            *descriptors, 1.44269504 / math.sqrt(head), context,
            HEAD=head, BM=block[0], BN=block[1], STAGES=stages,
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
