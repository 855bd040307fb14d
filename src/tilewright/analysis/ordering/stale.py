"""Reads of stale data that are ordered nevertheless.

A consumer waits for a slot of a ring buffer and then reads another one, which it has read and
released long ago. If the other slot is not refilled meanwhile, every access is ordered, and the
result is wrong in every schedule. The symptom is a wait without effect:

    task waits for phase f of X           (a copy W into v[1] is delivered in it)
    task reads v[0], not v[1]             (copy W', observed before that wait)

It is reported if all of this holds in the run:

    1. no task reads the data that phase f delivers to `v` after that wait;
    2. before its next wait for the array of X, the task reads a copy W' into `v` that it had
       read before the wait;
    3. between the two reads of W' it has arrived on a barrier that the task waits for which
       issued W': it has released W'.

A task that waits and skips the block (1 without 2), and one that reads a buffer many times (2
without 1), are correct.

Consumers that alternate are also ordered after each other's copies, so one may read the block of
another. That is reported as *borrowed* if all of this holds:

    1. the task reads a copy W that signals X[i], for which it never waits;
    2. it waits for another barrier of the array, X[j], and reads the copy into the same array of
       buffers that signals X[j];
    3. no task that waits for X[i] reads the copy that signals X[j]: the two share no data;
    4. a task that waits for X[i] reads W at the same line: they run the same code, and each line
       of it is for one's own block.

A wait for X[i] shows that it is intended, and so does a line of its own.
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
    """A read of the data of a copy."""

    copy: Access
    access: Access
    seen: tuple[int, ...]
    """The clock of the reader."""


@dataclass(frozen=True)
class StaleRead:
    """The copy that was read, and the one that should have been."""

    read: CopyRead
    before: CopyRead
    """The first read of the same."""
    released: Signal
    released_on: Generations
    wait: WaitRecord
    barrier: Generations
    meant: Access
    """The copy that was waited for."""


@dataclass(frozen=True)
class BorrowedRead:
    """A read of a copy that another task waits for."""

    read: CopyRead
    barrier: Generations
    """The one that the copy signals."""
    own: Access
    """What the task waits for."""
    own_barrier: Generations


@dataclass
class Deliveries:
    """Which copy was delivered in which phase, and its reads."""

    _by_operation: dict[Agent, list[Access]] = field(default_factory=dict[Agent, list[Access]])
    _by_phase: dict[tuple[Generations, int], list[Access]] = field(
        default_factory=dict[tuple[Generations, int], list[Access]]
    )
    _reads: dict[int, list[CopyRead]] = field(default_factory=dict[int, list[CopyRead]])
    """By the index of the copy."""

    def writes(self, agent: Agent, access: Access) -> None:
        """An operation that signals a barrier writes."""
        self._by_operation.setdefault(agent, []).append(access)

    def delivered(self, agent: Agent, barrier: Generations, phase: int) -> None:
        """It has signalled the barrier."""
        copies = self._by_operation.get(agent, ())
        self._by_phase.setdefault((barrier, phase), []).extend(copies)

    def reads(self, access: Access, copies: Sequence[Access], seen: Sequence[int]) -> None:
        """Bytes that copies delivered are read."""
        for copy in copies:
            made = CopyRead(copy, access, tuple(seen))
            self._reads.setdefault(copy.index, []).append(made)

    def stale(self, barriers: Sequence[Generations]) -> Iterator[StaleRead]:
        """Reads of the wrong copy."""
        for barrier in barriers:
            for wait in barrier.waits:
                if wait.guaranteed <= wait.observed:
                    continue
                copies = self._by_phase.get((barrier, wait.guaranteed - 1), ())
                for owner in dict.fromkeys(each.region.owner for each in copies):
                    meant = [each for each in copies if each.region.owner == owner]
                    if not any(self._is_read_after(wait, each) for each in meant):
                        yield from self._instead(wait, barrier, meant, barriers)

    def borrowed(self, barriers: Sequence[Generations]) -> Iterator[BorrowedRead]:
        """Reads of copies that other tasks wait for."""
        by_key = {each.key: each for each in barriers}
        for reads in self._reads.values():
            copy = reads[0].copy
            signalled = [by_key[key] for key in copy.barriers if key in by_key]
            for task in dict.fromkeys(each.access.task for each in reads):
                if not signalled or any(task in each.waiters for each in signalled):
                    continue
                if cta_of(signalled[0].maker) != cta_of(task):
                    continue  # a task cannot wait for a barrier of another CTA
                lines = {
                    each.access.site for each in reads if each.access.task in signalled[0].waiters
                }
                own = [each for each in reads if each.access.task == task]
                read = next((each for each in own if each.access.site in lines), None)
                own = self._own(task, copy, signalled[0], barriers) if read is not None else None
                if read is not None and own is not None:
                    yield BorrowedRead(read, signalled[0], *own)

    def _own(
        self, task: str, copy: Access, signalled: Generations, barriers: Sequence[Generations]
    ) -> tuple[Access, Generations] | None:
        """A copy like `copy` that a task waits for and reads, and no task that waits for
        `signalled` does."""
        for barrier in barriers:
            if barrier.owner != signalled.owner or task not in barrier.waiters:
                continue
            for reads in self._reads.values():
                own = reads[0].copy
                is_alike = own.region.owner == copy.region.owner and barrier.key in own.barriers
                readers = {each.access.task for each in reads}
                if is_alike and task in readers and not readers & set(signalled.waiters):
                    return own, barrier
        return None

    def released(self, copy: Access, access: Access, barriers: Sequence[Generations]) -> bool:
        """Whether the task of a read has read the data of a copy before, and released its slot."""
        for before in self._reads.get(copy.index, ()):
            again = CopyRead(copy, access, ())
            is_own = before.access.task == access.task
            if is_own and _released(before, again, barriers) is not None:
                return True
        return False

    def _is_read_after(self, wait: WaitRecord, copy: Access) -> bool:
        return any(
            each.access.event > wait.event and covers(each.seen, wait.component, wait.time)
            for each in self._reads.get(copy.index, ())
        )

    def _instead(
        self,
        wait: WaitRecord,
        barrier: Generations,
        meant: Sequence[Access],
        barriers: Sequence[Generations],
    ) -> Iterator[StaleRead]:
        """What the task read after a wait instead of what it waited for."""
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
            own = [each for each in reads if each.access.task == wait.task]
            if not own or own[0].access.event > wait.event:
                continue
            for read in own:
                event = read.access.event
                if event < wait.event or (end is not None and event > end):
                    continue
                found = _released(own[0], read, barriers)
                if found is not None:
                    yield StaleRead(read, own[0], *found, wait, barrier, meant[0])


def _released(
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
    """Reports on reads of the wrong copy, one per pair of lines; `text` formats an access."""
    signalled: dict[tuple[int, int], Finding] = {}
    for stale in deliveries.stale(barriers):
        made = _stale(stale, text)
        signalled.setdefault((made.site, stale.meant.site), made)
    for borrowed in () if signalled else deliveries.borrowed(barriers):
        made = _borrowed(borrowed, text)
        signalled.setdefault((made.site, borrowed.read.copy.site), made)
    return list(signalled.values())


def _stale(found: StaleRead, text: Callable[[Access], str]) -> Finding:
    read, meant, barrier = found.read.access, found.meant, found.barrier
    cause = Cause(
        "stale",
        f"{read.task} waits for {barrier.name}, which signals {meant.region.name}, and reads "
        f"{found.read.copy.region.name}",
        Remark(f"read {meant.region.name} here", read.site),
        barrier.owner,
        (
            Remark(f"{read.task} waits for {barrier.name} here", found.wait.site),
            Remark("it has read the same data here before", found.before.access.site),
            Remark(f"and released it on {found.released_on.name} here", found.released.site),
        ),
    )
    message = (
        f"{TITLES['stale']}: {text(read)} reads data that it has already read, and nothing after "
        f"its wait reads the data of {text(meant)}"
    )
    return Finding(message, read.site, cause, meant, read)


def _borrowed(found: BorrowedRead, text: Callable[[Access], str]) -> Finding:
    read, copy, own = found.read.access, found.read.copy, found.own
    cause = Cause(
        "stale",
        f"{read.task} does not wait for {found.barrier.name}, which signals {copy.region.name}; "
        f"it waits for {found.own_barrier.name}, which signals {own.region.name}",
        Remark(f"read {own.region.name} here, or wait for {found.barrier.name}", read.site),
        found.barrier.owner,
    )
    message = (
        f"{TITLES['stale']}: {text(read)} reads the data of {text(copy)}, which is for "
        f"{' and '.join(found.barrier.waiters) or 'other tasks'}"
    )
    return Finding(message, read.site, cause, copy, read)
