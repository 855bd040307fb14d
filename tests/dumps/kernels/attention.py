"""Flash attention forward: pointers or descriptors, causal or not, specialised or not."""

from typing import Any

import triton
import triton.language as tl

from ..case import HOPPER_UP, Case, case


@triton.jit
def attention_step(
    acc, total, peak, q, k_tile, v_tile, columns, limit, rows, scale,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    scores = tl.dot(q, k_tile) * scale
    if CAUSAL:
        scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
    if MASKED:
        scores = tl.where(columns[None, :] < limit, scores, -float("inf"))
    higher = tl.maximum(peak, tl.max(scores, 1))
    weights = tl.math.exp2(scores - higher[:, None])
    decay = tl.math.exp2(peak - higher)
    total = total * decay + tl.sum(weights, 1)
    acc = tl.dot(weights.to(v_tile.dtype), v_tile, acc * decay[:, None])
    return acc, total, higher


@triton.jit
def attention_pointers(
    q, k, v, out, lse, scale, stride_z, stride_h, stride_m, H, length,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    base = (head // H).to(tl.int64) * stride_z + (head % H).to(tl.int64) * stride_h
    rows = start + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    tile = base + rows[:, None] * stride_m + depth[None, :]
    query = tl.load(q + tile, mask=rows[:, None] < length, other=0.0)
    k_ptrs = k + base + columns[None, :] * stride_m + depth[:, None]
    v_ptrs = v + base + columns[:, None] * stride_m + depth[None, :]
    peak = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    stop = min(start + BLOCK_M, length) if CAUSAL else length
    for n in range(0, stop, BLOCK_N):
        n = tl.multiple_of(n, BLOCK_N)
        key = tl.load(k_ptrs, mask=(n + columns)[None, :] < length, other=0.0)
        value = tl.load(v_ptrs, mask=(n + columns)[:, None] < length, other=0.0)
        acc, total, peak = attention_step(
            acc, total, peak, query, key, value, n + columns, length, rows, scale, CAUSAL, True
        )
        k_ptrs += BLOCK_N * stride_m
        v_ptrs += BLOCK_N * stride_m
    tl.store(lse + head * length + rows, peak + tl.math.log2(total), mask=rows < length)
    acc = acc / total[:, None]
    tl.store(out + tile, acc.to(out.dtype.element_ty), mask=rows[:, None] < length)


@triton.jit
def attention_descriptors(
    q, k, v, out, scale, length,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length
    rows = start + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    query = q.load([base + start, 0])
    peak = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    stop = start + BLOCK_M if CAUSAL else length
    for n in tl.range(0, stop, BLOCK_N, warp_specialize=WARP_SPECIALIZE):
        key = k.load([base + n, 0]).T
        value = v.load([base + n, 0])
        acc, total, peak = attention_step(
            acc, total, peak, query, key, value, n + columns, length, rows, scale, CAUSAL, False
        )
    out.store([base + start, 0], (acc / total[:, None]).to(out.dtype))


def _pointers(name: str, element: str, causal: bool, head: int = 64, **options: Any) -> Case:
    return case(
        name,
        attention_pointers,
        dict(
            q=f"*{element}:16", k=f"*{element}:16", v=f"*{element}:16", out=f"*{element}:16",
            lse="*fp32:16", scale="fp32", stride_z="i32:16", stride_h="i32:16",
            stride_m="i32:16", H="i32", length="i32",
        ),
        dict(BLOCK_M=128, BLOCK_N=64, HEAD=head, CAUSAL=causal),
        **options,
    )  # fmt: skip


def _descriptors(
    name: str,
    element: str,
    causal: bool,
    specialized: bool,
    head: int = 64,
    rows: int = 128,
    targets: tuple[str, ...] = HOPPER_UP,
    **options: Any,
) -> Case:
    wide, narrow = f"tensordesc<{element}[{rows}, {head}]>", f"tensordesc<{element}[64, {head}]>"
    return case(
        name,
        attention_descriptors,
        dict(q=wide, k=narrow, v=narrow, out=wide, scale="fp32", length="i32:16"),
        dict(BLOCK_M=rows, BLOCK_N=64, HEAD=head, CAUSAL=causal, WARP_SPECIALIZE=specialized),
        targets=targets,
        **options,
    )


CASES = (
    _pointers("attention_full", "fp16", False),
    _pointers("attention_causal", "fp16", True),
    _pointers("attention_causal_bf16_128", "bf16", True, head=128, num_warps=8),
    _descriptors("attention_descriptors", "fp16", False, False),
    _descriptors("attention_descriptors_causal", "bf16", True, False, head=128, num_warps=8),
    _descriptors("attention_specialized", "fp16", False, True, targets=("sm100",)),
    _descriptors("attention_specialized_causal", "fp16", True, True, 128, targets=("sm100",)),
    _descriptors("attention_specialized_64", "fp16", False, True, rows=64),
    _descriptors("attention_specialized_64_causal", "fp16", True, True, rows=64),
)
