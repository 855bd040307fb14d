"""The planner interface of the strict policy, and the check of every result.

A planner gets the buffers of one component as `Block`s, in bytes, and returns a `Spot` for
each: an offset in one of the pools, or inside one of its alias targets. Anything with a
``plan`` method of this shape will do; `FirstFit` is the one used unless another is given.

Two blocks of one pool may overlap only if one of them is inside the other, or if they are never
live together. Blocks inside the same host are apart, whatever their live ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, TypeAlias

from tilewright.memory.registry.buffer import Pool

Live: TypeAlias = tuple[tuple[int, int], ...] | None
"""Half-open intervals of the component's time: none of them for never, None for always."""


class PlanError(ValueError):
    """A planner's result that would let one buffer overwrite another."""


@dataclass(frozen=True)
class Block:
    """One buffer in bytes. `hosts` are the alias targets it may be inside of, nearest first."""

    name: str
    size: int
    align: int
    pool: Pool
    target: str | None = None
    hosts: tuple[str, ...] = ()
    live: Live = None

    def __str__(self) -> str:
        over = f" over {' or '.join(self.hosts)}" if self.hosts else ""
        return f"{self.name}: {self.size} bytes by {self.align}, {self.pool}{over}"


@dataclass(frozen=True)
class Spot:
    """The position of a block: `offset` counts from the start of the pool, also inside a host."""

    pool: Pool
    offset: int = 0
    host: str | None = None


Spots: TypeAlias = Mapping[str, Spot]


class Planner(Protocol):
    """Places blocks, which come with targets before their aliases, and in a fixed order."""

    def plan(self, blocks: Sequence[Block]) -> Spots: ...


def live_together(a: Live, b: Live) -> bool:
    if a is None or b is None:
        # What is always live overlaps everything but what never is.
        return a != () and b != ()
    return any(x[0] < y[1] and y[0] < x[1] for x in a for y in b)


def extents(blocks: Sequence[Block], spots: Spots) -> tuple[int, int, int]:
    """Bytes of the shared pool, of the persistent pool, and of all local arrays together."""
    sizes = {"shared": 0, "persistent": 0, "local": 0}
    for block in blocks:
        spot = spots[block.name]
        if spot.pool == "local":
            sizes["local"] += block.size
        else:
            sizes[spot.pool] = max(sizes[spot.pool], spot.offset + block.size)
    return sizes["shared"], sizes["persistent"], sizes["local"]


def check_spots(blocks: Sequence[Block], spots: Spots) -> None:
    """Raise PlanError unless every block has a valid offset."""
    by_name = {block.name: block for block in blocks}
    if by_name.keys() != spots.keys():
        odd = sorted(by_name.keys() ^ spots.keys())
        raise PlanError(f"planner: not placed exactly once: {', '.join(odd)}")
    for block in blocks:
        _check_spot(block, by_name, spots)
    for one, other in combinations(blocks, 2):
        _check_pair(one, other, spots)


def _check_spot(block: Block, blocks: Mapping[str, Block], spots: Spots) -> None:
    spot = spots[block.name]
    if spot.host is None:
        if spot.pool != block.pool:
            raise PlanError(f"planner: '{block.name}' belongs to {block.pool}, not {spot.pool}")
    else:
        _check_host(block, blocks[spot.host], spots)
    # An empty view is anchored at 0 when it is made, so its offset need not be aligned.
    if spot.offset < 0 or (block.size and spot.offset % block.align):
        raise PlanError(
            f"planner: '{block.name}' needs a multiple of {block.align}, not {spot.offset}"
        )


def _check_host(block: Block, host: Block, spots: Spots) -> None:
    spot, around = spots[block.name], spots[host.name]
    if host.name not in block.hosts or around.pool == "local" or spot.pool != around.pool:
        raise PlanError(f"planner: '{block.name}' cannot be inside '{host.name}'")
    end = spot.offset + block.size
    if not around.offset <= spot.offset <= end <= around.offset + host.size:
        raise PlanError(f"planner: '{block.name}' extends past the end of '{host.name}'")


def _check_pair(one: Block, other: Block, spots: Spots) -> None:
    a, b = spots[one.name], spots[other.name]
    if a.pool != b.pool or a.pool == "local":
        return
    if min(a.offset + one.size, b.offset + other.size) <= max(a.offset, b.offset):
        return
    if one.name in _hosts_of(other.name, spots) or other.name in _hosts_of(one.name, spots):
        return
    siblings = a.host is not None and a.host == b.host
    if siblings or live_together(one.live, other.live):
        raise PlanError(f"planner: '{one.name}' and '{other.name}' overlap in {a.pool} memory")


def _hosts_of(name: str, spots: Spots) -> Iterator[str]:
    host = spots[name].host
    while host is not None:
        yield host
        host = spots[host].host
