"""The strict policy's planner: first fit, and the general planner wherever that gets lower.

`FirstFit` decides which aliases are inside which targets. With that fixed the rest is a problem for
`memory.planner`: every buffer is a block, an alias is `Inside` its host and `Apart` from the other
aliases there, and scratch of a child is live while the child is called::

    own            always      |own..|
    first          0..2              |first...............|
    over, in first always            |over..|
    second         2..4                     |second..|         around over, over the rest of first

Three nestings are tried: the two of first fit, and no block inside another,
which is better where calls already keep a target and its alias apart. A pool is planned again only
where that makes it smaller, so without calls and gaps layouts stay those of first fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from tilewright.memory import planner
from tilewright.memory.registry.first_fit import FirstFit, hostings
from tilewright.memory.registry.planning import Block, Spots, extents

Hosts: TypeAlias = Mapping[str, str]
"""Which block is inside which, by name."""

_POOLS = ("shared", "persistent")

_MAX_LOOSE = 16
"""Aliases in one pool that may move inside their hosts; of more, all stay where first fit has them.

Each one adds a relation to every other of its host, and the search is exponential in those."""


@dataclass(frozen=True)
class GeneralPlanner:
    """See the module. `effort` is that of `plan_problem`; equal blocks give equal places."""

    effort: planner.Effort | str = "default"

    def plan(self, blocks: Sequence[Block]) -> Spots:
        best = FirstFit().plan(blocks)
        for start in _starts(blocks, best):
            if _is_tight(blocks, start):
                continue
            try:
                found = self._planned(blocks, start)
            except planner.ProblemError:
                continue  # the effort was too small for aliases as tangled as these
            before, after = extents(blocks, best), extents(blocks, found)
            if after != before and all(x <= y for x, y in zip(after, before, strict=True)):
                best = found
        return best

    def _planned(self, blocks: Sequence[Block], start: Spots) -> Spots:
        """`start` with every pool planned again that gets smaller by it."""
        plan = planner.plan_problem(problem_of(blocks, start), self.effort)
        moved = {
            name: replace(spot, offset=plan.offsets.get(name, 0)) for name, spot in start.items()
        }
        before, after = extents(blocks, start), extents(blocks, moved)
        smaller = {pool for pool, x, y in zip(_POOLS, after, before, strict=False) if x < y}
        return {name: moved[name] if spot.pool in smaller else spot for name, spot in start.items()}


def problem_of(blocks: Sequence[Block], start: Spots) -> planner.Problem:
    """The blocks in pools, inside the hosts that `start` gives them."""
    pooled = [block for block in blocks if start[block.name].pool != "local"]
    relations: list[planner.Relation] = []
    for pool in _POOLS:
        inside = [b for b in pooled if start[b.name].pool == pool and start[b.name].host]
        relations += _relations(inside, start, is_loose=len(inside) <= _MAX_LOOSE)
    return planner.Problem(
        tuple(planner.Space(pool) for pool in _POOLS),
        tuple(
            planner.Block(
                block.name,
                block.size,
                block.align,
                start[block.name].pool,
                planner.ALWAYS if block.live is None else block.live,
            )
            for block in pooled
        ),
        tuple(relations),
    )


def _relations(
    inside: Sequence[Block], start: Spots, *, is_loose: bool
) -> Iterator[planner.Relation]:
    for block in inside:
        host = start[block.name].host or ""
        inset = start[block.name].offset - start[host].offset
        yield planner.Inside(block.name, host, None if is_loose else inset)
    for one, other in combinations(inside if is_loose else (), 2):
        if start[one.name].host == start[other.name].host and one.size and other.size:
            yield planner.Apart(one.name, other.name)


def _starts(blocks: Sequence[Block], best: Spots) -> Iterator[Spots]:
    """Nestings, each once, that of first fit first."""
    seen: list[Hosts] = []
    nestings = [best, *hostings(blocks)]
    if any(block.live is not None for block in blocks):
        nestings.append(FirstFit().plan([replace(b, target=None, hosts=()) for b in blocks]))
    for spots in nestings:
        hosts = {name: spot.host for name, spot in spots.items() if spot.host is not None}
        if hosts not in seen:
            seen.append(hosts)
            yield spots


def _is_tight(blocks: Sequence[Block], spots: Spots) -> bool:
    """Whether nothing can be gained: all live always, and no gap between outermost blocks."""
    if any(block.live is not None for block in blocks):
        return False
    outermost = [block for block in blocks if spots[block.name].host is None]
    return all(
        extent == sum(block.size for block in outermost if block.pool == pool)
        for pool, extent in zip(_POOLS, extents(blocks, spots), strict=False)
    )
