"""Heights nobody can get below: what the blocks of one clique take together.

The sum of sizes is such a bound. Alignment makes it larger: blocks that all start at multiples of
`a` have their starts at least ``size rounded up to a`` apart, whatever lies in the padding, so

    height >= sum of rounded sizes - largest padding        (only the topmost block need not round)

holds for the members of a clique with an alignment that is a multiple of `a`. Each such sum is a
`Load`; the exact search uses the same loads, with what it has already placed, to give up early.
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
    def least(self) -> int:
        """The least height that holds all members."""
        return sum(self.weights) - self.spare


def rounded_up(number: int, step: int) -> int:
    """The least multiple of `step` that is not below `number`."""
    return -(-number // step) * step


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
            yield _load(strict, blocks, step)


def _load(members: Sequence[int], blocks: Sequence[Block], step: int) -> Load:
    sizes = [blocks[member].size for member in members]
    weights = [rounded_up(size, step) for size in sizes]
    spare = max(weight - size for weight, size in zip(weights, sizes, strict=True))
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
        return load.least
    top = 0
    for start, weight in sorted(zip(starts, load.weights, strict=True)):
        top = max(top, start) + weight
    return top - load.spare
