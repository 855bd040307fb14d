"""The default planner: aliases over their targets, the rest at the lowest free offset.

1. Each target takes its own aliases in, in order of registration, while there is space. This is
   what the compat policy does, so nothing below can make the result larger than that.
2. An alias left over tries the targets of its target, nearest first.
3. A block that is inside none goes to the lowest offset of its pool without a block that is live
   at the same time.

Then step 1 is tried once more with the best choice instead of the first: of a target's aliases,
those that together fill it best. That result is taken if it makes no pool larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, product
from typing import TypeAlias

from tilewright.memory.registry.planning import (
    Block,
    Live,
    Spot,
    Spots,
    extents,
    live_together,
)
from tilewright.memory.units import align_up

_MAX_ALIASES = 12
"""Of one target, for trying all choices; 4096 of them take milliseconds."""


class FirstFit:
    """See the module. Keeps no state; equal blocks in equal order give equal places."""

    def plan(self, blocks: Sequence[Block]) -> Spots:
        first, best = hostings(blocks)
        before, after = extents(blocks, first), extents(blocks, best)
        improved = after != before and all(x <= y for x, y in zip(after, before, strict=True))
        return best if improved else first


def hostings(blocks: Sequence[Block]) -> tuple[Spots, Spots]:
    """Both results: aliases in order of registration, and those that fill their targets best."""
    return _plan(blocks, _in_order), _plan(blocks, _best_filling)


class _Hosting:
    """Which block is inside which, and at which offset from the start of its host."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = {block.name: block for block in blocks}
        self.host: dict[str, str] = {}
        self.align = {block.name: block.align for block in blocks}
        self._inset: dict[str, int] = {}
        self._taken = dict.fromkeys(self.blocks, 0)

    def around(self, name: str) -> Iterator[str]:
        """`name`, its host, the host's host, up to the block that is inside none."""
        yield name
        while (outer := self.host.get(name)) is not None:
            yield outer
            name = outer

    def root(self, name: str) -> Block:
        *_, outermost = self.around(name)
        return self.blocks[outermost]

    def inset(self, name: str) -> int:
        """Bytes from the start of the outermost block."""
        return sum(self._inset.get(each, 0) for each in self.around(name))

    def enter(self, block: Block, host: str) -> bool:
        """Put `block` after the contents of `host`, if the host has an address and space."""
        if self.root(host).pool == "local":
            return False
        base = self.inset(host)
        start = align_up(base + self._taken[host], self.align[block.name]) - base
        if start + block.size > self.blocks[host].size:
            return False
        self.host[block.name] = host
        self._inset[block.name] = start
        self._taken[host] = start + block.size
        for outer in self.around(host):
            self.align[outer] = max(self.align[outer], self.align[block.name])
        return True


_Choice: TypeAlias = Callable[[_Hosting, Block, list[Block]], Sequence[Block]]


def _in_order(hosting: _Hosting, target: Block, aliases: list[Block]) -> Sequence[Block]:
    return aliases


def _best_filling(hosting: _Hosting, target: Block, aliases: list[Block]) -> Sequence[Block]:
    """The aliases whose bytes fill `target` best; bytes that would cost a pool count first."""
    if len(aliases) > _MAX_ALIASES:
        return aliases
    best: tuple[tuple[int, int], list[Block]] = ((-1, -1), [])
    # True before False: of equally good choices, the one with the earliest aliases.
    for taken in product((True, False), repeat=len(aliases)):
        chosen = list(compress(aliases, taken))
        end = hosting.inset(target.name)
        end_of_target = end + target.size
        for block in chosen:
            end = align_up(end, block.align) + block.size
        pooled = sum(block.size for block in chosen if block.pool != "local")
        score = (pooled, sum(block.size for block in chosen) - pooled)
        if end <= end_of_target and score > best[0]:
            best = (score, chosen)
    return best[1]


def _plan(blocks: Sequence[Block], choose: _Choice) -> Spots:
    hosting = _Hosting(blocks)
    for target in blocks:
        if hosting.root(target.name).pool == "local":
            continue
        aliases = [b for b in blocks if b.target == target.name and target.name in b.hosts]
        for block in choose(hosting, target, aliases):
            hosting.enter(block, target.name)
    for block in blocks:
        if block.name not in hosting.host:
            any(hosting.enter(block, host) for host in block.hosts)
    return _assign(blocks, hosting)


def _assign(blocks: Sequence[Block], hosting: _Hosting) -> Spots:
    lives = _lives_with_content(blocks, hosting)
    spots: dict[str, Spot] = {}
    for block in blocks:
        if block.name in hosting.host:
            continue
        if block.pool == "local":
            spots[block.name] = Spot("local")
            continue
        others = [hosting.blocks[name] for name, spot in spots.items() if spot.pool == block.pool]
        taken = [
            (spots[other.name].offset, spots[other.name].offset + other.size)
            for other in others
            if live_together(lives[other.name], lives[block.name])
        ]
        offset = _lowest_offset(block.size, hosting.align[block.name], taken)
        spots[block.name] = Spot(block.pool, offset)
    for block in blocks:
        if (host := hosting.host.get(block.name)) is not None:
            root = spots[hosting.root(block.name).name]
            spots[block.name] = Spot(root.pool, root.offset + hosting.inset(block.name), host)
    return spots


def _lives_with_content(blocks: Sequence[Block], hosting: _Hosting) -> dict[str, Live]:
    """An outermost block is in use while it or anything inside it is."""
    lives: dict[str, Live] = {}
    for block in blocks:
        root = hosting.root(block.name).name
        known = lives.get(root, ())
        lives[root] = None if known is None or block.live is None else known + block.live
    return lives


def _lowest_offset(size: int, align: int, taken: list[tuple[int, int]]) -> int:
    if size == 0:
        top = max((stop for _, stop in taken), default=0)
        return top - top % align
    offset = 0
    for start, stop in sorted(taken):
        if offset + size <= start:
            break
        if stop > offset:
            offset = align_up(stop, align)
    return offset
