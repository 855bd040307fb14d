"""Votes of warps on a tensor of truth values.

A thread votes yes if any element that it owns is true, and every element of the result is the
ballot of the warp that owns it. Which thread owns what is decided by the tensor's layout; here it
is the one that a tensor has by default, one element for each thread and rows first, which for a
column is also that of tensor memory: row r is owned by lane r % 32 of warp r // 32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.layouts.encodings import blocked_for
from tilewright.layouts.linear import LANE, WARP


def ballot(mask: Any, truths: Any, threads: int) -> Any:
    """The votes of a task of `threads` threads, of which those in `mask` take part."""
    warps, lanes, positions = _owners(truths.shape, threads // 32)
    votes = np.zeros(threads // 32, np.uint32)
    bits = truths.reshape(-1)[positions].astype(np.uint32) << lanes
    np.bitwise_or.at(votes, warps, bits)
    votes &= np.uint32(np.int64(mask) & 0xFFFFFFFF)
    result: Any = np.empty(truths.size, np.int32)
    result[positions] = votes.view(np.int32)[warps]
    return result.reshape(truths.shape)


@lru_cache(maxsize=64)
def _owners(shape: tuple[int, ...], num_warps: int) -> tuple[Any, Any, Any]:
    """Warp and lane of every element that a thread owns, and where it is in the tensor."""
    rank = len(shape)
    layout = blocked_for(shape, (1,) * rank, tuple(reversed(range(rank))), num_warps)
    points = list(layout.to_linear(shape).points())
    warps = np.array([inputs[WARP] for inputs, _ in points])
    lanes = np.array([inputs[LANE] for inputs, _ in points], np.uint32)
    positions = np.ravel_multi_index(
        tuple(zip(*(position for _, position in points), strict=True)), shape
    )
    return warps, lanes, positions
