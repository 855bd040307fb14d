"""The kernels of `benchmarks/workloads`, at small odd sizes, beside NumPy in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from benchmarks.h200 import tile_kernels
from benchmarks.workloads.kernels import (
    attention,
    backward,
    convolution,
    decode,
    grouped,
    recurrent,
    streams,
    weights,
)

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
WIDE = np.float64


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def normal(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape).astype(dtype)


def assert_near(result, expected, tolerance):
    error = np.abs(result.astype(WIDE) - expected).max() / np.abs(expected).max()
    assert error < tolerance


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attend(q, k, v):
    """One query per sequence; k and v have fewer heads."""
    k, v = (np.repeat(each.astype(WIDE), q.shape[1] // each.shape[2], 2) for each in (k, v))
    scores = np.einsum("bhd,blhd->bhl", q.astype(WIDE), k) / q.shape[2] ** 0.5
    return np.einsum("bhl,blhd->bhd", softmax(scores), v)


def test_rms_norm_fp8(rng):
    x, w = normal(rng, 3, 512), normal(rng, 512)
    y, scales = streams.rms_norm_fp8(x, w, columns=512)
    wide = x.astype(WIDE)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * w.astype(WIDE)
    assert_near(y.astype(WIDE) * scales[:, None], expected, 0.04)


def test_rotary(rng):
    x, angles = normal(rng, 6, 4, 32), rng.uniform(0, 6, (6, 16)).astype(np.float32)
    y = streams.rotary(x, np.cos(angles), np.sin(angles), heads=4, head=32)
    left, right = np.split(x.astype(WIDE), 2, -1)
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    assert_near(y, np.concatenate([left * c - right * s, right * c + left * s], -1), 0.01)


def test_cross_entropy(rng):
    x, targets = (normal(rng, 3, 5000) * 3).astype(BF16), rng.integers(0, 5000, 3)
    wide = x.astype(WIDE)
    expected = np.log(np.exp(wide).sum(1)) - wide[np.arange(3), targets]
    assert_near(streams.cross_entropy(x, targets), expected, 1e-5)


def test_top_k(rng):
    x = normal(rng, 20, 64, dtype=np.float32)
    values, columns = streams.top_k(x, k=4, columns=64)
    order = np.argsort(-x, 1)[:, :4]
    assert np.array_equal(columns, order)
    assert np.array_equal(values, np.take_along_axis(x, order, 1))


def test_decode(rng):
    q, k, v = normal(rng, 2, 8, 64), normal(rng, 2, 300, 2, 64), normal(rng, 2, 300, 2, 64)
    parts, logs = decode.decode_parts(q, k, v, 3, dim=64, block_N=64)
    assert_near(decode.combine(parts, logs, 3, dim=64), attend(q, k, v), 0.01)
    assert_near(decode.decode_at_once(q, k, v, 3, dim=64, columns=16), attend(q, k, v), 0.01)


def test_decode_by_pages(rng):
    q, k, v = normal(rng, 2, 8, 64), normal(rng, 9, 32, 2, 64), normal(rng, 9, 32, 2, 64)
    tables = rng.permutation(9)[:8].reshape(2, 4).astype(np.int32)
    lengths = np.array([100, 40], np.int32)  # the second one is shorter than its three parts
    parts, logs = decode.paged_parts(q, k, v, tables, lengths, 3, dim=64)
    rows = [
        [each[tables[b]].reshape(1, -1, 2, 64)[:, : lengths[b]] for each in (k, v)]
        for b in range(2)
    ]
    expected = np.concatenate([attend(q[b : b + 1], *rows[b]) for b in range(2)])
    assert_near(decode.combine(parts, logs, 3, dim=64), expected, 0.01)


def test_mla(rng):
    q, q_rope = normal(rng, 2, 64, 128), normal(rng, 2, 64, 64)
    latent, k_rope = normal(rng, 2, 300, 128), normal(rng, 2, 300, 64)
    parts, logs = attention.mla_parts(q, q_rope, latent, k_rope, 2, dim=128)
    wide = [each.astype(WIDE) for each in (q, q_rope, latent, k_rope)]
    scores = wide[0] @ wide[2].swapaxes(1, 2) + wide[1] @ wide[3].swapaxes(1, 2)
    expected = softmax(scores / 192**0.5) @ wide[2]
    assert_near(decode.combine(parts, logs, 2, dim=128), expected, 0.01)


@pytest.mark.parametrize("heads_first", [False, True])
def test_attention_forward(rng, heads_first):
    """Both orders of the grid; the last tile of queries is not full."""
    q, k, v = (normal(rng, 2, 3, 150, 64, dtype=np.float16) for _ in range(3))
    tiles = {"block_M": 64, "block_N": 64, "threads": 128}
    out = tile_kernels.attention(q, k, v, head=64, causal=True, heads_first=heads_first, **tiles)
    scores = q.astype(WIDE) @ k.astype(WIDE).swapaxes(2, 3) / 8
    weights = softmax(np.where(np.tri(150, dtype=bool), scores, -np.inf))
    assert_near(out, weights @ v.astype(WIDE), 0.01)


def test_window_with_sinks(rng):
    length, window = 200, 50
    q, k, v = (normal(rng, 1, heads, length, 64) for heads in (4, 2, 2))
    sinks = normal(rng, 4, dtype=np.float32)
    out = attention.window_attention(
        q, k, v, sinks, window=window, dim=64, block_M=64, block_N=64, threads=128
    )
    k, v = (np.repeat(each.astype(WIDE), 2, 1) for each in (k, v))
    distance = np.arange(length)[:, None] - np.arange(length)
    scores = q.astype(WIDE) @ k.swapaxes(2, 3) / 8
    weights = np.exp(np.where((distance >= 0) & (distance < window), scores, -np.inf))
    total = weights.sum(-1, keepdims=True) + np.exp(sinks.astype(WIDE))[None, :, None, None]
    assert_near(out, weights / total @ v, 0.01)


@pytest.mark.parametrize(("is_causal", "together"), [(True, 2), (False, 1)])
def test_backward(rng, is_causal, together):
    length, heads, kv_heads, dim = 150, 4, 2, 64
    q, k, v, do = (normal(rng, 1, length, h, dim) for h in (heads, kv_heads, kv_heads, heads))
    wide = [each.astype(WIDE)[0].swapaxes(0, 1) for each in (q, k, v, do)]
    wide[1:3] = (np.repeat(each, heads // kv_heads, 0) for each in wide[1:3])
    scores = wide[0] @ wide[1].swapaxes(1, 2) / dim**0.5
    if is_causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    p = softmax(scores)
    out = p @ wide[2]
    deltas = (out * wide[3]).sum(-1, keepdims=True)
    ds = p * (wide[3] @ wide[2].swapaxes(1, 2) - deltas) / dim**0.5
    expected = ds @ wide[1], ds.swapaxes(1, 2) @ wide[0], p.swapaxes(1, 2) @ wide[3]
    logs = np.log2(np.exp(scores).sum(-1)).astype(np.float32)[None]
    dq = np.full((1, 192, heads, dim), np.nan, np.float32)
    o = out.swapaxes(0, 1)[None].astype(BF16, order="C")
    rows = backward.row_statistics(o, do, logs, dq, dim=dim)
    assert_near(rows[0, :, 1], deltas[..., 0], 0.01)
    dk, dv = backward.gradients(
        *(q, k, v, do, rows, dq),
        is_causal=is_causal,
        dim=dim,
        block_N=64,
        threads=128,
        together=together,
    )
    dq = backward.scaled(dq, length, dim**-0.5, dim=dim)
    for found, reference in zip((dq, dk, dv), expected, strict=True):
        summed = reference.reshape(found.shape[2], -1, length, dim).sum(1)
        assert_near(found[0].swapaxes(0, 1), summed, 0.02)


@pytest.mark.parametrize(
    ("kernel", "m", "n", "k"), [("w4a16", 20, 128, 256), ("w4a16_one", 1, 64, 2048)]
)
def test_4_bit_weights(rng, kernel, m, n, k):
    a, nibbles = normal(rng, m, k, dtype=np.float16), rng.integers(0, 16, (n, k), dtype=np.uint8)
    scales = rng.uniform(0.01, 0.02, (n, k // 128)).astype(np.float16)
    packed = nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)
    dense = (nibbles.astype(WIDE) - 8) * np.repeat(scales.astype(WIDE), 128, 1)
    result = getattr(weights, kernel)(a, packed, scales)
    assert_near(result, a.astype(WIDE) @ dense.T, 2e-3)


@pytest.mark.parametrize("splits", [1, 2])
def test_4_bit_weights_in_registers(rng, splits):
    m, n, k = 20, 128, 512
    a, nibbles = normal(rng, m, k, dtype=np.float16), rng.integers(0, 16, (n, k), dtype=np.uint8)
    scales = rng.uniform(0.01, 0.02, (n, k // 128)).astype(np.float16)
    packed = nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)
    dense = (nibbles.astype(WIDE) - 8) * np.repeat(scales.astype(WIDE), 128, 1)
    result = weights.w4a16_rows(a, packed, scales, splits=splits, block_M=32)
    result = result[0] if splits == 1 else weights.added(result, columns=128)
    assert_near(result, a.astype(WIDE) @ dense.T, 2e-3)


def test_grouped(rng):
    """Groups of very different sizes, one of them empty; the last tiles are too many."""
    sizes = np.array([70, 1, 0, 130])
    ends = np.cumsum(sizes).astype(np.int32)
    a, b = normal(rng, ends[-1], 96), normal(rng, 4, 96, 136)
    table = grouped.tiles_of(ends, 8, block_M=64)
    assert table[6:].tolist() == [[0, 0, 0]] * 2
    options = {"block_M": 64, "block_N": 128, "processors": 3, "threads": 128}
    tiles = np.split(a.astype(WIDE), ends[:-1])
    expected = np.concatenate([each @ b[g].astype(WIDE) for g, each in enumerate(tiles)])
    assert_near(grouped.grouped_gemm(a, b, table, **options), expected, 0.01)


@pytest.mark.parametrize(("stride", "tile"), [(1, (2, 4, 8)), (2, (2, 4, 8)), (2, (4, 2, 8))])
def test_convolution(rng, stride, tile):
    """Tiles that reach over the edges, and more images than there are."""
    images = normal(rng, 3, 10, 12, 64, dtype=np.float16)
    filters = normal(rng, 3, 3, 64, 40, dtype=np.float16)
    padded = np.pad(images.astype(WIDE), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        padded[:, y : y + 10 : stride, x : x + 12 : stride] @ filters[y, x].astype(WIDE)
        for y in range(3)
        for x in range(3)
    )
    result = convolution.convolution(images, filters, tile, stride=stride, block_N=64, threads=128)
    assert_near(result, expected, 2e-3)


def test_fp8_blocks(rng):
    a, b = normal(rng, 130, 256, dtype=E4M3), normal(rng, 128, 256, dtype=E4M3)
    a_scales, b_scales = (
        rng.uniform(0.5, 2, shape).astype(np.float32) for shape in ((130, 2), (1, 2))
    )
    wide_a = a.astype(WIDE) * np.repeat(a_scales, 128, 1)
    wide_b = b.astype(WIDE) * np.repeat(np.repeat(b_scales, 128, 1), 128, 0)
    assert_near(weights.fp8_blocks(a, b, a_scales, b_scales), wide_a @ wide_b.T, 0.01)


def test_linear_attention(rng):
    q, k, v = (normal(rng, 1, 150, 2, 64) for _ in range(3))
    wide = [each.astype(WIDE) for each in (q, k, v)]
    scores = np.einsum("bthd,bshd->bhts", *wide[:2]) * np.tri(150)
    out = recurrent.linear_attention(q, k, v, dim=64)
    assert_near(out, np.einsum("bhts,bshd->bthd", scores, wide[2]), 0.02)


def test_gated_delta_rule(rng):
    """One position after the other: what a key finds in the state is taken from its value."""
    length, dim, chunk = 128, 64, 64
    q, k, v = (normal(rng, 1, length, 1, dim).astype(WIDE) / 4 for _ in range(3))
    beta, decay = rng.uniform(0.2, 0.8, length), rng.uniform(0.8, 1, length)
    q, k = q.astype(BF16), k.astype(BF16)
    state, expected = np.zeros((dim, dim)), np.empty((length, dim))
    for t in range(length):
        key = k[0, t, 0].astype(WIDE)
        state *= decay[t]
        state += beta[t] * np.outer(key, v[0, t, 0] - key @ state)
        expected[t] = q[0, t, 0].astype(WIDE) @ state
    g = np.log2(decay).reshape(-1, chunk).cumsum(1)
    w, u = np.empty((length, dim)), np.empty((length, dim))
    for n in range(length // chunk):
        rows = slice(n * chunk, (n + 1) * chunk)
        keys, logs = k[0, rows, 0].astype(WIDE), g[n]
        between = np.exp2(logs[:, None] - logs) * np.tri(chunk, k=-1)
        inverse = np.linalg.inv(np.eye(chunk) + beta[rows, None] * between * (keys @ keys.T))
        w[rows] = inverse @ (beta[rows, None] * np.exp2(logs)[:, None] * keys)
        u[rows] = inverse @ (beta[rows, None] * v[0, rows, 0])
    given = [each[None, :, None].astype(BF16) for each in (w, u)]
    logs = g.reshape(1, 1, -1).astype(np.float32)
    out = recurrent.gated_delta_rule(q, k, *given, logs, dim=dim)
    assert_near(out[0, :, 0], expected, 0.02)
