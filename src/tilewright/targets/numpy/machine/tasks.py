"""Tasks: what runs by itself, and what it may be waiting for.

A task is a generator. It yields None where others may run in between, and a `Wait` where it cannot
go on before something happens. The machine resumes it once `is_ready` holds; a wait is asked again
each time, so it must be a function of the machine's state and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(eq=False)
class Wait:
    """Something a task cannot go on without."""

    what: str
    """For people: `full[2] to finish phase 1`."""
    is_ready: Callable[[], bool]
    missing: Callable[[], str] = lambda: ""
    """What has not happened, asked when everything stands still."""
    subject: object = None
    """What is waited for, so that reports can tell who else touches it."""
    place: object = None
    """Where the waiting op is; means something to whoever made the wait."""


Steps: TypeAlias = Generator[Wait | None, None, None]


@dataclass(eq=False)
class Task:
    """A sequence of steps."""

    name: str
    steps: Steps
    number: int
    threads: int = 1
    """How many threads run it together: each of them arrives at a barrier."""
    wait: Wait | None = None
    is_over: bool = False
    turns: int = field(default=0)
    """How often it was resumed."""
    context: object = None
    """What it belongs to, a block for example; handed on to tasks it starts."""

    @property
    def can_run(self) -> bool:
        return not self.is_over and (self.wait is None or self.wait.is_ready())

    def resume(self) -> None:
        """Go on to the next `yield`."""
        self.wait = None
        self.turns += 1
        try:
            self.wait = next(self.steps)
        except StopIteration:
            self.is_over = True
