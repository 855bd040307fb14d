"""Kernels of the kind that other projects have, each with what was wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl
from tilewright.targets.cuda.compile import compile_module


@tw.jit
def segments(x_ptr, starts_ptr, out_ptr, n, ALIGNED: tl.constexpr, BLOCK: tl.constexpr):
    """A segment of rows is read from memory; its start is known to be a multiple."""
    segment = tl.program_id(0)
    start = tl.load(starts_ptr + segment)
    end = tl.load(starts_ptr + segment + 1)
    tl.multiple_of(start, ALIGNED)
    tl.multiple_of(end, ALIGNED)
    columns = tl.arange(0, BLOCK)
    for row in range(end - start):
        at = (start + row) * n + columns
        to = start * n + row + columns * (end - start)
        tl.store(out_ptr + to, tl.load(x_ptr + at, mask=columns < n), mask=columns < n)


@tw.jit
def largest(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """An atomic maximum of floats is one of two, by the sign."""
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + lane
    x = tl.load(x_ptr + at, mask=at < n, other=-float("inf"))
    tl.atomic_max(out_ptr, tl.max(x, 0))


def _compare(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> Any:
    with recorded() as launches:
        kernel[grid](*arguments, **constants)
    ((_, launch),) = launches
    return compare(launch, schedules=2)


@pytest.mark.parametrize("aligned", [1, 4, 8])
def test_a_scalar_from_memory_that_is_a_multiple(aligned: int) -> None:
    """Its symbol stands for the quotient: offsets were too large by that factor."""
    x = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    out = np.full_like(x, np.nan)
    starts = np.array([0, 8, 24, 40], np.int32)
    _compare(segments, (3,), x, starts, out, 5, ALIGNED=aligned, BLOCK=8)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_atomic_maximum_of_a_reduction(sign: int) -> None:
    """A branch on an element of a fragment is the same for all threads of the block."""
    x = sign * np.abs(np.random.default_rng(1).standard_normal(100)).astype(np.float32) - sign
    raised = _compare(largest, (2,), x, np.full(1, -np.inf, np.float32), 100, BLOCK=64)
    (kernel,) = compile_module(raised.module, "sm_90a").kernels.values()
    assert "atomic" in kernel.source
