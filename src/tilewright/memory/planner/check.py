"""Proof that a plan of blocks satisfies every constraint, found without the planner.

This file takes nothing from the planner but the description of the problem, and goes about it the
other way round: the planner walks along time and finds which blocks are live together, the checker
walks along addresses and checks of every two blocks that overlap whether they may. It finds:

* a block without an offset, or an offset without a block;
* an offset below 0, off its alignment, or not the one that was fixed;
* two blocks that overlap and must not;
* `Inside` and `SameStart` violated;
* a height that is not where the topmost block ends, above the capacity, or below what the blocks
  live at one moment need (a claim of "optimal" below that would be false).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.memory.planner.problem import Block, Problem, Relation


class PlanViolation(Enum):
    """What was broken."""

    MISSING = "missing or unknown block"
    NEGATIVE = "below the start of the space"
    MISALIGNED = "misaligned"
    MOVED = "moved from its fixed offset"
    OVERLAP = "overlap"
    NOT_INSIDE = "not inside"
    NOT_SAME_START = "not the same start"
    HEIGHT = "wrong height"
    OVER_CAPACITY = "over capacity"
    BOUND = "wrong bound"


@dataclass(frozen=True)
class Violation:
    """One violated constraint: which, of which blocks, with offsets."""

    fault: PlanViolation
    text: str
    subjects: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.text}"


def check_offsets(problem: Problem, offsets: Mapping[str, int]) -> tuple[Violation, ...]:
    """All violations of these offsets; empty means that every constraint holds."""
    known = {block.id for block in problem.blocks}
    strangers = sorted(known ^ {*offsets})
    if strangers:
        text = f"{', '.join(strangers)}: not in both the problem and the plan"
        return (Violation(PlanViolation.MISSING, text, tuple(strangers)),)
    return (
        *(found for block in problem.blocks for found in _alone(block, offsets[block.id])),
        *(found for one in problem.relations for found in _related(problem, one, offsets)),
        *_overlaps(problem, offsets),
        *_capacities(problem, offsets),
    )


def check_heights(
    problem: Problem,
    offsets: Mapping[str, int],
    heights: Mapping[str, int],
    bounds: Mapping[str, int],
) -> tuple[Violation, ...]:
    """Whether claimed heights are the true ones, and whether claimed lower bounds can be."""
    return tuple(
        found
        for space in problem.spaces
        for found in _claims(problem, offsets, space.name, heights, bounds)
    )


def _alone(block: Block, offset: int) -> Iterator[Violation]:
    if offset < 0:
        yield Violation(PlanViolation.NEGATIVE, f"'{block.id}' starts at {offset}", (block.id,))
    if offset % block.align != 0:
        text = f"'{block.id}' starts at {offset}, not at a multiple of {block.align}"
        yield Violation(PlanViolation.MISALIGNED, text, (block.id,))
    if block.fixed is not None and offset != block.fixed:
        text = f"'{block.id}' starts at {offset}, fixed was {block.fixed}"
        yield Violation(PlanViolation.MOVED, text, (block.id,))


def _related(
    problem: Problem, relation: Relation, offsets: Mapping[str, int]
) -> Iterator[Violation]:
    first, second = relation.pair
    start, other = offsets[first], offsets[second]
    kind = type(relation).__name__
    if kind == "SameStart" and start != other:
        text = f"'{first}' starts at {start}, '{second}' at {other}"
        yield Violation(PlanViolation.NOT_SAME_START, text, (first, second))
    if kind != "Inside":
        return
    end, other_end = start + _size(problem, first), other + _size(problem, second)
    expected = getattr(relation, "offset", None)
    if start < other or end > other_end or (expected is not None and start - other != expected):
        where = "" if expected is None else f" at {expected}"
        text = (
            f"'{first}' at {start}..{end} is not inside '{second}' at {other}..{other_end}{where}"
        )
        yield Violation(PlanViolation.NOT_INSIDE, text, (first, second))


def _size(problem: Problem, id: str) -> int:
    return next(block.size for block in problem.blocks if block.id == id)


def _overlaps(problem: Problem, offsets: Mapping[str, int]) -> Iterator[Violation]:
    """Sweep along the addresses of each space; judge each pair that has one in common."""
    apart = {frozenset(r.pair) for r in problem.relations if type(r).__name__ == "Apart"}
    excused = _excused(problem.relations)
    for space in problem.spaces:
        here = [block for block in problem.blocks if block.space == space.name and block.size]
        here.sort(key=lambda block: offsets[block.id])
        reaching: list[Block] = []
        for block in here:
            start = offsets[block.id]
            reaching = [low for low in reaching if offsets[low.id] + low.size > start]
            for low in reaching:
                pair = frozenset((low.id, block.id))
                if pair in apart or (pair not in excused and _conflict(low, block)):
                    yield _overlap(low, block, offsets)
            reaching.append(block)


def _overlap(low: Block, block: Block, offsets: Mapping[str, int]) -> Violation:
    start, end = offsets[low.id], offsets[low.id] + low.size
    other, other_end = offsets[block.id], offsets[block.id] + block.size
    text = (
        f"'{low.id}' at {start}..{end} and '{block.id}' at {other}..{other_end} "
        f"both have {other}..{min(end, other_end)}"
    )
    return Violation(PlanViolation.OVERLAP, text, (low.id, block.id))


def _conflict(one: Block, two: Block) -> bool:
    """Whether two blocks are needed at one moment, or run at the same time."""
    here, there = one.region, two.region
    if here is not None and there is not None and here.name == there.name and here != there:
        return True
    return any(
        max(start, other) < min(end, other_end)
        for start, end in one.live
        for other, other_end in two.live
    )


def _excused(relations: Sequence[Relation]) -> set[frozenset[str]]:
    """Pairs that may overlap: stated, same start by some chain, one inside the other by some."""
    excused = {frozenset(r.pair) for r in relations if type(r).__name__ == "MayOverlap"}
    for kind in ("SameStart", "Inside"):
        steps = [r.pair for r in relations if type(r).__name__ == kind]
        if kind == "SameStart":
            steps += [(second, first) for first, second in steps]
        reached = {*steps}
        while True:
            longer = {(a, d) for a, b in reached for c, d in steps if b == c and a != d}
            if longer <= reached:
                break
            reached |= longer
        excused |= {frozenset(pair) for pair in reached}
    return excused


def _capacities(problem: Problem, offsets: Mapping[str, int]) -> Iterator[Violation]:
    for space in problem.spaces:
        height = _height(problem, offsets, space.name)
        if space.capacity is not None and height > space.capacity:
            text = f"'{space.name}' needs {height} {space.unit}, {space.capacity} available"
            yield Violation(PlanViolation.OVER_CAPACITY, text, (space.name,))


def _height(problem: Problem, offsets: Mapping[str, int], space: str) -> int:
    """Where the topmost block ends."""
    ends = [offsets[block.id] + block.size for block in problem.blocks if block.space == space]
    return max(ends, default=0)


def _claims(
    problem: Problem,
    offsets: Mapping[str, int],
    space: str,
    heights: Mapping[str, int],
    bounds: Mapping[str, int],
) -> Iterator[Violation]:
    height = _height(problem, offsets, space)
    if heights[space] != height:
        text = f"'{space}' ends at {height}, claimed was {heights[space]}"
        yield Violation(PlanViolation.HEIGHT, text, (space,))
    if bounds[space] > height:
        text = f"'{space}' has a lower bound of {bounds[space]}, but ends at {height}"
        yield Violation(PlanViolation.BOUND, text, (space,))
