"""What runs convergent groups: tasks, operations in flight, and barriers, in the order of a seed.

The executor is the reference of the static checks (docs/design/concurrency.md), so it shares none
of their model, `analysis/concurrency`: this one is written for threads with data, and the two are
compared by tests.

A task is a generator, which yields None where others may run and a `Wait` where it blocks. One step
resumes a task or completes an operation in flight:

====  ====================================================================================
seed  order
====  ====================================================================================
0     operations only when no task can run; tasks round-robin
1     operations at once; the first task that can run does
2     as 0, but the last task that can run does, and the youngest operation completes
3     as 1, with the last task and the youngest operation
4 …   random: each seed draws how soon operations complete and how long a task keeps running
====  ====================================================================================
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import count as counter
from typing import TypeAlias

MAX_COUNT = (1 << 20) - 1
"""Greatest arrive count and greatest transaction count (PTX ISA, mbarrier)."""


# -- tasks and operations ------------------------------------------------------------------------


@dataclass(eq=False)
class Wait:
    """A condition that a task waits for."""

    what: str
    is_ready: Callable[[], bool]
    missing: Callable[[], str]
    subject: object = None
    site: object = None
    poll: object = None
    """Of a loop that looks at memory until another thread has written it: that run of the loop."""
    seen: int = 0
    """The progress when the wait began; what polls is ready once there is more."""


@dataclass(eq=False)
class Progress:
    """Counts steps of all machines of a launch that did more than to look at memory."""

    count: int = 0


Steps: TypeAlias = Generator[Wait | None, None, None]


@dataclass(eq=False)
class Task:
    """A convergent group that runs."""

    name: str
    steps: Steps
    index: int
    context: object
    """Its frame."""
    wait: Wait | None = None
    is_over: bool = False
    resumed: int = 0


@dataclass(eq=False)
class Pending:
    """An operation in flight; `landed` updates its issuer's clocks once it has been waited for."""

    what: str
    finish: Callable[[], None]
    site: object = None
    task: str = ""
    landed: Callable[[], None] | None = None
    is_done: bool = False

    def complete(self) -> None:
        """Perform its effect; once."""
        if not self.is_done:
            self.is_done = True
            self.finish()


@dataclass(eq=False)
class Groups:
    """Operations of one issuer that are waited for by counting groups."""

    open: list[Pending] = field(default_factory=list[Pending])
    """Issued since the last commit."""
    closed: list[list[Pending]] = field(default_factory=list[list[Pending]])

    def issue(self, operation: Pending) -> None:
        self.open.append(operation)

    def commit(self) -> None:
        self.closed.append(self.open)
        self.open = []

    def older(self, leave: int) -> list[Pending]:
        """Operations of all groups but the `leave` youngest."""
        count = max(len(self.closed) - leave, 0)
        return [each for group in self.closed[:count] for each in group]

    def is_done(self, leave: int) -> bool:
        return all(each.is_done for each in self.older(leave))

    def forget(self, leave: int) -> list[Pending]:
        """After a wait: the operations that it covers."""
        covered = self.older(leave)
        del self.closed[: max(len(self.closed) - leave, 0)]
        return covered


# -- barriers ------------------------------------------------------------------------------------


class BarrierMisuse(Exception):
    """A barrier was used in a way that the hardware does not define."""


@dataclass(eq=False)
class Mbarrier:
    """A barrier with phases: one completes without pending arrivals and without bytes due."""

    name: str
    count: int
    phase: int = 0
    """How many phases have completed."""
    arrived: int = 0
    bytes_due: int = 0
    """Expect-tx minus complete-tx, which may come first."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise BarrierMisuse(
                f"arrive count of {self.name} is {self.count}, expected 1 to {MAX_COUNT}"
            )

    def arrive(self, threads: int) -> None:
        total = self.arrived + threads
        if total > self.count:
            raise BarrierMisuse(
                f"{total} arrivals on {self.name} in phase {self.phase}, but its arrive count is "
                f"{self.count}"
            )
        self.arrived = total
        self._advance()

    def expect_arrivals(self, threads: int) -> None:
        """This phase needs more arrivals than the arrive count."""
        self.arrived -= threads

    def expect_tx(self, size_bytes: int) -> None:
        self.bytes_due += size_bytes
        if self.bytes_due > MAX_COUNT:
            raise BarrierMisuse(
                f"transaction count {self.bytes_due} of {self.name} exceeds the limit of "
                f"{MAX_COUNT}"
            )
        self._advance()

    def arrive_expect_tx(self, size_bytes: int) -> None:
        """Both, with no completion in between."""
        self.bytes_due += size_bytes
        self.arrive(1)

    def complete_tx(self, size_bytes: int) -> None:
        self.bytes_due -= size_bytes
        self._advance()

    def has_passed(self, parity: int) -> bool:
        """Whether a wait with this parity returns: the last completed phase has it."""
        return (self.phase - 1) & 1 == parity & 1

    def completed(self) -> None:
        """A phase has completed."""

    def _advance(self) -> None:
        if self.arrived == self.count and not self.bytes_due:
            self.phase, self.arrived = self.phase + 1, 0
            self.completed()

    def missing(self) -> str:
        """What the current phase lacks."""
        lacks: list[str] = []
        if self.arrived < self.count:
            lacks.append(f"{self.arrived} of {self.count} arrivals occurred")
        if self.bytes_due > 0:
            lacks.append(f"{self.bytes_due} expected bytes were not completed")
        if self.bytes_due < 0:
            lacks.append(f"{-self.bytes_due} completed bytes were not expected")
        return f"in phase {self.phase}: " + (" and ".join(lacks) or "nothing is missing")


@dataclass(eq=False)
class ThreadBarrier:
    """A barrier that counts threads (`bar.sync`)."""

    name: str
    threads: int = 0
    arrived: int = 0
    openings: int = 0

    def arrive(self, arriving: int, threads: int) -> int:
        """Some of `threads` arrive; which opening they wait for."""
        if self.arrived and threads != self.threads:
            raise BarrierMisuse(
                f"{self.name} is used with {threads} threads while {self.arrived} of "
                f"{self.threads} threads wait on it"
            )
        total = self.arrived + arriving
        if total > threads:
            raise BarrierMisuse(f"{total} threads arrive on {self.name}, expected {threads}")
        target = self.openings + 1
        self.threads = threads
        self.openings, self.arrived = (target, 0) if total == threads else (self.openings, total)
        return target

    def has_opened(self, opening: int) -> bool:
        return self.openings >= opening

    def missing(self) -> str:
        return f"{self.arrived} of {self.threads} threads arrived"


# -- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockedTask:
    """A task that waits forever."""

    task: str
    wait: Wait
    missing: str

    def __str__(self) -> str:
        tail = f" ({self.missing})" if self.missing else ""
        return f"{self.task} waits for {self.wait.what}{tail}"


class Deadlock(Exception):
    """Every remaining task waits, and no operation is in flight."""

    def __init__(self, blocked: Sequence[BlockedTask]) -> None:
        self.blocked = tuple(blocked)
        super().__init__("; ".join(map(str, self.blocked)))

    @property
    def polls(self) -> bool:
        """Whether a task looks at memory that another cluster may write."""
        return any(each.wait.poll is not None for each in self.blocked)


class Machine:
    """The convergent groups of a cluster, and their operations in flight."""

    def __init__(self, seed: int = 0, progress: Progress | None = None) -> None:
        self.tasks: list[Task] = []
        self.progress = progress or Progress()
        self.current: Task | None = None
        """The running task, or the one that raised an error."""
        self._units: dict[str, list[Pending]] = {}
        self._in_order: set[str] = set()
        self._indices = counter()
        self._seed = seed
        self._random = random.Random(seed)
        self._eagerness = self._random.choice((0.02, 0.1, 0.3, 0.6))
        self._stamina = self._random.choice((0.0, 0.5, 0.9))
        self._last: Task | None = None

    def spawn(self, name: str, steps: Steps, context: object) -> Task:
        task = Task(name, steps, next(self._indices), context)
        self.tasks.append(task)
        return task

    def issue(self, unit: str, operation: Pending, *, in_order: bool = False) -> None:
        """An operation is in flight; those of a unit `in_order` complete in the order of issue."""
        if self.current is not None and not operation.task:
            operation.task = self.current.name
        self._units.setdefault(unit, []).append(operation)
        if in_order:
            self._in_order.add(unit)

    def join(self, tasks: Sequence[Task]) -> Steps:
        """Wait for other tasks to finish."""
        names = ", ".join(task.name for task in tasks)
        yield Wait(f"{names} to finish", lambda: all(task.is_over for task in tasks), lambda: "")

    def run(self) -> None:
        """Run until every task has finished, then complete what is in flight."""
        while any(not task.is_over for task in self.tasks):
            self._step()
        for operations in self._units.values():
            for each in operations:
                each.complete()

    def _step(self) -> None:
        tasks = [
            each
            for each in self.tasks
            if not each.is_over and (each.wait is None or self._is_ready(each.wait))
        ]
        chosen = self._choose(tasks, self._completable())
        if isinstance(chosen, Pending):
            chosen.complete()
            self.progress.count += 1
            return
        self.current = chosen
        chosen.resumed += 1
        poll = None if chosen.wait is None else chosen.wait.poll
        chosen.wait = None
        try:
            chosen.wait = next(chosen.steps)
        except StopIteration:
            chosen.is_over = True
        if poll is None or chosen.wait is None or chosen.wait.poll is not poll:
            self.progress.count += 1
        if chosen.wait is not None:
            chosen.wait.seen = self.progress.count
        self.current = None

    def _is_ready(self, wait: Wait) -> bool:
        if wait.poll is not None:
            return self.progress.count > wait.seen
        return wait.is_ready()

    def _completable(self) -> list[Pending]:
        found: list[Pending] = []
        for unit, operations in self._units.items():
            operations[:] = [each for each in operations if not each.is_done]
            found += operations[:1] if unit in self._in_order else operations
        return found

    def _choose(self, tasks: list[Task], operations: list[Pending]) -> Task | Pending:
        if not tasks and not operations:
            waits = [(each.name, each.wait) for each in self.tasks if not each.is_over]
            raise Deadlock(
                [BlockedTask(name, wait, wait.missing()) for name, wait in waits if wait]
            )
        if self._seed >= 4:
            return self._draw(tasks, operations)
        is_eager, takes_last = self._seed in (1, 3), self._seed in (2, 3)
        if operations and (is_eager or not tasks):
            return operations[-1 if takes_last else 0]
        if is_eager or takes_last:
            return tasks[-1 if takes_last else 0]
        return min(tasks, key=lambda task: (task.resumed, task.index))

    def _draw(self, tasks: list[Task], operations: list[Pending]) -> Task | Pending:
        draw = self._random
        if operations and (not tasks or draw.random() < self._eagerness):
            return operations[draw.randrange(len(operations))]
        if self._last is None or self._last not in tasks or draw.random() >= self._stamina:
            self._last = tasks[draw.randrange(len(tasks))]
        return self._last
