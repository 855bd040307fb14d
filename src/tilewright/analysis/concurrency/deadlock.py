"""The report of a deadlock: tasks wait, and no event is possible any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.analysis.concurrency.tasks import Task, Wait


@dataclass(frozen=True)
class BlockedTask:
    """A task that waits forever."""

    task: str
    wait: Wait
    missing: str
    waiting: Task

    def __str__(self) -> str:
        tail = f" ({self.missing})" if self.missing else ""
        return f"{self.task} waits for {self.wait.what}{tail}"


class Deadlock(Exception):
    """Every remaining task waits, and no operation is in flight."""

    def __init__(self, blocked: Sequence[BlockedTask], over: Sequence[str]) -> None:
        self.blocked = tuple(blocked)
        self.over = tuple(over)
        """Tasks that have finished: the missing event does not come from them."""
        super().__init__("; ".join(str(each) for each in self.blocked))


def deadlock_of(tasks: Sequence[Task]) -> Deadlock:
    """The report on tasks none of which can run."""
    blocked = [
        BlockedTask(task.name, task.wait, task.wait.missing(), task)
        for task in tasks
        if not task.is_over and task.wait is not None
    ]
    return Deadlock(blocked, [task.name for task in tasks if task.is_over])
