"""Vector clocks against the plain definition: is there a path of events from one to the other?

Random histories of tasks, operations, barriers of threads and fences. Every event is a node of a
graph; two accesses are ordered if one can be reached from the other. The checker keeps only the last
accesses of a byte, so it need not find every pair, but it must find one exactly if there is one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tilewright.analysis.ordering import Agent, Checker, byte_range

TASKS = 3
BYTES = 4


@dataclass
class Graph:
    """Events and what directly follows them."""

    follows: list[list[int]] = field(default_factory=list)

    def node(self, *before: int | None) -> int:
        self.follows.append([])
        new = len(self.follows) - 1
        for each in before:
            if each is not None:
                self.follows[each].append(new)
        return new

    def reaches(self, start: int, goal: int) -> bool:
        pending, seen = [start], {start}
        while pending:
            for after in self.follows[pending.pop()]:
                if after == goal:
                    return True
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        return False


@dataclass
class History:
    """A random run, told to the checker and drawn as a graph at the same time."""

    draw: random.Random
    graph: Graph = field(default_factory=Graph)
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)
    """Node, byte, whether it is a write."""

    def __post_init__(self) -> None:
        self.checker = Checker()
        self.checker.memory("m", "memory", BYTES)
        main = self.checker.task("t0")
        root = self.graph.node()
        self.tasks = [main, *(self.checker.task(f"t{i}", main) for i in range(1, TASKS))]
        self.last = [root] * TASKS
        self.operations: list[tuple[int, Agent, int]] = []
        self.in_order: dict[int, int] = {}
        self.generations = 0

    def touch(self, strand: Agent, node: int) -> None:
        byte, writes = self.draw.randrange(BYTES), self.draw.random() < 0.5
        region = byte_range("m", "x", byte, byte + 1)
        self.checker.access(strand, "write" if writes else "read", region, "tensor", node)
        self.accesses.append((node, byte, writes))

    def access(self, task: int) -> None:
        self.last[task] = self.graph.node(self.last[task])
        self.touch(self.tasks[task], self.last[task])

    def issue(self, task: int) -> None:
        in_order = self.draw.random() < 0.5
        engine = "in order" if in_order else "free"
        strand = self.checker.issue(self.tasks[task], "an operation", engine, in_order)
        before = self.in_order.get(task) if in_order else None
        node = self.graph.node(self.last[task], before)
        if in_order:
            self.in_order[task] = node
        self.touch(strand, node)
        self.operations.append((task, strand, node))

    def wait(self, task: int) -> None:
        mine = [each for each in self.operations if each[0] == task]
        if mine:
            _, strand, node = self.draw.choice(mine)
            self.checker.join(self.tasks[task], [strand])
            self.last[task] = self.graph.node(self.last[task], node)

    def meet(self, task: int) -> None:
        other = (task + 1) % TASKS
        self.generations += 1
        for each in (task, other):
            self.checker.came(self.tasks[each], "bar", self.generations)
        for each in (task, other):
            self.checker.went(self.tasks[each], "bar", self.generations)
        node = self.graph.node(self.last[task], self.last[other])
        self.last[task] = self.last[other] = node

    def signal(self, task: int) -> None:
        """One way: the other learns, this one does not."""
        other = (task + self.draw.randrange(1, TASKS)) % TASKS
        self.generations += 1
        self.checker.came(self.tasks[task], "bar", self.generations)
        self.checker.went(self.tasks[other], "bar", self.generations)
        self.last[other] = self.graph.node(self.last[task], self.last[other])

    def run(self, steps: int) -> None:
        deeds = (self.access, self.access, self.issue, self.wait, self.meet, self.signal)
        for _ in range(steps):
            self.draw.choice(deeds)(self.draw.randrange(TASKS))

    def conflicts(self) -> bool:
        """Whether two accesses to a byte, one of them a write, are not ordered."""
        for number, (later, byte, writes) in enumerate(self.accesses):
            for earlier, other, wrote in self.accesses[:number]:
                if byte == other and (writes or wrote) and not self.graph.reaches(earlier, later):
                    return True
        return False


@pytest.mark.parametrize("steps", [6, 10, 16])
def test_there_is_a_finding_exactly_if_there_is_a_conflict(steps: int) -> None:
    counts = [0, 0]
    for seed in range(150):
        history = History(random.Random(seed * 100 + steps))
        history.run(steps)
        expected = history.conflicts()
        assert bool(history.checker.findings()) == expected, f"seed {seed}"
        counts[expected] += 1
    assert min(counts) > 5, counts
