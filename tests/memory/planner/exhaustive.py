"""The least height by trying everything, and random problems small enough for that.

Every pair of blocks is judged by the words of the problem's description, moment by moment. Without
ties, every order of the blocks is tried, each block as low as it goes: one of these orders is that
of a lowest plan. With `Inside` or `SameStart`, every offset of every block is tried.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import gcd

from tilewright.memory.planner import (
    Apart,
    AsyncRegion,
    Block,
    Inside,
    MayOverlap,
    Problem,
    Relation,
    SameStart,
    Space,
)

SMEM = Space("smem")


def may_touch(one: Block, two: Block, relations: Sequence[Relation]) -> bool:
    """Whether two blocks are allowed to overlap."""
    pair = {one.id, two.id}
    if any(isinstance(r, Apart) and {*r.pair} == pair for r in relations):
        return False
    if any(isinstance(r, MayOverlap) and {*r.pair} == pair for r in relations):
        return True
    if _linked(one.id, two.id, relations, SameStart) or _linked(
        two.id, one.id, relations, SameStart
    ):
        return True
    if _linked(one.id, two.id, relations, Inside) or _linked(two.id, one.id, relations, Inside):
        return True
    if (
        one.region
        and two.region
        and one.region.name == two.region.name
        and one.region != two.region
    ):
        return False
    moments = {t for s, e in one.live for t in range(s, e)}
    return moments.isdisjoint(t for s, e in two.live for t in range(s, e))


def _linked(start: str, goal: str, relations: Sequence[Relation], kind: type[Relation]) -> bool:
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for relation in relations:
            if not isinstance(relation, kind):
                continue
            a, b = relation.pair
            steps = [b] if a == here else [a] if b == here and kind is SameStart else []
            todo += [step for step in steps if step not in seen]
            seen.update(steps)
    return goal in seen


def least_height(problem: Problem, most: int) -> int | None:
    """The least height of a problem with one space; None where nothing up to `most` works.

    Heights count whole steps of what all alignments have in common.
    """
    blocks, relations = problem.blocks, problem.relations
    judges = [[_judge(two, one, relations) for one in blocks] for two in blocks]
    if not any(isinstance(r, Inside | SameStart) for r in relations):
        fixed = {n: block.fixed for n, block in enumerate(blocks) if block.fixed is not None}
        if any(not judges[m][n].accepts(fixed[m] - fixed[n]) for m, n in permutations(fixed, 2)):
            return None
        least = _by_orders(blocks, judges, fixed, most + 1)
        return _whole(least, blocks) if least <= most else None
    for height in range(0, most + 1, _whole(1, blocks)):
        if _by_offsets(blocks, judges, [], height):
            return height
    return None


@dataclass(frozen=True)
class _Judge:
    """What holds for the distance between the starts of a block and an earlier one."""

    above: int | None
    below: int | None
    wanted: frozenset[int] | None

    def accepts(self, distance: int) -> bool:
        if self.wanted is not None and distance not in self.wanted:
            return False
        return (
            self.above is None
            or self.below is None
            or distance >= self.above
            or distance <= self.below
        )


def _judge(block: Block, other: Block, relations: Sequence[Relation]) -> _Judge:
    wanted: frozenset[int] | None = None
    for relation in relations:
        if {*relation.pair} != {block.id, other.id}:
            continue
        steps: set[int] | None = None
        if isinstance(relation, SameStart):
            steps = {0}
        if isinstance(relation, Inside):
            room = abs(other.size - block.size)
            steps = {*range(room + 1)} if relation.offset is None else {relation.offset}
            steps = steps if relation.child == block.id else {-step for step in steps}
        if steps is not None:
            wanted = frozenset(steps if wanted is None else wanted & steps)
    if not block.size or not other.size or may_touch(block, other, relations):
        return _Judge(None, None, wanted)
    return _Judge(other.size, -block.size, wanted)


def _whole(height: int, blocks: Sequence[Block]) -> int:
    step = gcd(*(block.align for block in blocks))
    return -(-height // step) * step


def _by_orders(
    blocks: Sequence[Block], judges: list[list[_Judge]], placed: dict[int, int], best: int
) -> int:
    """The least height below `best` with these blocks placed; `best` itself where there is none."""
    height = max((offset + blocks[n].size for n, offset in placed.items()), default=0)
    if height >= best or len(placed) == len(blocks):
        return min(height, best)
    for number, block in enumerate(blocks):
        if number in placed:
            continue
        ends = [-(-(o + blocks[n].size) // block.align) * block.align for n, o in placed.items()]
        offset = next(
            offset
            for offset in sorted({0, *ends})
            if all(judges[number][n].accepts(offset - there) for n, there in placed.items())
        )
        best = _by_orders(blocks, judges, {**placed, number: offset}, best)
    return best


def _by_offsets(
    blocks: Sequence[Block], judges: list[list[_Judge]], placed: list[int], height: int
) -> bool:
    if len(placed) == len(blocks):
        return True
    block = blocks[len(placed)]
    offsets = (
        range(0, height - block.size + 1, block.align) if block.fixed is None else [block.fixed]
    )
    for offset in offsets:
        pairs = zip(judges[len(placed)], placed, strict=False)
        fits = offset + block.size <= height
        if not fits or not all(j.accepts(offset - there) for j, there in pairs):
            continue
        if _by_offsets(blocks, judges, [*placed, offset], height):
            return True
    return False


def random_problem(
    rng: random.Random, most: int = 7, *, ties: bool = False, fixed: bool = True, scale: int = 1
) -> Problem:
    """A problem with holes, alignments, partitions, fixed offsets and relations, as they come."""
    count = rng.randint(1, most)
    blocks = tuple(_random_block(rng, n, fixed, scale) for n in range(count))
    kinds: list[type[Relation]] = [Apart, MayOverlap, *([Inside, SameStart] if ties else [])]
    relations: list[Relation] = []
    for _ in range(rng.choice([0, 0, 1, 2, 3]) if count > 1 else 0):
        kind = rng.choice(kinds)
        one, two = rng.sample(blocks, 2)
        if kind is Inside:
            one, two = sorted((one, two), key=lambda block: block.size)
            room = two.size - one.size
            relations.append(Inside(one.id, two.id, rng.choice([None, None, rng.randint(0, room)])))
        else:
            relations.append(kind(one.id, two.id))
    return Problem((SMEM,), blocks, tuple(relations))


def _random_block(rng: random.Random, number: int, fixed: bool, scale: int) -> Block:
    cuts = sorted(rng.sample(range(8), rng.choice([2, 2, 2, 4])))
    live = tuple(zip(cuts[::2], cuts[1::2], strict=True))
    align = rng.choice([1, 1, 1, 2, 3, 4])
    region = AsyncRegion("ws", rng.randint(0, 1)) if rng.random() < 0.15 else None
    at = rng.randint(0, 4) * align * scale if fixed and rng.random() < 0.08 else None
    size = rng.choice([0, 1, 1, 2, 2, 3, 4, 5]) * (rng.randint(1, scale))
    return Block(f"b{number}", size, align, "smem", live, region, at)
