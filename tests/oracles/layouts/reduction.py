"""How a reduction over one dimension of a fragment proceeds: alone first, then across threads.

Each thread adds up the parts it holds itself. What is left is spread over threads at regular
distances, written as counts and steps, the nearest first; one round of exchange per pair::

    wgmma accumulator, 64 x 128, over columns:  32 parts, then 4 threads 1 apart
    the same over rows:                          2 parts, then 8 threads 4 apart, then 4 32 apart

Steps inside a warp are shuffles; a group that reaches past a warp goes through shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tests.oracles.layouts.replication import mixed_radix
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import row_major
from tilewright.layouts.vectors import WARP_LANES


@dataclass(frozen=True)
class ReductionPattern:
    """What each thread does, and which threads then work together."""

    parts: int
    """The most parts of one result that a thread holds itself."""
    groups: tuple[tuple[int, int], ...]
    """Count and step of the threads to combine, nearest first; together they hold all parts."""
    warp_size: int = WARP_LANES

    @property
    def num_threads(self) -> int:
        """How many threads take part in one result."""
        return prod(count for count, _ in self.groups)

    @property
    def crosses_warps(self) -> bool:
        return any(count * step > self.warp_size for count, step in self.groups)

    @property
    def shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly for the groups inside a warp, nearest last."""
        masks = [
            step << bit
            for count, step in self.groups
            if count * step <= self.warp_size
            for bit in range(count.bit_length() - 1)
        ]
        return tuple(reversed(masks))


def reduction_pattern(
    fragment: Fragment, axis: int, warp_size: int = WARP_LANES
) -> ReductionPattern | None:
    """The pattern, if all results have the same one; None if they do not.

    Of an element with replicas every owner counts: each combines within its own set of parts, so
    the pattern is that of the first replica.
    """
    distances: list[int] | None = None
    registers = 0
    for threads in _threads_by_result(fragment, axis):
        first = min(threads)
        found = sorted({thread - first for thread in threads})
        if distances is not None and found != distances:
            return None
        distances = found
        registers = max(registers, max(map(threads.count, set(threads))))
    groups = mixed_radix(distances or [0])
    if groups is None or any(count & (count - 1) for count, _ in groups):
        return None
    parts = tuple(part for group in groups for part in _at_warps(*group, warp_size))
    return ReductionPattern(registers, parts, warp_size)


def _at_warps(count: int, step: int, lanes: int) -> list[tuple[int, int]]:
    """A group of threads, cut where it leaves the warp."""
    if step >= lanes or count * step <= lanes or lanes % step:
        return [(count, step)]
    return [(lanes // step, step), (count * step // lanes, lanes)]


def _threads_by_result(fragment: Fragment, axis: int) -> Iterator[list[int]]:
    """For each result, the threads of its parts (of the first replica)."""
    rest = [size for each, size in enumerate(fragment.shape) if each != axis]
    found: list[list[int]] = [[] for _ in range(prod(rest))]
    for point, threads in zip(fragment.points(), fragment.threads, strict=True):
        others = [value for each, value in enumerate(point) if each != axis]
        result: int = row_major(others, rest)
        found[result].append(threads[0])
    return iter(found)
