"""Blocks tied to each other by `Inside` and `SameStart`, seen from outside as one rigid block.

Blocks that are tied together form a body. Its inside is arranged once, as low as possible; then it
is planned like a block of that size, live whenever any of its members is. A spec of storage
aliasing, with all its leaves, is such a body, and so is a buffer with its aliases::

    members                         body
    p |--------------------|        |--------------------|
    c     |------|                  live with p or c or d; aligned for all of them
    d             |---|

Mostly nothing is lost by that: if all other members are within one of them, the shell, with no
stricter alignment, and no block conflicts with a member without conflicting with the shell, then
the best plan of bodies is a best plan of blocks. `is_exact` is whether that holds for all bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import lcm

from tilewright.memory.planner.bound import loads_of, lower_bound
from tilewright.memory.planner.conflicts import Conflicts, Mask, conflicts_of, mask_of
from tilewright.memory.planner.oriented import OrientedSearch
from tilewright.memory.planner.problem import (
    Apart,
    Block,
    Inside,
    Live,
    MayOverlap,
    ProblemError,
    Relation,
    SameStart,
)

_INNER_NODES = 20_000


@dataclass(frozen=True)
class Body:
    """Some members at fixed distances from the start of one block that stands for them."""

    block: Block
    members: tuple[int, ...]
    distances: tuple[int, ...]
    is_exact: bool = True


@dataclass(frozen=True)
class Cover:
    """All blocks of a space as bodies, and the relations of pairs of bodies."""

    bodies: tuple[Body, ...]
    relations: tuple[Relation, ...]

    @property
    def is_exact(self) -> bool:
        """Whether a best plan of the bodies is a best plan of the blocks."""
        return all(body.is_exact for body in self.bodies)

    def spread(self, offsets: Sequence[int], count: int) -> list[int]:
        """The offsets of `count` blocks from those of the bodies."""
        found = [0] * count
        for body, offset in zip(self.bodies, offsets, strict=True):
            for member, distance in zip(body.members, body.distances, strict=True):
                found[member] = offset + distance
        return found


def cover_of(conflicts: Conflicts, relations: Sequence[Relation]) -> Cover | None:
    """The bodies of a space. None where fixed blocks or the time to arrange one do not allow it.

    Raises ProblemError where the members of a body cannot be arranged at all.
    """
    bodies: list[Body] = []
    for tied in _tied(conflicts.blocks, relations):
        body = _body(tied, conflicts, relations)
        if body is None:
            return None
        bodies.append(body)
    if any(map(_is_hit, combinations(bodies, 2))):
        return None
    return Cover(tuple(bodies), tuple(_pairs(bodies, conflicts)))


class Contradiction(ProblemError):
    """Relations that cannot hold together for their blocks, in whatever units they were given."""

    def __init__(
        self, relations: Sequence[Relation], what: str = "no arrangement satisfies"
    ) -> None:
        super().__init__(f"{what}: {'; '.join(map(str, relations))}")
        self.relations = tuple(relations)
        self.what = what


def ties(relations: Sequence[Relation]) -> list[Inside | SameStart]:
    """The relations that make a block's offset depend on another's."""
    return [r for r in relations if isinstance(r, Inside | SameStart)]


def _tied(blocks: Sequence[Block], relations: Sequence[Relation]) -> Iterator[tuple[int, ...]]:
    """Blocks that are tied together, directly or not, in the order of their first one."""
    group = {block.id: [index] for index, block in enumerate(blocks)}
    for relation in ties(relations):
        one, two = (group[id] for id in relation.pair)
        if one is not two:
            one.extend(two)
            for index in two:
                group[blocks[index].id] = one
    seen: set[int] = set()
    for indices in group.values():
        if indices[0] not in seen:
            seen.update(indices)
            yield tuple(sorted(indices))


def _body(
    tied: tuple[int, ...], conflicts: Conflicts, relations: Sequence[Relation]
) -> Body | None:
    blocks = [conflicts.blocks[index] for index in tied]
    if len(tied) == 1:
        return Body(blocks[0], tied, (0,))
    ids = {block.id for block in blocks}
    here = [relation for relation in relations if {*relation.pair} <= ids]
    inner = conflicts_of(blocks, here)
    loads = loads_of(blocks, inner.cliques)
    search = OrientedSearch(inner, here, loads, lower_bound(blocks, loads))
    search.run(_INNER_NODES)
    if search.best is None and search.is_exhausted:
        raise Contradiction(here)
    if search.best is None:
        return None
    start = min(search.best) if any(block.fixed is not None for block in blocks) else 0
    distances = tuple(offset - start for offset in search.best)
    block = Block(
        blocks[0].id,
        max(d + b.size for d, b in zip(distances, blocks, strict=True)),
        lcm(*(block.align for block in blocks)),
        blocks[0].space,
        _joined(blocks),
        fixed=start if any(block.fixed is not None for block in blocks) else None,
    )
    if block.fixed is not None:
        # Its members are where they have to be; the body itself has no alignment to keep.
        block = replace(block, align=1)
    return Body(block, tied, distances, _is_exact(block, tied, distances, conflicts))


def _joined(blocks: Sequence[Block]) -> Live:
    spans: list[tuple[int, int]] = []
    for start, end in sorted(span for block in blocks for span in block.live):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return tuple(spans)


def _is_exact(
    body: Block, tied: Sequence[int], distances: Sequence[int], conflicts: Conflicts
) -> bool:
    outside = ~mask_of(tied)
    around: Mask = 0
    for index in tied:
        around |= conflicts.adjacent[index]
    for index, distance in zip(tied, distances, strict=True):
        shell = conflicts.blocks[index]
        is_whole = distance == 0 and shell.size == body.size
        is_free = shell.fixed is not None or (body.fixed is None and shell.align == body.align)
        if is_whole and is_free and around & outside == conflicts.adjacent[index] & outside:
            return True
    return False


def _is_hit(pair: tuple[Body, Body]) -> bool:
    """Whether two bodies are fixed over each other: one of them would have to come apart."""
    (one, two) = (body.block for body in pair)
    if one.fixed is None or two.fixed is None:
        return False
    return one.fixed < two.fixed + two.size and two.fixed < one.fixed + one.size


def _pairs(bodies: Sequence[Body], conflicts: Conflicts) -> Iterator[Relation]:
    """Conflicts of bodies are those of their members, not those of their joined lifetimes."""
    live = conflicts_of([body.block for body in bodies])
    around = [sum_masks(conflicts.adjacent[member] for member in body.members) for body in bodies]
    masks = [mask_of(body.members) for body in bodies]
    for one, two in combinations(range(len(bodies)), 2):
        in_conflict = bool(around[one] & masks[two])
        ids = bodies[one].block.id, bodies[two].block.id
        if in_conflict and not live.between(one, two):
            yield Apart(*ids)
        if live.between(one, two) and not in_conflict:
            yield MayOverlap(*ids)


def sum_masks(masks: Iterator[Mask]) -> Mask:
    """The union of some sets."""
    union = 0
    for mask in masks:
        union |= mask
    return union
