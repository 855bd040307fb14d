"""What an explanation may look at, and which of two accesses was meant to come first.

Two unordered accesses came in one order in this run; which one the author meant is another
question. A write replaces a value: if the reader is meant to have the old one, the write is too
soon; if the new one, the read is.
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
    place: int
    op: str = ""


@dataclass(frozen=True)
class History:
    """What an explanation may look at."""

    barriers: Sequence[Generations]
    write: Callable[[Access], Access | None]
    """The write that a write replaced."""
    ordered: Callable[[Access, Access], bool]
    """Whether the first happened before the second."""
    signals: Callable[[str], Sequence[PossibleSignal]] = lambda name: ()
    """Ops that signal an array of barriers."""
    meetings: Sequence[NamedBarrierRound] = ()
    """At barriers of threads."""
    tasks_at: Callable[[int], set[str]] = lambda place: set()
    """Tasks that came to a line."""
    waiters: Callable[[str], Sequence[str]] | None = None
    """Tasks that have a wait for an array of barriers in the program, if that is known."""
    handed_back: Callable[[Access, Access], bool] = lambda copy, read: False
    """Whether the task of a read had read what a copy brought before, and handed it back."""

    def waiters_of(self, owner: str) -> set[str]:
        """Tasks that wait for an array of barriers, by their short names."""
        if self.waiters is not None:
            return set(self.waiters(owner))
        arrays = (each for each in self.barriers if each.owner == owner)
        return {short_task(task) for each in arrays for task in each.waiters}

    def beside(self, access: Access) -> set[str]:
        """The task of an access and others that came to the same line, by their short names."""
        return {short_task(task) for task in (access.task, *self.tasks_at(access.place))}


def is_too_soon(first: Access, second: Access, history: History) -> bool:
    """Whether a write came before the read of the value that it replaces, or a read before the
    write of the value it is meant for."""
    if first.deed == "read":
        return _is_before_its_value(first, second, history)
    if second.deed != "read":
        return False
    meant = history.write(first)
    while meant is not None and not history.ordered(meant, second):
        meant = history.write(meant)
    if meant is None or meant.region.owner != second.region.owner:
        return False
    return _is_meant(meant, second, history)


def _is_before_its_value(read: Access, write: Access, history: History) -> bool:
    """Whether nobody had written to a buffer when it was read."""
    if read.previous == 0:
        return True
    before = history.write(read)
    is_alias = before is not None and before.region.owner != read.region.owner
    return is_alias and write.deed == "write" and write.region.owner == read.region.owner


def _is_meant(copy: Access, read: Access, history: History) -> bool:
    """Whether a read may be for what a copy brought: not if its task, which waits for the barriers
    of such copies, did not wait for this one, or has handed it back."""
    told = [each for each in history.barriers if each.key in copy.gates]
    if history.handed_back(copy, read) or _is_passed_over(copy, read, told, history.barriers):
        return False
    waiters = {task for each in told for task in history.waiters_of(each.owner)}
    if not history.beside(read) & waiters:
        return True
    return any(
        wait.sure > barrier.phase_at(copy.event)
        for barrier in told
        for wait in barrier.waits_of(read.task)
        if wait.event < read.event
    )


def _is_passed_over(
    copy: Access, read: Access, told: Sequence[Generations], barriers: Sequence[Generations]
) -> bool:
    """Whether the task of a read had waited for a copy and handed its slot back."""
    for gate in told:
        phase = gate.phase_at(copy.event)
        taken = next((each for each in gate.waits_of(read.task) if each.sure > phase), None)
        if taken is None:
            continue
        for other in barriers:
            if copy.task not in other.waiters or index_of(other.name) != index_of(gate.name):
                continue
            for signal in other.signals:
                if signal.task == read.task and taken.event < signal.event < read.event:
                    return True
    return False
