"""Which blocks conflict: the blocks of one space as a graph, with cliques that bound its height.

After this file there is no time any more. Two blocks that must not overlap are adjacent; a clique
is a set of blocks that are pairwise in each other's way, so their sizes add up. The blocks live at
one instant are such a set (unless a relation lets some of them overlap), and only instants with a
largest set count::

    time  0   1   2   3   4        sections   {a} {a b} {b c} {c}
    a     +-------+                cliques        {a b} {b c}
    b         +-------+
    c             +-------+

Sets of blocks are integers, one bit a block: that makes unions and subset tests one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tilewright.memory.planner.problem import (
    Apart,
    Block,
    Inside,
    Live,
    MayOverlap,
    Relation,
    SameStart,
)

Mask = int
"""A set of block indices, bit by bit."""

_MAX_LOOKS = 30_000
"""How many blocks to look at, repeats counted, for all cliques; there may be very many of them."""

_MAX_CLIQUES_PER_BLOCK = 6
"""More would slow the search down by more than they help it."""


@dataclass(frozen=True)
class Conflicts:
    """Blocks of one space. `hulls` are intervals that overlap where two blocks are adjacent."""

    blocks: tuple[Block, ...]
    adjacent: tuple[Mask, ...]
    cliques: tuple[tuple[int, ...], ...]
    hulls: tuple[tuple[int, int], ...]

    def between(self, one: int, two: int) -> bool:
        """Whether two blocks must not overlap."""
        return bool(self.adjacent[one] >> two & 1)


def members(mask: Mask) -> Iterator[int]:
    """The indices in a set, smallest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(indices: Iterable[int]) -> Mask:
    """The set of some indices."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask


def conflicts_of(blocks: Sequence[Block], relations: Sequence[Relation] = ()) -> Conflicts:
    """The graph of some blocks of one space. Empty blocks conflict with none."""
    spans, sections = _sections([block.live if block.size else () for block in blocks])
    forced = [*_forced_pairs(blocks, relations)]
    waived = [0] * len(blocks)
    for one, two in _waived_pairs(blocks, relations):
        waived[one] |= 1 << two
        waived[two] |= 1 << one
    adjacent = _adjacency(spans, sections, waived, forced)
    weights = [block.size for block in blocks]
    # Of intervals, any number that overlap pairwise have a moment in common.
    is_plain = not forced and not any(waived) and all(len(cuts) <= 1 for cuts in spans)
    cliques = _cliques(sections, adjacent, weights, forced, is_plain)
    return Conflicts(tuple(blocks), tuple(adjacent), cliques, _hulls(spans, forced))


def _sections(lives: Sequence[Live]) -> tuple[list[list[tuple[int, int]]], list[Mask]]:
    """Time cut at every start and end: the sections each block is live in, and the live blocks."""
    points = sorted({point for live in lives for span in live for point in span})
    index = {point: position for position, point in enumerate(points)}
    spans = [sorted((index[start], index[end]) for start, end in live) for live in lives]
    sections = [0] * max(len(points) - 1, 0)
    for block, cuts in enumerate(spans):
        for start, end in cuts:
            for section in range(start, end):
                sections[section] |= 1 << block
    return spans, sections


def _forced_pairs(
    blocks: Sequence[Block], relations: Sequence[Relation]
) -> Iterator[tuple[int, int]]:
    """Pairs that a relation keeps apart, or that run concurrently in other partitions."""
    index = {block.id: position for position, block in enumerate(blocks)}
    apart = {frozenset(r.pair) for r in relations if isinstance(r, Apart)}
    for pair in sorted(sorted(index[id] for id in pair) for pair in apart):
        if all(blocks[one].size for one in pair):
            yield pair[0], pair[1]
    covered = {frozenset(pair) for pair in _waived_pairs(blocks, relations)}
    inside = [n for n, block in enumerate(blocks) if block.region is not None and block.size]
    for one, two in combinations(inside, 2):
        here, there = blocks[one].region, blocks[two].region
        assert here is not None and there is not None
        concurrent = here.name == there.name and here.partition != there.partition
        if concurrent and frozenset((one, two)) not in covered:
            yield one, two


def _waived_pairs(
    blocks: Sequence[Block], relations: Sequence[Relation]
) -> Iterator[tuple[int, int]]:
    """Pairs that may overlap while both are live. `Apart` wins over all of them."""
    index = {block.id: position for position, block in enumerate(blocks)}
    apart = {frozenset(r.pair) for r in relations if isinstance(r, Apart)}
    for pair in _covered(relations):
        if pair not in apart:
            one, two = sorted(index[id] for id in pair)
            yield one, two


def _covered(relations: Sequence[Relation]) -> list[frozenset[str]]:
    """Pairs related by MayOverlap, by a chain of SameStart, or by a chain of Inside."""
    found = {frozenset(r.pair): None for r in relations if isinstance(r, MayOverlap)}
    up: dict[str, set[str]] = {}
    same: dict[str, set[str]] = {}
    for relation in relations:
        if isinstance(relation, Inside):
            up.setdefault(relation.child, set()).add(relation.parent)
        if isinstance(relation, SameStart):
            same.setdefault(relation.a, set()).add(relation.b)
            same.setdefault(relation.b, set()).add(relation.a)
    for steps in (up, same):
        for start in steps:
            for end in _reach(start, steps):
                found[frozenset((start, end))] = None
    return list(found)


def _reach(start: str, steps: dict[str, set[str]]) -> list[str]:
    """What the steps lead to, the start itself not counted."""
    seen = {start: None}
    todo = [start]
    while todo:
        for next_one in sorted(steps.get(todo.pop(), ())):
            if next_one not in seen:
                seen[next_one] = None
                todo.append(next_one)
    return [*seen][1:]


def _adjacency(
    spans: Sequence[Sequence[tuple[int, int]]],
    sections: Sequence[Mask],
    waived: Sequence[Mask],
    forced: Iterable[tuple[int, int]],
) -> list[Mask]:
    found: list[Mask] = []
    for block, cuts in enumerate(spans):
        mask = 0
        for start, end in cuts:
            for section in range(start, end):
                mask |= sections[section]
        found.append(mask & ~waived[block] & ~(1 << block))
    for one, two in forced:
        found[one] |= 1 << two
        found[two] |= 1 << one
    return found


def _hulls(
    spans: Sequence[Sequence[tuple[int, int]]], forced: Iterable[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    hulls = [(cuts[0][0], max(end for _, end in cuts)) if cuts else (0, 1) for cuts in spans]
    for one, two in forced:
        first, second = sorted((one, two), key=lambda block: hulls[block])
        low, high = hulls[first]
        hulls[first] = (low, max(high, hulls[second][0] + 1))
    return tuple(hulls)


def _cliques(
    sections: Sequence[Mask],
    adjacent: Sequence[Mask],
    weights: Sequence[int],
    forced: Iterable[tuple[int, int]],
    is_plain: bool,
) -> tuple[tuple[int, ...], ...]:
    """All largest cliques, or where those are too many the known ones: sections and pairs."""
    placed = mask_of(block for block, weight in enumerate(weights) if weight)
    largest = None if is_plain else _every_clique(adjacent, placed)
    if largest is None:
        found = [*sections]
        if not is_plain:
            heavy = sorted(members(placed), key=lambda block: -weights[block])
            found = [clique for s in sections for clique in _split(s, adjacent, heavy)]
            found += [_grow(1 << one | 1 << two, adjacent, heavy) for one, two in forced]
        largest = _largest(found, placed)
    return tuple(tuple(members(mask)) for mask in largest)


def _every_clique(adjacent: Sequence[Mask], placed: Mask) -> list[Mask] | None:
    """All sets of pairwise adjacent blocks that cannot grow; None where they are too many.

    Bron and Kerbosch (1973): with a `pivot`, the next member is the pivot or not adjacent to it.
    """
    found: list[Mask] = []
    todo = [(0, placed, 0)] if placed else []
    looks = 0
    while todo:
        clique, candidates, seen = todo.pop()
        looks += (candidates | seen).bit_count()
        if looks > _MAX_LOOKS or len(found) > _MAX_CLIQUES_PER_BLOCK * len(adjacent):
            return None
        if not candidates and not seen:
            found.append(clique)
            continue
        pivot = max(
            members(candidates | seen), key=lambda n: ((candidates & adjacent[n]).bit_count(), -n)
        )
        for block in members(candidates & ~adjacent[pivot]):
            near = adjacent[block]
            todo.append((clique | 1 << block, candidates & near, seen & near))
            candidates &= ~(1 << block)
            seen |= 1 << block
    return found


def _split(section: Mask, adjacent: Sequence[Mask], heavy: Sequence[int]) -> Iterator[Mask]:
    """Cliques that together hold every member of a section, heavy blocks first."""
    left = section
    for seed in heavy:
        if left >> seed & 1:
            clique = _grow(1 << seed, adjacent, heavy, section)
            yield _grow(clique, adjacent, heavy)
            left &= ~clique


def _grow(clique: Mask, adjacent: Sequence[Mask], heavy: Sequence[int], within: Mask = -1) -> Mask:
    """A clique made larger by members of `within`, heaviest first."""
    candidates = within
    for block in members(clique):
        candidates &= adjacent[block]
    for block in heavy:
        if candidates >> block & 1:
            clique |= 1 << block
            candidates &= adjacent[block]
    return clique


def _largest(masks: Sequence[Mask], placed: Mask) -> list[Mask]:
    """The sets that are not part of another, in the order they came; others are alone."""
    thin: list[Mask] = []
    alone = placed
    for mask in masks:
        alone &= ~mask
    for mask in [*filter(None, masks), *(1 << block for block in members(alone))]:
        if thin and mask & thin[-1] == mask:
            continue
        if thin and thin[-1] & mask == thin[-1]:
            thin.pop()
        thin.append(mask)
    thin = list(dict.fromkeys(thin))
    return [m for m in thin if not any(m & other == m and m != other for other in thin)]
