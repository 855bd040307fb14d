"""The exact search for blocks that depend on each other's offset: `Inside` and `SameStart`.

Every demand has the form "b starts at least w after a starts":

    SameStart(a, b)     a >= b         b >= a
    Inside(c, p)        c >= p         p >= c + size of c - size of p
    a is below b        b >= a + size of a

With alignments rounding up and fixed blocks not moving, the least offsets that satisfy all demands
are found by raising offsets until nothing changes. The search starts without an order of blocks,
looks at the least offsets for two blocks that overlap and must not, and tries both orders for that
pair only. When no pair is left, the offsets are a plan. This is slower than the kernel for ordinary
blocks, but it is exact for everything that a `Problem` can express.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from tilewright.memory.planner.bound import Load
from tilewright.memory.planner.conflicts import Conflicts, members
from tilewright.memory.planner.problem import Block, Inside, Relation, SameStart

Edge = tuple[int, int]


@dataclass
class _Choice:
    """Which of two blocks is below; `trail` and `edges` are what to go back to."""

    below: int
    above: int
    trail: int
    is_second: bool = False


class OrientedSearch:
    """Lower and lower plans of the blocks of one space, until there is no lower one."""

    def __init__(
        self,
        conflicts: Conflicts,
        relations: Sequence[Relation],
        loads: Sequence[Load],
        lower: int,
        limit: int | None = None,
    ) -> None:
        self.blocks = conflicts.blocks
        self.best: tuple[int, ...] | None = None
        self.nodes = 0
        self.is_exhausted = False
        self._loads = loads
        self._lower = lower
        self._pairs = [
            (one, two)
            for one in range(len(self.blocks))
            for two in members(conflicts.adjacent[one] >> one << one)
        ]
        self._limit = ceiling(self.blocks) if limit is None else limit
        self._offsets = [block.fixed or 0 for block in self.blocks]
        self._edges: list[list[Edge]] = [[] for _ in self.blocks]
        self._trail: list[Edge] = []
        self._choices: list[_Choice] = []
        self._add_relations(relations)
        if not self._propagate(range(len(self.blocks))):
            self.is_exhausted = True

    def run(self, nodes: int) -> None:
        """Go on for some nodes, or until nothing lower is left."""
        stop = self.nodes + nodes
        while self.nodes < stop and not self.is_exhausted:
            self.nodes += 1
            self._step()

    def _add_relations(self, relations: Sequence[Relation]) -> None:
        index = {block.id: position for position, block in enumerate(self.blocks)}
        for relation in relations:
            if isinstance(relation, SameStart):
                a, b = index[relation.a], index[relation.b]
                self._edges[a].append((b, 0))
                self._edges[b].append((a, 0))
            if isinstance(relation, Inside):
                child, parent = index[relation.child], index[relation.parent]
                slack = self.blocks[parent].size - self.blocks[child].size
                low, high = (0, slack) if relation.offset is None else (relation.offset,) * 2
                self._edges[parent].append((child, low))
                self._edges[child].append((parent, -high))

    def _step(self) -> None:
        pair = self._overlapping()
        if pair is None:
            self._note_plan()
            holds = False
        else:
            below, above = self._likely_order(*pair)
            self._choices.append(_Choice(below, above, len(self._trail)))
            holds = self._decide(below, above)
        while not holds and not self.is_exhausted:
            holds = self._other_side()

    def _note_plan(self) -> None:
        self.best = tuple(self._offsets)
        height = max(o + b.size for o, b in zip(self.best, self.blocks, strict=True))
        self._limit = height - 1
        self.is_exhausted = height <= self._lower

    def _other_side(self) -> bool:
        """Undo up to the latest choice with a side left, and take that."""
        while self._choices:
            choice = self._choices[-1]
            self._undo(choice)
            if not choice.is_second:
                choice.is_second = True
                choice.below, choice.above = choice.above, choice.below
                return self._decide(choice.below, choice.above)
            self._choices.pop()
        self.is_exhausted = True
        return False

    def _undo(self, choice: _Choice) -> None:
        self._edges[choice.below].pop()
        while len(self._trail) > choice.trail:
            block, offset = self._trail.pop()
            self._offsets[block] = offset

    def _decide(self, below: int, above: int) -> bool:
        self._edges[below].append((above, self.blocks[below].size))
        return self._propagate([below]) and self._can_be_good()

    def _propagate(self, changed: Sequence[int]) -> bool:
        """Raise offsets until every demand is satisfied; False where that is not possible."""
        todo = [*changed]
        for block in changed:
            if not self._raise(block, self._offsets[block]):
                return False
        while todo:
            block = todo.pop()
            for other, distance in self._edges[block]:
                required = self._offsets[block] + distance
                if required <= self._offsets[other]:
                    continue
                if not self._raise(other, required):
                    return False
                todo.append(other)
        return True

    def _raise(self, index: int, offset: int) -> bool:
        block = self.blocks[index]
        offset = -(-offset // block.align) * block.align
        if offset != self._offsets[index]:
            self._trail.append((index, self._offsets[index]))
            self._offsets[index] = offset
        is_moved = block.fixed is not None and offset != block.fixed
        return not is_moved and offset + block.size <= self._limit

    def _can_be_good(self) -> bool:
        """Whether every load, one member upon the other, still ends below the limit."""
        offsets = self._offsets
        if any(o + b.size > self._limit for o, b in zip(offsets, self.blocks, strict=True)):
            return False
        for load in self._loads:
            top = 0
            for start, weight in sorted(
                (offsets[m], w) for m, w in zip(load.members, load.weights, strict=True)
            ):
                top = max(top, start) + weight
            if top > self._limit + load.spare:
                return False
        return True

    def _overlapping(self) -> Edge | None:
        """Two blocks that must not overlap and do, lowest first."""
        best, lowest = None, 0
        for one, two in self._pairs:
            start, other = self._offsets[one], self._offsets[two]
            end, other_end = start + self.blocks[one].size, other + self.blocks[two].size
            if start < other_end and other < end:
                where = max(start, other)
                if best is None or where < lowest:
                    best, lowest = (one, two), where
        return best

    def _likely_order(self, one: int, two: int) -> Edge:
        """The lower one below; of two at one offset the larger."""

        def key(index: int) -> Edge:
            return self._offsets[index], -self.blocks[index].size

        return (one, two) if key(one) <= key(two) else (two, one)


def ceiling(blocks: Sequence[Block]) -> int:
    """A height that holds all blocks one upon the other, wherever the fixed ones are."""
    step = lcm(*(block.align for block in blocks))
    top = max(((block.fixed or 0) + block.size for block in blocks), default=0)
    return top + sum(block.size + 2 * step for block in blocks)
