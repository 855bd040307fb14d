"""The inputs of an explanation, and which of two accesses was meant to come first.

Two unordered accesses came in one order in this run; the intended order may be the other one. A
write replaces a value: if the reader needs the old one, the write is too early; if the new one, the
read is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.analysis.ordering.barriers import (
    Generations,
    NamedBarrierRound,
    index_of,
    short_task,
)
from tilewright.analysis.ordering.regions import Access


@dataclass(frozen=True)
class PossibleSignal:
    """An op of the program that signals an array of barriers, whether it ran or not."""

    task: str
    site: int
    op: str = ""


@dataclass(frozen=True)
class History:
    """The inputs of an explanation."""

    barriers: Sequence[Generations]
    write: Callable[[Access], Access | None]
    """The write that a write replaced."""
    ordered: Callable[[Access, Access], bool]
    """Whether the first happened before the second."""
    signals: Callable[[str], Sequence[PossibleSignal]] = lambda name: ()
    """Ops that signal an array of barriers."""
    rounds: Sequence[NamedBarrierRound] = ()
    """The phases of named barriers."""
    tasks_at: Callable[[int], set[str]] = lambda site: set()
    """Tasks that reached a line."""
    waiters: Callable[[str], Sequence[str]] | None = None
    """Tasks that have a wait for an array of barriers in the program, if it is available."""
    released: Callable[[Access, Access], bool] = lambda copy, read: False
    """Whether the task of a read had read the data of a copy before, and released its slot."""

    def waiters_of(self, owner: str) -> set[str]:
        """Tasks that wait for an array of barriers, by their short names."""
        if self.waiters is not None:
            return set(self.waiters(owner))
        arrays = (each for each in self.barriers if each.owner == owner)
        return {short_task(task) for each in arrays for task in each.waiters}

    def beside(self, access: Access) -> set[str]:
        """The task of an access and others that reached the same line, by their short names."""
        return {short_task(task) for task in (access.task, *self.tasks_at(access.site))}


def is_too_soon(first: Access, second: Access, history: History) -> bool:
    """Whether a write came before the read of the value that it replaces, or a read before the
    write of the value it is meant for."""
    if first.kind == "read":
        return _is_before_its_value(first, second, history)
    if second.kind != "read":
        return False
    meant = history.write(first)
    while meant is not None and not history.ordered(meant, second):
        meant = history.write(meant)
    if meant is None or meant.region.owner != second.region.owner:
        return False
    return _is_meant(meant, second, history)


def _is_before_its_value(read: Access, write: Access, history: History) -> bool:
    """Whether a buffer was uninitialised when it was read."""
    if read.previous == 0:
        return True
    before = history.write(read)
    is_alias = before is not None and before.region.owner != read.region.owner
    return is_alias and write.kind == "write" and write.region.owner == read.region.owner


def _is_meant(copy: Access, read: Access, history: History) -> bool:
    """Whether a read may be for the data of a copy: not if its task, which waits for the barriers
    of such copies, did not wait for this one, or has released its slot."""
    signalled = [each for each in history.barriers if each.key in copy.barriers]
    if history.released(copy, read) or _is_passed_over(copy, read, signalled, history.barriers):
        return False
    waiters = {task for each in signalled for task in history.waiters_of(each.owner)}
    if not history.beside(read) & waiters:
        return True
    return any(
        wait.guaranteed > barrier.phase_at(copy.event)
        for barrier in signalled
        for wait in barrier.waits_of(read.task)
        if wait.event < read.event
    )


def _is_passed_over(
    copy: Access, read: Access, signalled: Sequence[Generations], barriers: Sequence[Generations]
) -> bool:
    """Whether the task of a read had waited for a copy and released its slot."""
    for barrier in signalled:
        phase = barrier.phase_at(copy.event)
        taken = next(
            (each for each in barrier.waits_of(read.task) if each.guaranteed > phase), None
        )
        if taken is None:
            continue
        for other in barriers:
            if copy.task not in other.waiters or index_of(other.name) != index_of(barrier.name):
                continue
            for signal in other.signals:
                if signal.task == read.task and taken.event < signal.event < read.event:
                    return True
    return False
