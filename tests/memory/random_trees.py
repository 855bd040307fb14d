"""Random valid trees, from a seed or from hypothesis: one generator, two sources of chance."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from tilewright.memory import Buffer, Memory, Tree, distinct, shared

T = TypeVar("T")

SMEM_UNITS = (2, 4, 8, 32, 96, 128, 144, 256, 384, 512, 1024, 2048, 4096)
SMEM_ALIGNMENTS = (1, 2, 8, 16, 128, 256, 512, 1024)
TMEM_UNITS = (1, 2, 4, 8, 16, 32, 64, 128)
LOGICAL_COUNTS = (1, 1, 2, 2, 3, 4)
GROUP_SIZES = (1, 1, 1, 2, 3, 4)
MAX_GROUP_SIZE = 24
MAX_DEPTH = 5


class Chance(Protocol):
    def pick(self, options: Sequence[T]) -> T: ...


class Seeded:
    """Chance from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)


class Drawn:
    """Chance from hypothesis, which then shrinks towards the first option."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))


class TreeMaker:
    """Makes one tree; leaves are called b0, b1, ... from left to right."""

    def __init__(self, chance: Chance, memory: Memory, max_leaves: int = 8) -> None:
        self.chance = chance
        self.memory = memory
        self.left = max_leaves
        self.made = 0
        self.even = chance.pick((True, True, False))
        self.count = chance.pick(LOGICAL_COUNTS)

    def tree(self) -> Tree:
        return self._group(1, 1)

    def wide_tree(self) -> Tree:
        """A root with as many children as it takes to use up all leaves."""
        children: list[Tree | Buffer] = []
        while self.left > 0:
            children.append(self._child(1, 1))
        halves = (distinct(*children[::2]), distinct(*children[1::2]))
        return shared(*(half for half in halves if half.children))

    def _group(self, depth: int, group_size: int) -> Tree:
        kind = self.chance.pick(("shared", "distinct"))
        own = self.chance.pick(GROUP_SIZES) if kind == "shared" else 1
        if own * group_size > MAX_GROUP_SIZE:
            own = 1
        children = [self._child(depth, group_size * own)]
        while self.left > 0 and self.chance.pick((True, True, False)):
            children.append(self._child(depth, group_size * own))
        if kind == "shared":
            return shared(*children, group_size=own)
        return distinct(*children)

    def _child(self, depth: int, group_size: int) -> Tree | Buffer:
        if depth < MAX_DEPTH and self.left > 1 and self.chance.pick((False, False, True)):
            return self._group(depth + 1, group_size)
        return self._leaf(group_size)

    def _leaf(self, group_size: int) -> Buffer:
        self.left -= 1
        name = f"b{self.made}"
        self.made += 1
        logical = self.count if self.even else self.chance.pick(LOGICAL_COUNTS)
        count = logical * group_size
        if self.memory is Memory.TMEM:
            unit = self.chance.pick(TMEM_UNITS)
            alignment = self.chance.pick((1, min(4, unit)))
            return Buffer(name, self.memory, count, unit, 4, alignment, rows=128)
        unit = self.chance.pick(SMEM_UNITS)
        return Buffer(name, self.memory, count, unit, 2, self.chance.pick(SMEM_ALIGNMENTS))


def seeded_tree(seed: int, memory: Memory, max_leaves: int = 8) -> Tree:
    return TreeMaker(Seeded(seed), memory, max_leaves).tree()


@st.composite
def trees(draw: st.DrawFn, memories: Sequence[Memory] = tuple(Memory), max_leaves: int = 8) -> Tree:
    chance = Drawn(draw)
    return TreeMaker(chance, chance.pick(memories), max_leaves).tree()
