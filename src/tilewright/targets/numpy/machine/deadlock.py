"""What is said when nothing can happen any more and somebody still waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.targets.numpy.machine.tasks import Task, Wait


@dataclass(frozen=True)
class Stuck:
    """A task that waits in vain."""

    task: str
    wait: Wait
    missing: str

    def __str__(self) -> str:
        tail = f" ({self.missing})" if self.missing else ""
        return f"{self.task} waits for {self.wait.what}{tail}"


class Deadlock(Exception):
    """Every task that is left waits, and no engine has anything to do."""

    def __init__(self, stuck: Sequence[Stuck], over: Sequence[str]) -> None:
        self.stuck = tuple(stuck)
        self.over = tuple(over)
        """Tasks that have ended: whatever is missing does not come from them."""
        super().__init__("; ".join(str(each) for each in self.stuck))


def deadlock_of(tasks: Sequence[Task]) -> Deadlock:
    """The report on tasks none of which can run."""
    stuck = [
        Stuck(task.name, task.wait, task.wait.missing())
        for task in tasks
        if not task.is_over and task.wait is not None
    ]
    return Deadlock(stuck, [task.name for task in tasks if task.is_over])
