"""The least height by trying everything.

Every pair of blocks is judged by the words of the problem's description. Without
ties, every order of the blocks is tried, each block as low as it goes: one of these orders is that
of a lowest plan. With `Inside` or `SameStart`, every offset of every block is tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from tilewright.memory.planner import (
    Apart,
    Block,
    Inside,
    MayOverlap,
    Problem,
    Relation,
    SameStart,
)


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
    # Of two half-open spans that have a moment in common, one holds the start of the other.
    starts = [s for s, _ in one.live if any(other <= s < end for other, end in two.live)]
    starts += [s for s, _ in two.live if any(other <= s < end for other, end in one.live)]
    return not starts


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
    """The least height of a problem with one space; None where nothing up to `most` works."""
    low, high = -1, most
    if not fits_within(problem, most):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits_within(problem, middle) else (middle, high)
    return high


def fits_within(problem: Problem, height: int) -> bool:
    """Whether a problem with one space has a plan that is no higher."""
    blocks, relations = problem.blocks, problem.relations
    judges = [[_judge(two, one, relations) for one in blocks] for two in blocks]
    if any(isinstance(r, Inside | SameStart) for r in relations):
        return _by_offsets(blocks, judges, [], height)
    fixed = {n: block.fixed for n, block in enumerate(blocks) if block.fixed is not None}
    if any(not judges[m][n].accepts(fixed[m] - fixed[n]) for m, n in permutations(fixed, 2)):
        return False
    return _by_orders(blocks, judges, fixed, height)


def broken(problem: Problem, offsets: Mapping[str, int]) -> bool:
    """Whether offsets break a promise about a block or a pair, capacities left aside."""
    for block in problem.blocks:
        offset = offsets[block.id]
        if offset < 0 or offset % block.align or block.fixed not in (None, offset):
            return True
    for one, two in combinations(problem.blocks, 2):
        judge = _judge(one, two, problem.relations)
        if one.space == two.space and not judge.accepts(offsets[one.id] - offsets[two.id]):
            return True
    return False


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


def _by_orders(
    blocks: Sequence[Block], judges: list[list[_Judge]], placed: dict[int, int], height: int
) -> bool:
    """Whether the blocks not placed yet, in some order and each as low as it goes, stay below."""
    if any(offset + blocks[n].size > height for n, offset in placed.items()):
        return False
    if len(placed) == len(blocks):
        return True
    for number, block in enumerate(blocks):
        if number in placed:
            continue
        ends = [-(-(o + blocks[n].size) // block.align) * block.align for n, o in placed.items()]
        offset = next(
            offset
            for offset in sorted({0, *ends})
            if all(judges[number][n].accepts(offset - there) for n, there in placed.items())
        )
        if _by_orders(blocks, judges, {**placed, number: offset}, height):
            return True
    return False


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
