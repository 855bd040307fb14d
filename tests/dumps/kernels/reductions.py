"""Reductions, scans, sorts, histograms and gathers: ops that carry a region or move lanes."""

import triton
import triton.language as tl

from ..case import case


@triton.jit
def welford_combine(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@triton.jit
def linear_recurrence(a_left, b_left, a_right, b_right):
    return a_left * a_right, b_left * a_right + b_right


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def keep_larger(a, b):
    if a > b:
        kept = a
    else:
        kept = b
    return kept


@triton.jit
def reduce_kinds(x, ix, out, iout, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    whole = tl.load(ix + lane)
    tl.store(out, tl.sum(value))
    tl.store(out + 1, tl.max(value))
    tl.store(out + 2, tl.min(value, axis=0))
    tl.store(out + 3, tl.reduce(value, 0, multiply))
    tl.store(out + 4, tl.reduce(value, 0, keep_larger))
    tl.store(iout, tl.sum(whole))
    tl.store(iout + 1, tl.max(whole))
    tl.store(iout + 2, tl.xor_sum(whole))
    tl.store(iout + 3, tl.reduce_or(whole, 0))
    tl.store(iout + 4, tl.argmax(value, 0))
    tl.store(iout + 5, tl.argmin(value, 0, tie_break_left=False))


@triton.jit
def reduce_matrix(x, rows, columns, index, M: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + rm[:, None] * N + rn[None, :])
    tl.store(rows + rm, tl.sum(tile, axis=1))
    tl.store(columns + rn, tl.max(tile, axis=0))
    best, where = tl.max(tile, axis=1, return_indices=True)
    tl.store(rows + M + rm, best)
    tl.store(index + rm, where)
    kept = tl.sum(tile, axis=0, keep_dims=True)
    tl.store(columns + N + rn[None, :], kept)


@triton.jit
def reduce_welford(x, out, M: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + rm[:, None] * N + rn[None, :])
    state = (tile, tl.zeros_like(tile), tl.full((M, N), 1.0, tl.float32))
    mean, m2, weight = tl.reduce(state, 1, welford_combine)
    tl.store(out + rm, mean)
    tl.store(out + M + rm, m2 / weight)


@triton.jit
def scan_kinds(x, ix, out, iout, M: tl.constexpr, N: tl.constexpr):
    tile = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + tile)
    whole = tl.load(ix + tile)
    tl.store(out + tile, tl.cumsum(value, axis=1))
    tl.store(out + M * N + tile, tl.cumsum(value, axis=0, reverse=True))
    tl.store(out + 2 * M * N + tile, tl.cumprod(value, axis=1))
    tl.store(iout + tile, tl.cumsum(whole, axis=1))
    tl.store(iout + M * N + tile, tl.associative_scan(whole, 1, keep_larger))
    a, b = tl.associative_scan((value, value + 1.0), 1, linear_recurrence)
    tl.store(out + 3 * M * N + tile, a + b)
    a, b = tl.associative_scan((value, whole.to(tl.float32)), 0, linear_recurrence, reverse=True)
    tl.store(out + 4 * M * N + tile, a * b)


@triton.jit
def sort_kinds(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    tile = rm[:, None] * N + rn[None, :]
    value = tl.load(x + tile)
    tl.store(out + tile, tl.sort(value))
    tl.store(out + M * N + tile, tl.sort(value, descending=True))
    tl.store(out + 2 * M * N + rm[:, None] * K + tl.arange(0, K)[None, :], tl.topk(value, K))
    tl.store(out + 3 * M * N + tile, tl.flip(value, 1))


@triton.jit
def histograms(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    tl.store(out + tl.arange(0, BINS), tl.histogram(value, BINS))
    masked = tl.histogram(value, BINS, mask=lane < n)
    tl.store(out + BINS + tl.arange(0, BINS), masked)


@triton.jit
def gathers(x, index, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + tile)
    where = tl.load(index + tile)
    tl.store(out + tile, tl.gather(value, where, 0))
    tl.store(out + M * N + tile, tl.gather(value, where, axis=1))


FLAT = dict(x="*fp32:16", ix="*i32:16", out="*fp32:16", iout="*i32:16")

CASES = (
    case("reduce_kinds", reduce_kinds, FLAT, dict(BLOCK=512)),
    case(
        "reduce_kinds_f16_i64",
        reduce_kinds,
        dict(x="*fp16:16", ix="*i64:16", out="*fp32:16", iout="*i64:16"),
        dict(BLOCK=512),
    ),
    case(
        "reduce_matrix",
        reduce_matrix,
        dict(x="*fp32:16", rows="*fp32:16", columns="*fp32:16", index="*i32:16"),
        dict(M=32, N=64),
    ),
    case("reduce_welford", reduce_welford, dict(x="*fp32:16", out="*fp32:16"), dict(M=16, N=128)),
    case("scan_kinds", scan_kinds, FLAT, dict(M=16, N=64)),
    case("sort_f32", sort_kinds, dict(x="*fp32:16", out="*fp32:16"), dict(M=4, N=32, K=8)),
    case("sort_u16", sort_kinds, dict(x="*u16:16", out="*u16:16"), dict(M=4, N=16, K=4)),
    case(
        "histograms",
        histograms,
        dict(x="*i32:16", out="*i32:16", n="i32"),
        dict(BLOCK=512, BINS=64),
    ),
    case("gathers", gathers, dict(x="*fp32:16", index="*i32:16", out="*fp32:16"), dict(M=32, N=32)),
)
