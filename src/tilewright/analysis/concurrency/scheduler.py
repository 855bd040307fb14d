"""The machine: runs tasks and asynchronous units in the order of a schedule until all are done.

    machine = Machine(seed=7)
    machine.spawn("producer", producer(), threads=128)
    machine.spawn("consumer", consumer(), threads=128)
    machine.run()

Each step resumes one task up to its next `yield`, or completes one operation of a unit. If neither
is possible and a task remains, that is a `Deadlock`. Operations that no task waits for complete at
the end. `listener` is called for every step; a timeline is drawn from the events of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.analysis.concurrency.deadlock import deadlock_of
from tilewright.analysis.concurrency.engine import Engine, Operation
from tilewright.analysis.concurrency.schedule import Schedule, schedule_of
from tilewright.analysis.concurrency.tasks import Steps, Task, Wait

EventKind: TypeAlias = Literal["run", "wait", "end", "finish"]


class TooManySteps(Exception):
    """Tasks took more steps than the limit of the machine."""


@dataclass(frozen=True)
class Event:
    """An event of a run."""

    step: int
    kind: EventKind
    actor: str
    """A task or a unit."""
    what: str = ""
    site: object = None


@dataclass(eq=False)
class Machine:
    """Tasks and units, and their schedule."""

    seed: int = 0
    listener: Callable[[Event], None] | None = None
    schedule: Schedule | None = None
    """Instead of the one of the seed."""
    step_limit: int | None = None
    """How many steps all tasks together may take."""
    tasks: list[Task] = field(default_factory=list[Task])
    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])
    steps: int = 0
    current: Task | None = None
    """The current task, or the one that raised an error."""
    has_choice: bool = False
    """Whether there was more than one possible event in some step. If not, every other schedule is
    this one."""

    def __post_init__(self) -> None:
        self._schedule = self.schedule or schedule_of(self.seed)
        self._made = self._issued = self._resumed = 0

    def spawn(self, name: str, steps: Steps, threads: int = 1, context: object = None) -> Task:
        """Start a task."""
        if context is None and self.current is not None:
            context = self.current.context
        task = Task(name, steps, self._made, threads, context=context)
        self._made += 1
        self.tasks.append(task)
        return task

    def engine(self, name: str, in_order: bool = False) -> Engine:
        """The unit of this name, created on first use."""
        found = self.engines.get(name)
        if found is None:
            found = self.engines[name] = Engine(name, in_order)
        return found

    def issue(self, engine: str, operation: Operation, in_order: bool = False) -> None:
        """Issue an operation to a unit."""
        if self.current is not None and not operation.task:
            operation.task = self.current.name
        operation.order = self._issued
        self._issued += 1
        self.engine(engine, in_order).issue(operation)

    def join(self, tasks: Sequence[Task]) -> Steps:
        """Steps of a task that waits for others to finish."""
        names = ", ".join(task.name for task in tasks)
        yield Wait(f"{names} to finish", lambda: all(task.is_over for task in tasks))

    def run(self) -> None:
        """Run until every task has finished, then complete the operations in flight."""
        self.run_tasks()
        for engine in self.engines.values():
            engine.drain()

    def run_tasks(self) -> None:
        """Run until every task has finished; operations may be in flight."""
        while any(not task.is_over for task in self.tasks):
            self._step()

    def _step(self) -> None:
        runnable = [task for task in self.tasks if task.can_run]
        operations = [each for engine in self.engines.values() for each in engine.candidates()]
        if not runnable and not operations:
            raise deadlock_of(self.tasks)
        self.steps += 1
        self.has_choice = self.has_choice or len(runnable) + len(operations) > 1
        chosen = self._schedule.choose(runnable, operations)
        if isinstance(chosen, Operation):
            chosen.complete()
            self._notify("finish", chosen.task, chosen.what, chosen.site)
            return
        self._resumed += 1
        if self.step_limit is not None and self._resumed > self.step_limit:
            raise TooManySteps
        self.current = chosen
        chosen.resume()
        self.current = None
        wait = chosen.wait
        if chosen.is_over:
            self._notify("end", chosen.name)
        elif wait is None:
            self._notify("run", chosen.name)
        else:
            self._notify("wait", chosen.name, wait.what, wait.site)

    def _notify(self, kind: EventKind, actor: str, what: str = "", site: object = None) -> None:
        if self.listener is not None:
            self.listener(Event(self.steps, kind, actor, what, site))
