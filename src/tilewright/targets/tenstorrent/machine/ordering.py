"""Happens-before between kernels of different cores: the order that semaphores establish.

A schedule shows a missing wait only if it happens to be unlucky. Here every kernel has a vector
clock, the latest event of each kernel that precedes its own next one. Increments and flags carry it
to the kernels that wait for them. Two events without order are a fault under every schedule:

    a store to a semaphore, and a remote write to it that neither precedes nor follows it
    a multicast into pages, and their reserve on the destination
    a multicast, and the push of its pages on the destination
    a multicast, and a read that overwrites its source
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.targets.tenstorrent.program import Core

Clock = dict[str, int]


@dataclass(frozen=True)
class Event:
    """One action of a kernel."""

    thread: str
    tick: int
    what: str


@dataclass(eq=False)
class Word:
    """The writes to a semaphore of a core."""

    store: Event | None = None
    """The last store of a kernel of the core."""
    remote: list[Event] = field(default_factory=list[Event])
    """Writes of other cores since then."""
    seen: Clock = field(default_factory=Clock)
    """The clock that a kernel takes over when its wait for the word ends."""
    senders: dict[Core, Clock] = field(default_factory=dict[Core, Clock])
    """The clocks of the last performed writes of other cores."""


@dataclass(frozen=True)
class Arrival:
    """Pages that a multicast writes on a destination."""

    address: int
    size: int
    event: Event

    def overlaps(self, address: int, size: int) -> bool:
        return self.address < address + size and address < self.address + self.size


@dataclass(frozen=True)
class Sent:
    """The source of a multicast, and the cores that have to have received it."""

    arrival: Arrival
    targets: tuple[Core, ...]


class KernelClock:
    """The clock of one kernel, and its multicasts."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        self.clock: Clock = {thread: 0}
        self.multicasts = 0
        """Data multicasts so far."""
        self.flushed = 0
        """Of these, how many have left."""
        self.acknowledged: dict[Core, int] = {}
        """Of these, how many each core has received for certain."""
        self.sent: list[Sent] = []

    @property
    def _data(self) -> str:
        """The component of a clock that counts the multicasts of this kernel that have arrived."""
        return f"{self.thread} data"

    def event(self, what: str) -> Event:
        """The next action of the kernel."""
        self.clock[self.thread] += 1
        return Event(self.thread, self.clock[self.thread], what)

    def follows(self, event: Event) -> bool:
        """Whether an event happens before the next one of this kernel."""
        return event.thread == self.thread or self.clock.get(event.thread, 0) >= event.tick

    # -- semaphores --------------------------------------------------------------------------

    def store(self, word: Word, report: Callable[[Event], None]) -> None:
        """A store to the own semaphore; `report` gets a remote write without order."""
        racing = [each for each in word.remote if not self.follows(each)]
        if racing:
            report(racing[0])
        word.store = self.event("store")
        word.remote.clear()

    def remote_write(
        self, word: Word, what: str, *, carries_data: bool, report: Callable[[Event], None]
    ) -> Callable[[Core], None]:
        """A write to a semaphore of another core; the result is to be called when it is performed.

        With `carries_data` the write arrives after the multicasts before it, otherwise after those
        that were flushed.
        """
        racing = [] if word.store is None or self.follows(word.store) else [word.store]
        racing += [
            each
            for each in word.remote
            if not self.follows(each) and (each.what != "increment" or what != "increment")
        ]
        if racing:
            report(racing[0])
        word.remote.append(self.event(what))
        arrived = self.multicasts if carries_data else self.flushed
        snapshot = {**self.clock, self._data: arrived}

        def performed(sender: Core) -> None:
            _join(word.seen, snapshot)
            word.senders[sender] = snapshot

        return performed

    def wait_ended(self, word: Word) -> None:
        """The kernel has read the value that it waited for."""
        _join(self.clock, word.seen)
        for core, snapshot in word.senders.items():
            count = snapshot.get(self._data, 0)
            self.acknowledged[core] = max(self.acknowledged.get(core, 0), count)

    # -- data --------------------------------------------------------------------------------

    def multicast(self, address: int, size: int, targets: tuple[Core, ...]) -> Arrival:
        """A multicast of pages."""
        self.multicasts += 1
        event = Event(self._data, self.multicasts, "multicast")
        arrival = Arrival(address, size, event)
        self.sent = [each for each in self.sent if not each.arrival.overlaps(address, size)]
        self.sent.append(Sent(arrival, targets))
        return arrival

    def flush(self) -> None:
        """All multicasts have left."""
        self.flushed = self.multicasts
        self.sent.clear()

    def overwrites(self, address: int, size: int) -> Event | None:
        """A multicast from bytes that may not have left yet."""
        for each in self.sent:
            tick = each.arrival.event.tick
            is_received = all(self.acknowledged.get(core, 0) >= tick for core in each.targets)
            if each.arrival.overlaps(address, size) and not is_received:
                self.sent.remove(each)
                return each.arrival.event
        return None


def _join(clock: Clock, other: Clock) -> None:
    for thread, tick in other.items():
        if clock.get(thread, 0) < tick:
            clock[thread] = tick
