"""Votes of warps, on one truth value and on tensors of them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def _vote(x, out, MASK: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + i, tlx.vote_ballot_sync(MASK, tl.load(x + i) < 1.0))


def _voted(x: np.ndarray, num_warps: int, mask: int = 0xFFFFFFFF) -> np.ndarray:
    out = np.full(x.shape, 77, np.int32)
    _vote[(1,)](x, out, mask, *x.shape, num_warps=num_warps)
    return out.view(np.uint32)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_a_ballot_on_a_tensor_is_that_of_the_warp_that_owns_the_element(num_warps: int) -> None:
    """One row for each thread; with more rows than threads a thread has several, with fewer they
    are owned by several warps."""
    rng = np.random.default_rng(num_warps)
    x = rng.integers(0, 9, (128, 1)).astype(np.float32)
    threads = 32 * num_warps
    votes = np.zeros(num_warps, np.uint32)
    for thread in range(threads):
        owned = x[thread::threads, 0] if threads < 128 else x[thread % 128 : thread % 128 + 1, 0]
        votes[thread // 32] |= np.uint32(bool((owned < 1).any())) << np.uint32(thread % 32)
    owner = np.arange(128) % threads // 32
    np.testing.assert_array_equal(_voted(x, num_warps)[:, 0], votes[owner])


def test_all_or_none() -> None:
    x = np.zeros((32, 16), np.float32)
    assert (_voted(x, 4) == 0xFFFFFFFF).all()
    assert (_voted(x, 4, mask=0x0000FFFF) == 0x0000FFFF).all()
    assert (_voted(x + 1, 4) == 0).all()


@tw.jit
def _in_a_task(x, out, N: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1)
        with tlx.async_task(num_warps=2):
            j = tl.arange(0, N)
            ballots = tlx.vote_ballot_sync(0xFFFFFFFF, tl.load(x + j) < 1.0)
            tl.store(out + 1 + j, ballots)


def test_a_task_votes_with_its_own_warps() -> None:
    x = np.ones(64, np.float32)
    x[40] = 0
    out = np.zeros(65, np.int32)
    _in_a_task[(1,)](x, out, 64)
    assert out[0] == 1
    assert (out[1:33] == 0).all()
    assert (out[33:] == 1 << 8).all()
