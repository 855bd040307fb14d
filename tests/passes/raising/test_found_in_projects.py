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


@tw.jit
def linked(x_ptr, keys_ptr, out_ptr, n: tl.constexpr, stride: tl.constexpr):
    """Where to add is found by a loop inside of a branch."""
    row = tl.program_id(0)
    for i in range(n):
        key = tl.load(x_ptr + row * stride + i) // 2
        slot = 0
        found = 0
        if key == 0:
            found = 1
        else:
            expected = tl.load(keys_ptr + row * stride + key)
            for p in range(4):
                if found == 0:  # noqa: SIM102
                    if tl.load(x_ptr + row * stride + p) == expected:
                        slot = p + 1
                        found = 1
        if found == 1:
            seen = tl.load(out_ptr + row * stride + slot)
            tl.store(out_ptr + row * stride + slot, seen + i)


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


def test_an_index_that_only_a_branch_computes() -> None:
    """After the branch its value is there as the result of the branch alone."""
    x = np.array([[1, 3, 2, 2, 1, 9], [0, 5, 4, 6, 9, 8]], np.int32)
    raised = _compare(linked, (2,), x, x * 1.0, np.zeros((2, 6), np.int32), n=6, stride=6)
    assert [view.strides[0] for view in raised.plan.views if view.base.index == 2] == []
