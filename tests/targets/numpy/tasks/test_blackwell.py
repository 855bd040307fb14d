"""Kernels in `tlx` for Blackwell: tensor memory, pairs of CTAs, dynamic tiles, aliasing."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.tasks import blackwell_kernels as kernels
from tests.targets.numpy.tasks.test_hopper import half, tiled

RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def blackwell() -> Iterator[None]:
    with tw.running(target="cuda:100", schedules=6):
        yield


def test_mmas_in_tensor_memory() -> None:
    a, b, c = half(128, 320), half(320, 64), np.full((128, 64), np.nan, np.float16)
    kernels.gemm_tensor_memory[(1, 1)](
        tiled(a, 128, 64), tiled(b, 64, 64), tiled(c, 128, 64), 320, 128, 64, 64, 3
    )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=2e-3, atol=2e-2)


def test_pairs_of_ctas() -> None:
    a, b, c = half(256, 128), half(128, 64), np.full((256, 64), np.nan, np.float16)
    kernels.gemm_pair[(2, 1)](
        tiled(a, 128, 64), tiled(b, 64, 32), tiled(c, 128, 64), 128, 128, 64, 64,
        ctas_per_cga=(2, 1, 1),
    )  # fmt: skip
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=2e-3, atol=2e-2)


def test_programs_take_over_tiles() -> None:
    out, counts = np.full(7, -1, np.int32), np.zeros(7, np.int32)
    kernels.dynamic_tiles[(7,)](out, counts)
    np.testing.assert_array_equal(counts, np.ones(7))
    # The first program takes over all the others before they start.
    np.testing.assert_array_equal(out, np.arange(7))


def test_aliased_tensor_memory_is_shared() -> None:
    x = RNG.standard_normal((128, 64)).astype(np.float32)
    out = np.zeros((2, 128, 64), np.float32)
    kernels.shared_columns[(1,)](x, out, False)
    np.testing.assert_array_equal(out[0], x)
    np.testing.assert_array_equal(out[1], x.astype(np.float16).astype(np.float32))
    kernels.shared_columns[(1,)](x, out, True)
    low = x.astype(np.float16)
    np.testing.assert_array_equal(out[1], low.astype(np.float32))
    # Two halves of P fill one column of S: the first 32 columns are other bits now.
    np.testing.assert_array_equal(out[0][:, :32], low.view(np.float32))
    np.testing.assert_array_equal(out[0][:, 32:], x[:, 32:])


def in_blocks(scales: np.ndarray) -> np.ndarray:
    """Scale factors as hardware wants them: blocks of 128 x 4, rows 32 apart next to each other."""
    rows, columns = scales.shape
    blocks = scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(blocks).reshape(-1)


@pytest.mark.parametrize("copies", [False, True])
def test_scaled_dots(copies: bool) -> None:
    m, n, k = 128, 128, 256
    a, b = (
        RNG.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((m, k), (k, n))
    )
    a_scale, b_scale = (RNG.integers(120, 134, (128, k // 32)).astype(np.uint8) for _ in range(2))
    out = np.full((m, n), np.nan, np.float32)
    kernels.scaled_product[(1,)](
        tiled(a, m, k), tiled(b, k, n), in_blocks(a_scale), in_blocks(b_scale), out, m, n, k, copies
    )
    powers = [np.exp2(x.astype(np.float64) - 127) for x in (a_scale, b_scale)]
    left = a.astype(np.float64) * np.repeat(powers[0], 32, axis=1)
    right = b.astype(np.float64) * np.repeat(powers[1], 32, axis=1).T
    expected = left @ right
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-6 * np.abs(expected).max())


def test_views() -> None:
    x = RNG.standard_normal((64, 64)).astype(np.float32)
    out = np.full(16384 + 8192, np.nan, np.float32)
    kernels.views[(1,)](x, out)
    np.testing.assert_array_equal(out[:4096].reshape(64, 64), x.T)
    np.testing.assert_array_equal(out[4096:4608].reshape(32, 16), x[32:, 16:32])
    np.testing.assert_array_equal(out[8192:12288].reshape(64, 64), x)
    np.testing.assert_array_equal(out[12288:16384].reshape(64, 64), x)
    expected = np.arange(128)[:, None] * 100 + np.arange(64)[None, :]
    np.testing.assert_array_equal(out[16384:].reshape(128, 64), expected)
