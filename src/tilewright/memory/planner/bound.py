"""Lower bounds of the height: what the blocks of one clique take together.

The sum of sizes is such a bound. Alignment makes it larger. Take the *strict* members of a clique,
whose alignments are multiples of some `a`. From the start of one to the start of the next it is a
multiple of `a`, and what is between them above the lower one goes into its padding only as far
as it is not a multiple of `a` itself::

    0         a         2a        3a        4a
    |strict---|---....loose--------...|strict

so with sizes of strict members rounded up and sizes of the others rounded down to multiples of `a`

    height >= sum of rounded sizes - largest padding       (above the topmost nothing is rounded)

Each such sum is a `Load`; the exact search uses the same loads, with what it has already placed, to
give up early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from tilewright.memory.planner.problem import Block


@dataclass(frozen=True)
class Load:
    """Blocks that exclude each other, what each takes at least, and what the top one may save."""

    members: tuple[int, ...]
    weights: tuple[int, ...]
    spare: int = 0

    @property
    def minimum(self) -> int:
        """The least height that holds all members."""
        return sum(self.weights) - self.spare


def rounded_up(value: int, step: int) -> int:
    """The least multiple of `step` that is not below `value`."""
    return -(-value // step) * step


def loads_of(blocks: Sequence[Block], cliques: Sequence[Sequence[int]]) -> tuple[Load, ...]:
    """The loads of every clique: one for all members, and one for each stricter alignment."""
    found: dict[Load, None] = {}
    for clique in cliques:
        found.update(dict.fromkeys(_clique_loads(clique, blocks)))
    return tuple(found)


def _clique_loads(clique: Sequence[int], blocks: Sequence[Block]) -> Iterator[Load]:
    common = gcd(*(blocks[member].align for member in clique))
    yield _load(clique, blocks, common)
    for step in sorted({blocks[member].align for member in clique}):
        strict = [member for member in clique if blocks[member].align % step == 0]
        is_rounded = any(blocks[member].size % step for member in strict)
        if step != common and is_rounded and len(strict) > 1:
            yield _load(clique, blocks, step)


def _load(clique: Sequence[int], blocks: Sequence[Block], step: int) -> Load:
    members: list[int] = []
    weights: list[int] = []
    spare = 0
    for member in clique:
        size = blocks[member].size
        is_strict = blocks[member].align % step == 0
        weight = rounded_up(size, step) if is_strict else size // step * step
        if weight:
            members.append(member)
            weights.append(weight)
            spare = max(spare, weight - size)
    return Load(tuple(members), tuple(weights), spare)


def lower_bound(
    blocks: Sequence[Block], loads: Sequence[Load], floors: Sequence[int] | None = None
) -> int:
    """The height no plan of these blocks can get below; `floors` are their lowest offsets."""
    floors = [block.fixed or 0 for block in blocks] if floors is None else floors
    tops = [floor + block.size for floor, block in zip(floors, blocks, strict=True)]
    return max([0, *tops, *(_reached(load, floors) for load in loads)])


def _reached(load: Load, floors: Sequence[int]) -> int:
    """The least top of a load whose members are stacked in the order of their floors."""
    starts = [floors[member] for member in load.members]
    if not any(starts):
        return load.minimum
    top = 0
    for start, weight in sorted(zip(starts, load.weights, strict=True)):
        top = max(top, start) + weight
    return top - load.spare
