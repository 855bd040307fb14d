"""Kernels as Triton compiles them for GPUs: values against double precision, on every schedule."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tasks.programs import CORPUS, compiled, described
from tilewright.targets.numpy import Buffer, RunOptions

RNG = np.random.default_rng(5)


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def test_cp_async_pipeline() -> None:
    kernel = compiled((CORPUS / "gemm_f16.sm80.ttgir").read_text())
    m, n, k = 130, 144, 112
    a, b, c = half(m, k), half(k, n), np.full((m, n), np.nan, np.float16)
    arguments = [Buffer("a", a), Buffer("b", b), Buffer("c", c), m, n, k, k, n, n]
    kernel.launch((8,), arguments, RunOptions(schedules=5))
    np.testing.assert_allclose(double(c), double(a) @ double(b), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_persistent_tcgen05(seed: int) -> None:
    kernel = compiled((CORPUS / "gemm_persistent_specialized_64.sm100.ttgir").read_text())
    m, n, k = 192, 256, 200
    a, b = half(m, k), half(n, k)
    c = np.full((m, n), np.nan, np.float16)
    arguments = [*described("a", a), *described("b", b), *described("c", c), m, n, k]
    report = kernel.launch((2,), arguments, RunOptions(seed=seed))
    assert report.programs == 2
    rows = double(a) @ double(b).T
    # Programs take tiles 0 and 1 of 6: the persistent step is 132.
    assert np.isnan(c).any()
    written = ~np.isnan(c)
    np.testing.assert_allclose(double(c)[written], rows[written], rtol=2e-3, atol=2e-2)
    assert written.sum() == 2 * 64 * 128


def test_specialized_attention() -> None:
    kernel = compiled((CORPUS / "attention_specialized_64.sm100.ttgir").read_text())
    length, heads = 192, 2
    q, k, v = (half(length * heads, 64) for _ in range(3))
    out = np.full_like(q, np.nan)
    scale = np.float32(1.4426950408889634 / 8)
    pairs = [("q", q), ("k", k), ("v", v), ("out", out)]
    arguments = [each for name, x in pairs for each in described(name, x)]
    kernel.launch((length // 64, heads), [*arguments, scale, length], RunOptions(schedules=3))
    for head in range(heads):
        rows = slice(head * length, (head + 1) * length)
        scores = double(q[rows]) @ double(k[rows]).T / 8
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True) @ double(v[rows])
        np.testing.assert_allclose(double(out[rows]), expected, rtol=5e-3, atol=5e-3)


def fours(packed: np.ndarray, axis: int) -> np.ndarray:
    """Numbers of four bits, two to a byte along `axis`, the lower half first."""
    table = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    bits = packed.view(np.uint8)
    pair = np.stack([table[bits & 15], table[bits >> 4]], axis + 1)
    shape = list(packed.shape)
    shape[axis] *= 2
    return pair.reshape(shape)


def test_scaled_dot() -> None:
    kernel = compiled((CORPUS / "scaled_dot_e2m1.sm100.ttgir").read_text())
    a, b = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((128, 64), (64, 128)))
    a_scale, b_scale = (RNG.integers(120, 134, (128, 4)).astype(np.int8) for _ in range(2))
    out = np.full((128, 128), np.nan, np.float32)
    pairs = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "out": out}
    kernel.launch((1,), [Buffer(name, x) for name, x in pairs.items()], RunOptions(schedules=3))
    powers = [np.exp2(x.view(np.uint8).astype(np.float64) - 127) for x in (a_scale, b_scale)]
    left = fours(a, 1) * np.repeat(powers[0], 32, axis=1)
    right = fours(b, 0) * np.repeat(powers[1], 32, axis=1).T
    expected = left @ right
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-6 * np.abs(expected).max())
