"""Reductions: what a thread adds up alone, and with which threads it combines the rest."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.layouts.block_fragments import mma_accumulator, wgmma_accumulator
from tests.oracles.layouts.partition import partition
from tests.oracles.layouts.reduction import ReductionPattern, reduction_pattern
from tilewright.layouts.fragment import Fragment


def simulate(fragment: Fragment, axis: int, pattern: ReductionPattern) -> None:
    """Add up random values by the pattern; every owner must end with the right sum."""
    data = np.random.default_rng(7).integers(0, 1000, fragment.shape)
    expected = data.sum(axis=axis)
    private: dict[tuple[tuple[int, ...], int], int] = {}
    for point, threads in zip(fragment.points(), fragment.threads, strict=True):
        rest = tuple(v for each, v in enumerate(point) if each != axis)
        key = rest, threads[0]
        private[key] = private.get(key, 0) + int(data[point])
    for count, step in pattern.groups:
        after: dict[tuple[tuple[int, ...], int], int] = {}
        for rest, thread in private:
            digit = thread // step % count
            partners = [thread + (other - digit) * step for other in range(count)]
            after[rest, thread] = sum(private[rest, partner] for partner in partners)
        private = after
    for (rest, _), value in private.items():
        assert value == expected[rest]


@pytest.mark.parametrize(
    ("fragment", "axis", "parts", "groups"),
    [
        (wgmma_accumulator((64, 128)), 1, 32, ((4, 1),)),
        (wgmma_accumulator((64, 128)), 0, 2, ((8, 4), (4, 32))),
        (wgmma_accumulator((128, 176), (2, 1)), 1, 44, ((4, 1),)),
        (mma_accumulator((64, 96), (2, 2)), 1, 12, ((4, 1), (2, 32))),
        (mma_accumulator((64, 96), (2, 2)), 0, 4, ((8, 4), (2, 64))),
        (partition((8, 256), 128, 4), 1, 4, ((32, 1), (2, 32))),
        (partition((128, 16), 128, 4), 0, 4, ((8, 4), (4, 32))),
        (Fragment((64,), lambda i: i // 2, lambda i: i % 2), 0, 2, ((32, 1),)),
        (Fragment((4, 4), lambda i, j: i, lambda i, j: j), 1, 4, ()),
    ],
)
def test_patterns(fragment: Fragment, axis: int, parts: int, groups: tuple[tuple[int, int], ...]):
    pattern = reduction_pattern(fragment, axis)
    assert pattern == ReductionPattern(parts, groups)
    simulate(fragment, axis, pattern)


def test_shuffles_and_warps():
    rows = reduction_pattern(wgmma_accumulator((64, 64)), 0)
    assert rows is not None
    assert rows.shuffles == (16, 8, 4)
    assert rows.crosses_warps
    assert rows.num_threads == 32
    whole = reduction_pattern(Fragment((96, 2), lambda i, j: i, lambda i, j: j), 1)
    assert whole == ReductionPattern(2, ())
    columns = reduction_pattern(wgmma_accumulator((64, 64)), 1)
    assert columns is not None
    assert (columns.shuffles, columns.crosses_warps) == ((2, 1), False)


def test_waves_of_64_lanes_exchange_twice_as_far():
    fragment = partition((8, 256), 128, 4)
    pattern = reduction_pattern(fragment, 1, warp_size=64)
    assert pattern == ReductionPattern(4, ((64, 1),), 64)
    assert (pattern.shuffles, pattern.crosses_warps) == ((32, 16, 8, 4, 2, 1), False)
    simulate(fragment, 1, pattern)
    rows = reduction_pattern(partition((128, 16), 128, 4), 0, warp_size=64)
    assert rows == ReductionPattern(4, ((16, 4), (2, 64)), 64)
    assert rows.crosses_warps


def test_results_with_different_patterns_have_none():
    ragged = Fragment((2, 4), lambda i, j: i * 8 + j * (i + 1), lambda i, j: 0)
    assert reduction_pattern(ragged, 1) is None
    odd = Fragment((2, 3), lambda i, j: 3 * i + j, lambda i, j: 0)
    assert reduction_pattern(odd, 1) is None


def test_replicas_combine_within_their_own_set():
    twice = wgmma_accumulator((64, 16)).replicate(2)
    assert reduction_pattern(twice, 1) == ReductionPattern(4, ((4, 1),))
