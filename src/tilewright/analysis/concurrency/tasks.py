"""Tasks: concurrent executions, and what they may wait for.

A task is a generator. It yields None where other tasks may run in between, and a `Wait` where it
blocks. The machine resumes it once `is_ready` holds; the condition is evaluated again each time, so
it must be a function of the machine's state and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(eq=False)
class Wait:
    """A condition that a task waits for."""

    what: str
    """Human-readable: `full[2] to finish phase 1`."""
    is_ready: Callable[[], bool]
    missing: Callable[[], str] = lambda: ""
    """The missing event, evaluated on a deadlock."""
    subject: object = None
    """What is waited for, so that reports can list the other tasks that use it."""
    site: object = None
    """The site of the waiting op; its meaning is up to the creator of the wait."""
    parity: int = 0
    """Of a wait for a phase."""


Steps: TypeAlias = Generator[Wait | None, None, None]


@dataclass(eq=False)
class Task:
    """A sequence of steps."""

    name: str
    steps: Steps
    index: int
    threads: int = 1
    """How many threads run it together: each of them arrives on a barrier."""
    wait: Wait | None = None
    is_over: bool = False
    resumed: int = field(default=0)
    """How many times it was resumed."""
    context: object = None
    """What it belongs to, a block for example; inherited by tasks it starts."""

    @property
    def can_run(self) -> bool:
        return not self.is_over and (self.wait is None or self.wait.is_ready())

    def resume(self) -> None:
        """Run to the next `yield`."""
        self.wait = None
        self.resumed += 1
        try:
            self.wait = next(self.steps)
        except StopIteration:
            self.is_over = True
