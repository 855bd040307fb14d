"""Independent parts of a space, each small enough to be searched.

Blocks that are not connected by any conflict are independent: the height of the space is that of
its highest part. At an instant without a live block a space falls apart, and so it does wherever no
conflict connects two sets. Every part is renumbered from 0, and fixed blocks become obstacles::

    offsets a movable block cannot take        fixed block       low < offset < high
                                               f .. f + s        low = f - size, high = f + s

so that no later stage has to handle fixed blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.memory.planner.bound import Load, loads_of, lower_bound
from tilewright.memory.planner.conflicts import Conflicts, Mask, members
from tilewright.memory.planner.problem import Block

Obstacle = tuple[int, int]


@dataclass(frozen=True)
class SubProblem:
    """One connected part. `indices` are the blocks' indices in the space, by their index here.

    A block's floor is its lowest offset among the obstacles, or the fixed one.
    """

    indices: tuple[int, ...]
    blocks: tuple[Block, ...]
    adjacent: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[int, ...], ...]
    loads: tuple[Load, ...]
    hulls: tuple[tuple[int, int], ...]
    obstacles: tuple[tuple[Obstacle, ...], ...]
    floors: tuple[int, ...]
    bound: int

    @property
    def movable(self) -> list[int]:
        """The blocks that still have to be placed."""
        return [n for n, block in enumerate(self.blocks) if block.fixed is None]

    def height(self, offsets: Sequence[int]) -> int:
        """Where the topmost block ends."""
        return max(offset + block.size for offset, block in zip(offsets, self.blocks, strict=True))


def parts_of(conflicts: Conflicts) -> tuple[SubProblem, ...]:
    """The connected parts of a space, in the order of their first block; empty blocks left out."""
    return tuple(_part(conflicts, mask) for mask in _components(conflicts))


def _components(conflicts: Conflicts) -> Iterator[Mask]:
    left = 0
    for index, block in enumerate(conflicts.blocks):
        left |= (block.size > 0) << index
    while left:
        found = 0
        edge = left & -left
        while edge:
            found |= edge
            reached = 0
            for index in members(edge):
                reached |= conflicts.adjacent[index]
            edge = reached & ~found
        yield found
        left &= ~found


def _part(conflicts: Conflicts, mask: Mask) -> SubProblem:
    indices = tuple(members(mask))
    here = {index: position for position, index in enumerate(indices)}
    blocks = tuple(conflicts.blocks[index] for index in indices)
    adjacent = tuple(
        tuple(here[other] for other in members(conflicts.adjacent[index])) for index in indices
    )
    cliques = tuple(
        tuple(here[n] for n in clique) for clique in conflicts.cliques if clique[0] in here
    )
    hulls = tuple(conflicts.hulls[index] for index in indices)
    loads = loads_of(blocks, cliques)
    obstacles = tuple(
        tuple(_obstacles(block, blocks, near)) for block, near in zip(blocks, adjacent, strict=True)
    )
    floors = tuple(
        next_free(0, block.align, around) if block.fixed is None else block.fixed
        for block, around in zip(blocks, obstacles, strict=True)
    )
    bound = lower_bound(blocks, loads, floors)
    return SubProblem(indices, blocks, adjacent, cliques, loads, hulls, obstacles, floors, bound)


def _obstacles(
    block: Block, blocks: Sequence[Block], adjacent: Sequence[int]
) -> Iterator[Obstacle]:
    """The ranges a movable block cannot start in, lowest first, joined where they are adjacent."""
    if block.fixed is not None:
        return
    fixed = [other for n in adjacent if (other := blocks[n]).fixed is not None]
    raw = sorted(
        (other.fixed - block.size, other.fixed + other.size)
        for other in fixed
        if other.fixed is not None
    )
    low, high = raw[0] if raw else (0, 0)
    for next_low, next_high in raw[1:]:
        # Open intervals: an offset equal to both ends is free, so only a real overlap joins.
        if next_low < high:
            high = max(high, next_high)
            continue
        yield low, high
        low, high = next_low, next_high
    if raw:
        yield low, high


def next_free(offset: int, align: int, obstacles: Sequence[Obstacle]) -> int:
    """The lowest aligned offset, from `offset` upwards, that no obstacle forbids."""
    offset = -(-offset // align) * align
    for low, high in obstacles:
        if low < offset < high:
            offset = -(-high // align) * align
    return offset
