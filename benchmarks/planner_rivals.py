"""Two planners to compare with: first fit by size, and an online best fit as tilelang has it.

Both are written from their description, on blocks with one span and no relations, and know nothing
of the planner. `first_fit_by_size` takes the largest block first and puts it into the lowest gap
that is large enough. `online_best_fit` walks along time: what has ended is given back, a block that
starts takes the free hole it wastes least of, or else grows the hole at the top, or else goes on
top of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tilewright.memory.planner import Block

Offsets = dict[str, int]


def _up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _meet(one: Block, two: Block) -> bool:
    return any(s < other_e and other_s < e for s, e in one.live for other_s, other_e in two.live)


def first_fit_by_size(blocks: Sequence[Block]) -> Offsets:
    """Largest first, each as low as it goes."""
    offsets: Offsets = {}
    placed: list[Block] = []
    for block in sorted(blocks, key=lambda block: -block.size):
        offset = 0
        near = [(offsets[b.id], offsets[b.id] + b.size) for b in placed if _meet(b, block)]
        for start, end in sorted(near):
            if offset + block.size <= start:
                break
            offset = max(offset, _up(end, block.align))
        offsets[block.id] = offset
        placed.append(block)
    return offsets


def online_best_fit(blocks: Sequence[Block]) -> Offsets:
    """By start, larger first; a block with holes is taken as live throughout."""
    offsets: Offsets = {}
    holes: list[tuple[int, int]] = []
    active: list[tuple[int, int, int]] = []
    height = 0
    for block in sorted(blocks, key=lambda block: (_start(block), -block.size, block.id)):
        for _, start, size in [entry for entry in active if entry[0] <= _start(block)]:
            holes = _with_hole(holes, start, start + size)
        active = [entry for entry in active if entry[0] > _start(block)]
        fits = [hole for hole in holes if _up(hole[0], block.align) + block.size <= hole[1]]
        if fits:
            hole = min(fits, key=lambda hole: (hole[1] - hole[0] - block.size, hole[0]))
            holes.remove(hole)
        else:
            hole = (height, height)
            if holes and holes[-1][1] == height:
                hole = holes.pop()
        start = _up(hole[0], block.align)
        end = start + block.size
        for low, high in ((hole[0], start), (end, hole[1])):
            if low < high:
                holes = _with_hole(holes, low, high)
        height = max(height, end)
        offsets[block.id] = start
        active.append((max(e for _, e in block.live), start, block.size))
    return offsets


def _start(block: Block) -> int:
    return min(start for start, _ in block.live)


def _with_hole(holes: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """The holes and one more, joined where they touch."""
    joined = sorted([*holes, (low, high)])
    while touching := [(a, b) for a, b in pairwise(joined) if a[1] >= b[0]]:
        one, two = touching[0]
        joined = sorted(
            [h for h in joined if h not in (one, two)] + [(one[0], max(one[1], two[1]))]
        )
    return joined


def height(blocks: Sequence[Block], offsets: Offsets) -> int:
    """Where the topmost block ends."""
    return max(offsets[block.id] + block.size for block in blocks)
