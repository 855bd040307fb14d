"""Kernels as Triton compiles them for GPUs: values against double precision, on every schedule."""

from __future__ import annotations

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
        wanted = weights / weights.sum(1, keepdims=True) @ double(v[rows])
        np.testing.assert_allclose(double(out[rows]), wanted, rtol=5e-3, atol=5e-3)
