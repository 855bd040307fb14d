"""Tiles that are stored overlap buffers of the user where those are free."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl, tlx
from tilewright.targets.cuda.compile import compile_module

SIZE = 128
FORMS = ("waits", "flies", "again", "loop")
"""All copies have landed before the store; or not; the buffer is read afterwards; both in a loop."""


@tw.jit
def multiplied(a_ptrs, b_ptrs, a, b, N: tl.constexpr):
    tlx.async_load(a_ptrs, a)
    tlx.async_load(b_ptrs, b)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    acc = tlx.async_dot(a, b, tl.zeros((N, N), dtype=tl.float32))
    return tlx.async_dot_wait(0, acc).to(tl.float16)


@tw.jit
def multiply(a_ptr, b_ptr, c_ptr, d_ptr, N: tl.constexpr, COPIES: tl.constexpr, FORM: tl.constexpr):
    """The buffers take more than half of what a block has."""
    rows = tl.arange(0, N)
    at = rows[:, None] * N + rows[None, :]
    tiles = tlx.local_alloc((N, N), tl.float16, COPIES)
    if FORM == "loop":
        for _ in tl.range(0, 2, num_stages=0):
            tl.store(c_ptr + at, multiplied(a_ptr + at, b_ptr + at, tiles[0], tiles[1], N))
    else:
        result = multiplied(a_ptr + at, b_ptr + at, tiles[0], tiles[1], N)
        if FORM == "flies":
            tlx.async_load(a_ptr + at, tiles[2])
            tlx.async_load_commit_group()
        tl.store(c_ptr + at, result)
        if FORM == "again":
            tl.store(d_ptr + at, tlx.local_load(tiles[0]))
    tlx.async_load_wait_group(0)


def _staged(form: str, copies: int) -> bool:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (SIZE, SIZE)).astype(np.float16) for _ in range(2))
    c, d = (np.full((SIZE, SIZE), np.nan, np.float16) for _ in range(2))
    with recorded() as launches:
        multiply[(1,)](a, b, c, d, N=SIZE, COPIES=copies, FORM=form, num_warps=4)
    ((_, launch),) = launches
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b).astype(np.float16))
    raised = compare(launch, schedules=2)
    (kernel,) = compile_module(raised.module, "sm_90a").kernels.values()
    assert kernel.cubin[:4] == b"\x7fELF"
    return bool(raised.plan.staged)


@pytest.mark.parametrize("form", FORMS)
def test_a_tile_that_fits_beside_them(form: str) -> None:
    assert _staged(form, 3)


@pytest.mark.parametrize("form", FORMS)
def test_a_tile_that_does_not_fit_beside_them(form: str) -> None:
    """224 KB without the tile: it needs the bytes of buffers that are free."""
    assert _staged(form, 7) == (form == "waits")
