"""Reads of the wrong contents that are ordered all the same.

A consumer waits for a slot of a ring and then takes another one, which it has read and handed back
long ago. If the other slot is not refilled meanwhile, every access is ordered, and the result is
wrong in every schedule. What gives it away is a wait without effect:

    task waits for phase f of X           (a copy W into v[1] is delivered in it)
    task reads v[0], not v[1]             (copy W', known before that wait)

It is reported if all of this holds in the run:

    1. no read of what phase f brings to `v` comes after that wait, by whoever;
    2. before its next wait for the array of X, the task reads a copy W' into `v` that it had
       read before the wait;
    3. between the two reads of W' it has arrived on a barrier that the task waits for which
       issued W': it has handed W' back.

A task that waits and skips the block (1 without 2), and one that reads a buffer many times (2
without 1), are in order.

Consumers that take turns know of each other's copies too, so one may read the block of another.
That is reported as *borrowed* if all of this holds:

    1. the task reads a copy W that reports to X[i], for which it never waits;
    2. it waits for another barrier of the array, X[j], and reads the copy into the same array of
       buffers that X[j] tells of;
    3. no task that waits for X[i] reads what X[j] tells of: the two do not share what they load;
    4. a task that waits for X[i] reads W at the same line: they run the same code, and each line
       of it is for one's own block.

A wait for X[i] says that it is meant, and so does a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.analysis.ordering.barriers import Generations, Signal, WaitRecord, cta_of
from tilewright.analysis.ordering.clocks import Agent, covers
from tilewright.analysis.ordering.findings import TITLES, Cause, Finding, Remark
from tilewright.analysis.ordering.regions import Access


@dataclass(frozen=True)
class CopyRead:
    """A read of what a copy has brought."""

    copy: Access
    access: Access
    seen: tuple[int, ...]
    """What the reader knew."""


@dataclass(frozen=True)
class StaleRead:
    """What was read, and what should have been."""

    read: CopyRead
    before: CopyRead
    """The first read of the same."""
    handed_back: Signal
    handed_to: Generations
    wait: WaitRecord
    barrier: Generations
    meant: Access
    """The copy that was waited for."""


@dataclass(frozen=True)
class BorrowedRead:
    """A read of what another task waits for."""

    read: CopyRead
    barrier: Generations
    """The one that the copy reports to."""
    own: Access
    """What the task waits for."""
    own_barrier: Generations


@dataclass
class Deliveries:
    """Which copy came with which phase, and who read it."""

    _by_operation: dict[Agent, list[Access]] = field(default_factory=dict[Agent, list[Access]])
    _by_phase: dict[tuple[Generations, int], list[Access]] = field(
        default_factory=dict[tuple[Generations, int], list[Access]]
    )
    _reads: dict[int, list[CopyRead]] = field(default_factory=dict[int, list[CopyRead]])
    """By the number of the copy."""

    def writes(self, strand: Agent, access: Access) -> None:
        """An operation that reports to a barrier writes."""
        self._by_operation.setdefault(strand, []).append(access)

    def delivered(self, strand: Agent, barrier: Generations, phase: int) -> None:
        """It has reported."""
        copies = self._by_operation.get(strand, ())
        self._by_phase.setdefault((barrier, phase), []).extend(copies)

    def reads(self, access: Access, copies: Sequence[Access], seen: Sequence[int]) -> None:
        """Bytes are read that copies have brought."""
        for copy in copies:
            made = CopyRead(copy, access, tuple(seen))
            self._reads.setdefault(copy.number, []).append(made)

    def stale(self, barriers: Sequence[Generations]) -> Iterator[StaleRead]:
        """Reads of the wrong copy."""
        for barrier in barriers:
            for wait in barrier.waits:
                if wait.sure <= wait.known:
                    continue
                copies = self._by_phase.get((barrier, wait.sure - 1), ())
                for owner in dict.fromkeys(each.region.owner for each in copies):
                    meant = [each for each in copies if each.region.owner == owner]
                    if not any(self._is_read_after(wait, each) for each in meant):
                        yield from self._instead(wait, barrier, meant, barriers)

    def borrowed(self, barriers: Sequence[Generations]) -> Iterator[BorrowedRead]:
        """Reads of copies that other tasks wait for."""
        gates = {each.key: each for each in barriers}
        for reads in self._reads.values():
            copy = reads[0].copy
            told = [gates[key] for key in copy.gates if key in gates]
            for task in dict.fromkeys(each.access.task for each in reads):
                if not told or any(task in each.waiters for each in told):
                    continue
                if cta_of(told[0].maker) != cta_of(task):
                    continue  # nobody can wait for a barrier of another CTA
                lines = {each.access.place for each in reads if each.access.task in told[0].waiters}
                mine = [each for each in reads if each.access.task == task]
                read = next((each for each in mine if each.access.place in lines), None)
                own = self._own(task, copy, told[0], barriers) if read is not None else None
                if read is not None and own is not None:
                    yield BorrowedRead(read, told[0], *own)

    def _own(
        self, task: str, copy: Access, told: Generations, barriers: Sequence[Generations]
    ) -> tuple[Access, Generations] | None:
        """A copy like `copy` that a task waits for and reads, and none of those who wait for
        `told` does."""
        for barrier in barriers:
            if barrier.owner != told.owner or task not in barrier.waiters:
                continue
            for reads in self._reads.values():
                mine = reads[0].copy
                is_alike = mine.region.owner == copy.region.owner and barrier.key in mine.gates
                readers = {each.access.task for each in reads}
                if is_alike and task in readers and not readers & set(told.waiters):
                    return mine, barrier
        return None

    def handed_back(self, copy: Access, access: Access, barriers: Sequence[Generations]) -> bool:
        """Whether the task of a read has read what a copy brought before, and handed it back."""
        for before in self._reads.get(copy.number, ()):
            again = CopyRead(copy, access, ())
            is_mine = before.access.task == access.task
            if is_mine and _handed_back(before, again, barriers) is not None:
                return True
        return False

    def _is_read_after(self, wait: WaitRecord, copy: Access) -> bool:
        return any(
            each.access.event > wait.event and covers(each.seen, wait.component, wait.time)
            for each in self._reads.get(copy.number, ())
        )

    def _instead(
        self,
        wait: WaitRecord,
        barrier: Generations,
        meant: Sequence[Access],
        barriers: Sequence[Generations],
    ) -> Iterator[StaleRead]:
        """What the task read after a wait in place of what it waited for."""
        following = [
            each.event
            for other in barriers
            if other.owner == barrier.owner
            for each in other.waits_of(wait.task)
            if each.event > wait.event
        ]
        end = min(following, default=None)
        for reads in self._reads.values():
            copy = reads[0].copy
            if copy.region.owner != meant[0].region.owner or copy in meant:
                continue
            mine = [each for each in reads if each.access.task == wait.task]
            if not mine or mine[0].access.event > wait.event:
                continue
            for read in mine:
                event = read.access.event
                if event < wait.event or (end is not None and event > end):
                    continue
                found = _handed_back(mine[0], read, barriers)
                if found is not None:
                    yield StaleRead(read, mine[0], *found, wait, barrier, meant[0])


def _handed_back(
    before: CopyRead, read: CopyRead, barriers: Sequence[Generations]
) -> tuple[Signal, Generations] | None:
    """An arrival between two reads of a copy, for the task that issued it."""
    for barrier in barriers:
        if before.copy.task not in barrier.waiters:
            continue
        for signal in barrier.signals:
            is_between = before.access.event < signal.event < read.access.event
            if signal.task == read.access.task and is_between:
                return signal, barrier
    return None


def stale_findings(
    deliveries: Deliveries, barriers: Sequence[Generations], text: Callable[[Access], str]
) -> list[Finding]:
    """Reports on reads of the wrong copy, one for two lines; `text` says an access in words."""
    told: dict[tuple[int, int], Finding] = {}
    for stale in deliveries.stale(barriers):
        made = _stale(stale, text)
        told.setdefault((made.place, stale.meant.place), made)
    for borrowed in () if told else deliveries.borrowed(barriers):
        made = _borrowed(borrowed, text)
        told.setdefault((made.place, borrowed.read.copy.place), made)
    return list(told.values())


def _stale(found: StaleRead, text: Callable[[Access], str]) -> Finding:
    read, meant, barrier = found.read.access, found.meant, found.barrier
    cause = Cause(
        "stale",
        f"{read.task} waits for {barrier.name}, which tells of {meant.region.name}, and reads "
        f"{found.read.copy.region.name}",
        Remark(f"read {meant.region.name} here", read.place),
        barrier.owner,
        (
            Remark(f"{read.task} waits for {barrier.name} here", found.wait.place),
            Remark("it has read the same here before", found.before.access.place),
            Remark(f"and handed it back on {found.handed_to.name} here", found.handed_back.place),
        ),
    )
    message = (
        f"{TITLES['stale']}: {text(read)} takes what it has taken before, and nothing after its "
        f"wait reads what {text(meant)} brings"
    )
    return Finding(message, read.place, cause, meant, read)


def _borrowed(found: BorrowedRead, text: Callable[[Access], str]) -> Finding:
    read, copy, own = found.read.access, found.read.copy, found.own
    cause = Cause(
        "stale",
        f"{read.task} does not wait for {found.barrier.name}, which tells of {copy.region.name}; "
        f"it waits for {found.own_barrier.name}, which tells of {own.region.name}",
        Remark(f"read {own.region.name} here, or wait for {found.barrier.name}", read.place),
        found.barrier.owner,
    )
    message = (
        f"{TITLES['stale']}: {text(read)} takes what {text(copy)} brings for "
        f"{' and '.join(found.barrier.waiters) or 'others'}"
    )
    return Finding(message, read.place, cause, copy, read)
