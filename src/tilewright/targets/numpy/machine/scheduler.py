"""The machine: runs tasks and engines in the order of a schedule until all is done.

    machine = Machine(seed=7)
    machine.spawn("producer", producer(), threads=128)
    machine.spawn("consumer", consumer(), threads=128)
    machine.run()

Each step resumes one task up to its next `yield`, or finishes one operation of an engine. If
neither is possible and a task is left, that is a `Deadlock`. Operations nobody waits for finish at
the end. `listener` is told every step; the events of a run are what a timeline is drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.targets.numpy.machine.deadlock import deadlock_of
from tilewright.targets.numpy.machine.engine import Engine, Operation
from tilewright.targets.numpy.machine.schedule import Schedule, schedule_of
from tilewright.targets.numpy.machine.tasks import Steps, Task, Wait

EventKind: TypeAlias = Literal["run", "wait", "end", "finish"]


@dataclass(frozen=True)
class Event:
    """Something that happened in a run."""

    step: int
    kind: EventKind
    who: str
    """A task or an engine."""
    what: str = ""
    place: object = None


@dataclass(eq=False)
class Machine:
    """Tasks and engines, and the order they go in."""

    seed: int = 0
    listener: Callable[[Event], None] | None = None
    tasks: list[Task] = field(default_factory=list[Task])
    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])
    steps: int = 0
    current: Task | None = None
    """The task that runs at the moment, or in which something went wrong."""

    def __post_init__(self) -> None:
        self._schedule: Schedule = schedule_of(self.seed)
        self._made = 0

    def spawn(self, name: str, steps: Steps, threads: int = 1, context: object = None) -> Task:
        """Let a task take part from now on."""
        if context is None and self.current is not None:
            context = self.current.context
        task = Task(name, steps, self._made, threads, context=context)
        self._made += 1
        self.tasks.append(task)
        return task

    def engine(self, name: str, in_order: bool = False) -> Engine:
        """The engine of this name, made when it is first asked for."""
        found = self.engines.get(name)
        if found is None:
            found = self.engines[name] = Engine(name, in_order)
        return found

    def issue(self, engine: str, operation: Operation, in_order: bool = False) -> None:
        """Give an engine something to do."""
        if self.current is not None and not operation.task:
            operation.task = self.current.name
        self.engine(engine, in_order).issue(operation)

    def join(self, tasks: Sequence[Task]) -> Generator[Wait, None, None]:
        """Steps of a task that waits for others to end."""
        names = ", ".join(task.name for task in tasks)
        yield Wait(f"{names} to end", lambda: all(task.is_over for task in tasks))

    def run(self) -> None:
        """Go on until every task has ended, then finish what engines still hold."""
        while any(not task.is_over for task in self.tasks):
            self._step()
        for engine in self.engines.values():
            engine.drain()

    def _step(self) -> None:
        runnable = [task for task in self.tasks if task.can_run]
        operations = [each for engine in self.engines.values() for each in engine.candidates()]
        if not runnable and not operations:
            raise deadlock_of(self.tasks)
        self.steps += 1
        chosen = self._schedule.choose(runnable, operations)
        if isinstance(chosen, Operation):
            chosen.complete()
            self._tell("finish", chosen.task, chosen.what, chosen.place)
            return
        self.current = chosen
        chosen.resume()
        self.current = None
        wait = chosen.wait
        if chosen.is_over:
            self._tell("end", chosen.name)
        elif wait is None:
            self._tell("run", chosen.name)
        else:
            self._tell("wait", chosen.name, wait.what, wait.place)

    def _tell(self, kind: EventKind, who: str, what: str = "", place: object = None) -> None:
        if self.listener is not None:
            self.listener(Event(self.steps, kind, who, what, place))
