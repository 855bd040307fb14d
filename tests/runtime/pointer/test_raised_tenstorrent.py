"""Raised kernels on the model of Tenstorrent: memory gets the shapes that the kernel sees."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.ir.diagnostics import CompileError


@tw.jit
def scaled(x_ptr, out_ptr, M, N, stride_x, stride_out, factor):
    rows = tl.program_id(0) * 32 + tl.arange(0, 32)[:, None]
    columns = tl.program_id(1) * 32 + tl.arange(0, 32)[None, :]
    inside = (rows < M) & (columns < N)
    x = tl.load(x_ptr + rows * stride_x + columns, mask=inside)
    tl.store(out_ptr + rows * stride_out + columns, x * factor, mask=inside)


@tw.jit
def twice(x_ptr, N):
    """Writes its memory as one tensor, and as another one that starts later."""
    at = tl.arange(0, 32)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < N) * 2, mask=at < N)
    tl.store(x_ptr + 32 + at, at.to(tl.float32), mask=at < N)


@tw.jit
def online_softmax(x_ptr, out_ptr, sum_ptr, N, stride, BLOCK: tl.constexpr):
    """Scalars that come from tiles, and that a loop carries."""
    row = tl.program_id(0)
    largest = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < N, other=-float("inf"))
        now = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - now) + tl.sum(tl.exp(x - now), axis=0)
        largest = now
    tl.store(sum_ptr + row, total)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < N, other=-float("inf"))
        tl.store(out_ptr + row * stride + at, tl.exp(x - largest) / total, mask=at < N)


@tw.jit
def decided_by_data(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + at), axis=0)
    if total > 0:
        tl.store(out_ptr + at, at.to(tl.float32))


@pytest.mark.parametrize("columns", [1, 64, 65, 203])
def test_scalars_that_come_from_tiles(columns: int) -> None:
    x = 3 * np.random.default_rng(columns).standard_normal((5, columns), dtype=np.float32)
    out, totals = np.full_like(x, 99), np.full(5, 99, np.float32)
    with tw.running(target="tenstorrent:wormhole"):
        online_softmax[(5,)](x, out, totals, columns, columns, BLOCK=64)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(totals, exact.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(out, exact / exact.sum(axis=1, keepdims=True), rtol=1e-5)


def test_scalars_of_tiles_that_decide_are_refused() -> None:
    x = np.ones(64, np.float32)
    with tw.running(target="tenstorrent:wormhole"), pytest.raises(CompileError) as failed:
        decided_by_data[(1,)](x, x.copy(), BLOCK=64)
    assert "decides about control flow" in str(failed.value)


@pytest.mark.parametrize("shape", [(1, 1), (33, 65), (64, 32)])
def test_padded_strides(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    memory = rng.standard_normal((shape[0], shape[1] + 5), dtype=np.float32)
    results = np.full((shape[0], shape[1] + 3), 7, np.float32)
    x, out = memory[:, : shape[1]], results[:, : shape[1]]
    strides = memory.shape[1], results.shape[1]
    grid = tw.cdiv(shape[0], 32), tw.cdiv(shape[1], 32)
    with tw.running(target="tenstorrent:wormhole"):
        for factor in (2.0, 3.0):
            scaled[grid](x, out, *shape, *strides, factor)
            np.testing.assert_array_equal(out, x * np.float32(factor))
    assert (results[:, shape[1] :] == 7).all()  # between the rows


def test_memory_that_is_written_is_one_tensor() -> None:
    x = np.ones(64, np.float32)
    with tw.running(target="tenstorrent:wormhole"), pytest.raises(CompileError) as failed:
        twice[(1,)](x, 32)
    assert "'x_ptr' is written, and seen with more than one shape" in str(failed.value)
    assert (x == 1).all()


def test_in_place() -> None:
    x = np.random.default_rng(0).standard_normal((70, 32), dtype=np.float32)
    expected = x * 2
    with tw.running(target="tenstorrent:wormhole"):
        scaled[(3, 1)](x, x, 70, 32, 32, 32, 2.0)
    np.testing.assert_array_equal(x, expected)


def test_arrays_that_are_too_small() -> None:
    x = np.ones((32, 32), np.float32)
    message = r"argument 'x_ptr': the kernel sees it with shape \(33, 32\) .*element 1055, and it has 1024"
    with tw.running(target="tenstorrent:wormhole"), pytest.raises(ValueError, match=message):
        scaled[(2, 1)](x, np.ones((33, 32), np.float32), 33, 32, 32, 32, 2.0)
