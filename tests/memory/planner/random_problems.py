"""Random problems: small ones for the exhaustive search, large ones that are known to have a plan.

`random_problem` asks for anything, so it may have no plan at all. `planted_problem` starts from a
plan: blocks get offsets first, and only what those offsets keep is said afterwards.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.memory.planner.exhaustive import may_touch
from tilewright.memory.planner import (
    ALWAYS,
    Apart,
    AsyncRegion,
    Block,
    Inside,
    Live,
    MayOverlap,
    Problem,
    Relation,
    SameStart,
    Space,
)

SMEM = Space("smem")


def random_problem(
    rng: random.Random, most: int = 7, *, ties: bool = False, scale: int = 1
) -> Problem:
    """One space; holes, alignments, partitions, fixed offsets and relations, as they come."""
    count = rng.randint(1, most)
    fixed = rng.choice([0.0, 0.08, 0.3])
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


def _random_block(rng: random.Random, number: int, fixed: float, scale: int) -> Block:
    align = rng.choice([1, 1, 1, 2, 3, 4])
    region = AsyncRegion("ws", rng.randint(0, 1)) if rng.random() < 0.15 else None
    at = rng.randint(0, 4) * align * scale if rng.random() < fixed else None
    size = rng.choice([0, 1, 1, 2, 2, 3, 4, 5]) * rng.randint(1, scale)
    return Block(f"b{number}", size, align, "smem", _live(rng, 8), region, at)


def _live(rng: random.Random, length: int) -> Live:
    cuts = sorted(rng.sample(range(length), rng.choice([2, 2, 2, 4, 6])))
    return tuple(zip(cuts[::2], cuts[1::2], strict=True))


@dataclass(frozen=True)
class Planted:
    """A problem and offsets that solve it."""

    problem: Problem
    offsets: dict[str, int]

    def height(self, space: str) -> int:
        """How high the planted plan gets."""
        return max((self.offsets[b.id] + b.size for b in self.problem.in_space(space)), default=0)


def planted_problem(rng: random.Random, most: int = 14) -> Planted:
    """One to three spaces. What is fixed, tied or kept apart holds in the planted offsets."""
    offsets: dict[str, int] = {}
    blocks: list[Block] = []
    relations: list[Relation] = []
    spaces = [Space(name, unit="units") for name in ("smem", "tmem", "local")]
    spaces = spaces[: rng.randint(1, 3)]
    for space in spaces:
        here = [*_planted_blocks(rng, space.name, offsets, rng.randint(0, most))]
        relations += _planted_relations(rng, here, offsets)
        share = rng.choice([0.0, 0.1, 0.4])
        blocks += [replace(b, fixed=offsets[b.id]) if rng.random() < share else b for b in here]
    return Planted(Problem(tuple(spaces), tuple(blocks), tuple(relations)), offsets)


def _planted_blocks(
    rng: random.Random, space: str, offsets: dict[str, int], count: int
) -> Iterator[Block]:
    """Blocks one by one, each somewhere it does not hurt the ones before."""
    aligns = rng.choice([[1], [1, 2, 4], [1, 3, 4], [16, 128, 1024]])
    sizes = [0, *(rng.randint(1, 5 * max(aligns)) for _ in range(5))]
    placed: list[Block] = []
    for number in range(count):
        region = AsyncRegion("ws", rng.randint(0, 2)) if rng.random() < 0.1 else None
        live = ALWAYS if rng.random() < 0.1 else () if rng.random() < 0.05 else _live(rng, 12)
        align = rng.choice(aligns)
        block = Block(f"{space}{number}", rng.choice(sizes), align, space, live, region)
        tops = sorted({0, *(-(-(offsets[b.id] + b.size) // align) * align for b in placed)})
        free = [top for top in tops if all(_clear(block, top, b, offsets[b.id]) for b in placed)]
        offsets[block.id] = rng.choice(free[:3])
        placed.append(block)
        yield block


def _clear(block: Block, offset: int, other: Block, there: int) -> bool:
    apart = offset + block.size <= there or there + other.size <= offset
    return apart or may_touch(block, other, []) or not block.size or not other.size


def _planted_relations(
    rng: random.Random, blocks: list[Block], offsets: dict[str, int]
) -> Iterator[Relation]:
    """Relations of pairs that the offsets keep. `Inside` and `SameStart` come as they are found."""
    ties = rng.random() < 0.5
    for one in blocks:
        for two in blocks:
            start, other = offsets[one.id], offsets[two.id]
            distance, chance = start - other, rng.random()
            if one.id == two.id or chance > 0.3:
                continue
            if start >= other + two.size and chance < 0.03:
                yield Apart(one.id, two.id)
            elif chance < 0.06:
                yield MayOverlap(one.id, two.id)
            elif ties and distance == 0 and chance < 0.09:
                yield SameStart(one.id, two.id)
            elif ties and 0 <= distance <= two.size - one.size and chance > 0.2:
                yield Inside(one.id, two.id, rng.choice([None, distance]))
