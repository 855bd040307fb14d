"""Fused attention, forward: softmax is kept up to date while K and V stream by.

Per row of the tile of Q: the largest score so far, the sum of exponentials, and the output, which
is rescaled whenever the largest score grows. Causal attention splits the loop: blocks left of the
diagonal need no mask.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def attend(
    acc, total, largest, q, k_ptrs, v_ptrs, stride_kn, stride_vn, scale, rows, context,
    first, last, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Take the keys `first .. last` into account."""
    for start in range(first, last, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        columns = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptrs + start * stride_kn, mask=columns[None, :] < context, other=0.0)
        scores = tl.dot(q, k) * scale
        if MASKED:
            seen = (rows[:, None] >= columns[None, :]) & (columns[None, :] < context)
        else:
            seen = (columns < context)[None, :]
        scores = tl.where(seen, scores, -1.0e30)
        largest_now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.math.exp2(scores - largest_now[:, None])
        shrink = tl.math.exp2(largest - largest_now)
        v = tl.load(v_ptrs + start * stride_vn, mask=columns[:, None] < context, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, 1)
        largest = largest_now
    return acc, total, largest


@tw.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale,
    stride_qh, stride_qm, stride_kh, stride_kn, stride_vh, stride_vn, stride_oh, stride_om,
    context, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    head = tl.program_id(1)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD)
    inside = rows[:, None] < context
    q_ptrs = q_ptr + head * stride_qh + rows[:, None] * stride_qm + dims[None, :]
    keys = tl.arange(0, BLOCK_N)
    k_ptrs = k_ptr + head * stride_kh + keys[None, :] * stride_kn + dims[:, None]
    v_ptrs = v_ptr + head * stride_vh + keys[:, None] * stride_vn + dims[None, :]
    q = tl.load(q_ptrs, mask=inside, other=0.0)
    scale *= 1.44269504  # log2(e): exp2 is what the hardware has
    largest = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    if CAUSAL:
        diagonal = tile * BLOCK_M
        acc, total, largest = attend(
            acc, total, largest, q, k_ptrs, v_ptrs, stride_kn, stride_vn, scale, rows, context,
            0, diagonal, BLOCK_N, False,
        )  # fmt: skip
        acc, total, largest = attend(
            acc, total, largest, q, k_ptrs, v_ptrs, stride_kn, stride_vn, scale, rows, context,
            diagonal, min(diagonal + BLOCK_M, context), BLOCK_N, True,
        )  # fmt: skip
    else:
        acc, total, largest = attend(
            acc, total, largest, q, k_ptrs, v_ptrs, stride_kn, stride_vn, scale, rows, context,
            0, context, BLOCK_N, False,
        )  # fmt: skip
    out_ptrs = out_ptr + head * stride_oh + rows[:, None] * stride_om + dims[None, :]
    tl.store(out_ptrs, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(lse_ptr + head * context + rows, largest + tl.math.log2(total), mask=rows < context)


def attention(q, k, v, causal, block_m=64, block_n=32):
    heads, context, head = q.shape
    out, lse = np.empty_like(q), np.empty((heads, context), np.float32)
    strides = [stride // q.itemsize for array in (q, k, v, out) for stride in array.strides[:2]]
    attention_kernel[(tw.cdiv(context, block_m), heads)](
        q, k, v, out, lse, 1 / math.sqrt(head), *strides, context,
        HEAD=head, BLOCK_M=block_m, BLOCK_N=block_n, CAUSAL=causal,
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
    q, k, v = rng.standard_normal((3, 3, 173, 64)).astype(np.float16)
    results = attention(q, k, v, causal=True), attention(q, k, v, causal=False)
    return results, (reference(q, k, v, True), reference(q, k, v, False))


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("causal", "full"), results, references, strict=True):
        print(f"largest error, {name}:", np.abs(result - expected).max())
