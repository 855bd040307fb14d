"""Indices that are negative before something is added: what is read there is not outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl


@tw.jit
def carried(x_ptr, out_ptr, last, steps, BLOCK: tl.constexpr):
    """The tile starts again after the last one; none is before the first."""
    lane = tl.arange(0, BLOCK)
    tile = -1
    for step in range(steps):
        tile = tl.where(tile == last, 0, tile + 1)
        x = tl.load(x_ptr + tile * BLOCK + lane)
        tl.store(out_ptr + step * BLOCK + lane, x)


@tw.jit
def loaded(x_ptr, at_ptr, out_ptr, stride, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    at = tl.load(at_ptr)
    rows = x_ptr + (at + 1) * stride + lane
    x = tl.load(rows, mask=lane < n, other=0.0) if MASKED else tl.load(rows)
    tl.store(out_ptr + lane, x)


@tw.jit
def beside_a_bound(x_ptr, at_ptr, out_ptr, n, skipped, BLOCK: tl.constexpr):
    """The mask compares the row, and the array has others before it."""
    rows = tl.load(at_ptr) + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + skipped + rows, mask=rows < n, other=0.0)
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


def _compare(kernel: Any, *arguments: Any, **constants: Any) -> None:
    with recorded() as launches:
        kernel[(1,)](*arguments, **constants)
    ((_, launch),) = launches
    compare(launch, schedules=2)


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_counter_that_begins_at_minus_one(last: int) -> None:
    x = np.arange(1, 65, dtype=np.float32)
    _compare(carried, x, np.full(80, np.nan, np.float32), last, 5, BLOCK=16)


@pytest.mark.parametrize("at", [-1, 0, 2])
@pytest.mark.parametrize("is_masked", [False, True])
def test_a_row_that_is_read_from_memory(at: int, is_masked: bool) -> None:
    x, rows = np.arange(1, 129, dtype=np.float32), np.array([at], np.int32)
    out = np.full(16, np.nan, np.float32)
    _compare(loaded, x, rows, out, 16, 11, BLOCK=16, MASKED=is_masked)


@pytest.mark.parametrize("at", [-3, 0, 2])
def test_a_bound_of_rows_that_may_be_negative(at: int) -> None:
    x, rows = np.arange(1, 65, dtype=np.float32), np.array([at], np.int32)
    _compare(beside_a_bound, x, rows, np.full(16, np.nan, np.float32), 10, 5, BLOCK=16)
