"""Races between the blocks of a launch.

Blocks run concurrently and in any order. If two of them write one element of a global tensor, or
one reads what another writes, the accesses are unordered, even if the values are equal. Here blocks
run sequentially, so a conflicting pair is found by recording, for every tensor that the kernel
writes, the accesses of each element: a *stamp* for the last plain write, the last atomic update,
and two blocks that read it.

    stamp    one statement of one block, between two points that order blocks
    floor    stamps up to it come before everything that follows: an earlier kernel of the function,
             or what was done before T.sync_grid

Atomic accesses do not race with one another. One that releases (`memory_order="release"` and
stronger) makes all that happens before it visible to blocks that acquire from the same tensor. What
a cluster did before its barrier happens before what its blocks do after it, and what a block did
before it arrives at the mbarrier of another one happens before what that does after the phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import currentframe
from typing import Any, Protocol

import numpy as np

from tilewright.targets.numpy.tile.support.problems import (
    Note,
    RuntimeFault,
    count_text,
    index_text,
)
from tilewright.targets.numpy.windows import Window

ACQUIRES = ("acquire", "consume", "acq_rel", "seq_cst")
RELEASES = ("release", "acq_rel", "seq_cst")


@dataclass(eq=False)
class Events:
    """The accesses of one block, in the order of segments, and the segments ordered before it."""

    block: tuple[int, ...]
    segment: int = 0
    """The number of the current segment; 0 before the first access of it."""
    own: list[int] = field(default_factory=list[int])
    """Its segments so far."""
    known: int = 0
    """Segments of other blocks that come before what it does now, a bit for each."""


class HasEvents(Protocol):
    """A block that runs."""

    events: Events


class HasState(Protocol):
    """What runs the blocks."""

    @property
    def state(self) -> HasEvents: ...


class Trace:
    """The accesses of the elements of one global tensor; its views share the record."""

    __slots__ = ("clock", "flat", "log", "name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.log: BlockLog | None = None
        """None while there is nothing to find: one block, or a tensor that is only read."""
        self.flat: dict[str, Any] = {}
        self.clock = 0
        """Segments that were released to blocks that acquire from the tensor."""


class Seen:
    """A trace in the shape of a buffer."""

    __slots__ = ("_shaped", "trace", "window")

    def __init__(self, trace: Trace, window: Window) -> None:
        self.trace = trace
        self.window = window
        """Where the elements of the buffer are among those of the trace."""
        self._shaped: dict[str, Any] = {}

    @classmethod
    def of_array(cls, name: str, array: Any) -> Seen:
        """For a tensor of its own; memory between its rows is part of the trace."""
        window = Window.of_array(array) or Window.rows(array.shape)
        return cls(Trace(name, window.reach()[1]), window)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.window.shape

    def viewed(self, window: Window, same_size: bool) -> Seen | None:
        """The same for a view; None if its elements are not those of the tensor."""
        if same_size:
            return Seen(self.trace, window.inside(self.window))
        if self.trace.log is not None:
            self.trace.log.give_up(self.trace)
        return None

    def _array(self, which: str) -> Any:
        found = self._existing(which)
        if found is None:
            self.trace.flat[which] = np.zeros(self.trace.size, np.int32)
            found = self._existing(which)
        return found

    def _existing(self, which: str) -> Any:
        found = self._shaped.get(which)
        if found is None and which in self.trace.flat:
            found = self._shaped[which] = self.window.over(self.trace.flat[which])
        return found

    def read(self, name: str, index: tuple[Any, ...]) -> None:
        """The current block reads elements."""
        log = self.trace.log
        if log is None:
            return
        self._check(log, name, index, "reads", ("writer", "updater"))
        reader = self._array("reader")
        before = reader[index]
        if log.is_past(before):
            reader[index] = log.stamp()
        elif not log.is_own(before):
            stamp = log.stamp()
            reader[index] = np.where(before <= log.floor, stamp, before)
            foreign = log.is_foreign(before)
            if foreign.any():
                other = self._array("other")
                other[index] = np.where(foreign, stamp, other[index])

    def write(self, name: str, index: tuple[Any, ...]) -> None:
        """The current block writes elements."""
        log = self.trace.log
        if log is None:
            return
        self._check(log, name, index, "writes", ("writer", "updater", "reader", "other"))
        self._array("writer")[index] = log.stamp()

    def write_one(self, name: str, index: tuple[Any, ...]) -> None:
        """The same for one element, which is what loops over elements do."""
        log = self.trace.log
        if log is None:
            return
        writer = self._shaped.get("writer")
        if writer is not None and log.first and len(self.trace.flat) == 1:
            before = writer[index]
            if before <= log.floor or before >= log.first:
                writer[index] = log.stamp()
                return
        self.write(name, index)

    def update(self, name: str, index: tuple[Any, ...]) -> None:
        """The current block updates elements atomically."""
        log = self.trace.log
        if log is None:
            return
        self._check(log, name, index, "updates", ("writer", "reader", "other"))
        self._array("updater")[index] = log.stamp()

    def look(self, name: str, index: tuple[Any, ...]) -> None:
        """The current block reads elements atomically."""
        if self.trace.log is not None:
            self._check(self.trace.log, name, index, "reads", ("writer",))

    def synchronise(self, order: str, *, reads: bool, writes: bool) -> None:
        """An atomic access of the tensor orders blocks."""
        log = self.trace.log
        if log is None:
            return
        events = log.events()
        if reads and order in ACQUIRES:
            events.known |= self.trace.clock
        if writes and order in RELEASES:
            self.trace.clock |= log.past(events)
            events.segment = 0

    def _check(
        self, log: BlockLog, name: str, index: tuple[Any, ...], verb: str, others: Sequence[str]
    ) -> None:
        for which in others:
            array = self._existing(which)
            if array is None:
                continue
            stamps = array[index]
            if log.is_past(stamps) or log.is_own(stamps):
                continue
            stamps = np.asarray(stamps)
            bad = log.is_foreign(stamps)
            if bad.any():
                bad &= ~np.isin(stamps, log.ordered(stamps[bad]))
            if bad.any():
                raise _problem(log, name, self.shape, index, verb, stamps, bad, _VERBS[which])


_VERBS = {"writer": "writes", "updater": "updates", "reader": "reads", "other": "reads"}


@dataclass(eq=False)
class BlockLog:
    """The accesses of one run of a function, by stamp."""

    runtime: HasState
    filename: str
    """The file of the generated code, whose lines map to the source of an access."""
    floor: int = 0
    first: int = 0
    """The first stamp of the running block, where blocks run sequentially; else 0."""
    not_analysed: list[str] = field(default_factory=list[str])
    acting: tuple[Events, int] | None = None
    """On whose behalf, and where, an engine works at the moment."""
    _stamps: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _segments: list[Events | None] = field(default_factory=lambda: [None])
    _of_stamp: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """Segment and line."""
    _block_ids: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    _block_of: Any = field(default_factory=lambda: np.zeros(64, np.int32))
    """The number of the block of a stamp."""
    _passed: set[object] = field(default_factory=set[object])
    _clocks: dict[object, int] = field(default_factory=dict[object, int])

    # -- blocks and sites --------------------------------------------------------------------

    def events(self) -> Events:
        """Of the block that acts."""
        return self.runtime.state.events if self.acting is None else self.acting[0]

    def issue_site(self, site: int) -> tuple[Events, int]:
        """The issuing block of an operation that is issued now, and its source line."""
        return self.events(), ~site

    def stamp(self) -> int:
        """For what the current statement of the current block does."""
        if self.acting is None:
            events, where = self.runtime.state.events, 0
            frame = currentframe()
            while frame is not None:
                if frame.f_code.co_filename == self.filename:
                    where = frame.f_lineno
                    break
                frame = frame.f_back
        else:
            events, where = self.acting
        key = events.segment or self._segment(events), where
        found = self._stamps.get(key)
        if found is None:
            found = self._stamps[key] = len(self._of_stamp)
            self._of_stamp.append(key)
            if found >= len(self._block_of):
                self._block_of = np.concatenate([self._block_of, np.zeros_like(self._block_of)])
            self._block_of[found] = self._block_id(events)
        return found

    def _segment(self, events: Events) -> int:
        if events.segment == 0:
            events.segment = len(self._segments)
            events.own.append(events.segment)
            self._segments.append(events)
        return events.segment

    def _block_id(self, events: Events) -> int:
        return self._block_ids.setdefault(events.block, len(self._block_ids) + 1)

    def begin_block(self) -> None:
        """A block starts, and the one before it has come to its end."""
        self.first = len(self._of_stamp)

    # -- order -------------------------------------------------------------------------------

    def is_past(self, stamps: Any) -> bool:
        """Whether all stamps come before a point that orders all blocks, or are none at all."""
        if not stamps.ndim:
            return stamps <= self.floor
        if not np.count_nonzero(stamps):  # by far the quickest question
            return True
        return self.floor > 0 and stamps.max() <= self.floor

    def is_own(self, stamps: Any) -> bool:
        """Whether all stamps are known to be of the current block."""
        if not self.first or self.acting is not None:
            return False
        return (stamps.min() if stamps.ndim else stamps) >= self.first

    def is_foreign(self, stamps: Any) -> Any:
        """Which stamps are of other blocks, since the last point that orders all."""
        me = self._block_id(self.events())
        return (stamps > self.floor) & (self._block_of[stamps] != me)

    def ordered(self, stamps: Any) -> list[int]:
        """Those of `stamps` that come before what the current block does."""
        known = self.events().known
        unique: list[int] = np.unique(stamps).tolist()
        return [each for each in unique if known >> self._of_stamp[each][0] & 1]

    def past(self, events: Events) -> int:
        """Segments that come before what a block does next, its own among them."""
        return sum(1 << segment for segment in events.own) | events.known

    def begin_kernel(self) -> None:
        """A kernel starts; the kernels of a function run sequentially."""
        self._passed.clear()
        self._clocks.clear()
        self.first = 0
        self._all_before()

    def _all_before(self) -> None:
        """Everything so far comes before what follows."""
        self.floor = len(self._of_stamp) - 1

    def passes_for_all(self, barrier: object) -> None:
        """A block continues after all blocks arrived at a barrier; called once by each block."""
        if barrier not in self._passed:
            self._passed.add(barrier)
            self._all_before()
        self.events().segment = 0

    def arrives(self, barrier: object) -> None:
        """A block comes to a barrier of some."""
        events = self.events()
        self._clocks[barrier] = self._clocks.get(barrier, 0) | self.past(events)

    def passes(self, barrier: object) -> None:
        """The block continues after the barrier."""
        events = self.events()
        events.known |= self._clocks[barrier]
        events.segment = 0

    def released(self) -> int:
        """What comes before an arrival of the block that acts; what it does next does not."""
        events = self.events()
        past = self.past(events)
        events.segment = 0
        return past

    def arrives_at(self, barrier: object, past: int) -> None:
        """An arrival at a barrier of another block, with what comes before it."""
        self._clocks[barrier] = self._clocks.get(barrier, 0) | past

    def observes(self, events: Events, barrier: object) -> None:
        """A block continues after a phase of its barrier, at which other blocks may arrive."""
        past = self._clocks.get(barrier, 0)
        if past & ~events.known:
            events.known |= past
            events.segment = 0

    def give_up(self, trace: Trace) -> None:
        """Report that a tensor is no longer analysed."""
        trace.log = None
        self.not_analysed.append(
            f"races between blocks on {trace.name}: it has views with another element size"
        )

    # -- reports -----------------------------------------------------------------------------

    def side(self, stamp: int) -> tuple[tuple[int, ...], int]:
        """The block and the line of a stamp."""
        segment, where = self._of_stamp[stamp]
        events = self._segments[segment]
        assert events is not None
        return events.block, where


def _problem(
    log: BlockLog,
    name: str,
    shape: tuple[int, ...],
    index: tuple[Any, ...],
    verb: str,
    stamps: Any,
    bad: Any,
    other_verb: str,
) -> RuntimeFault:
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    element = index_text(name, _element(index, first, shape))
    block, where = log.side(int(stamps[first]))
    me = log.events().block
    is_same = verb == other_verb
    message = (
        f"data race between blocks: block {me} {verb} {element}, which block {block} "
        f"{other_verb}{' too' if is_same else ''}"
    )
    notes: list[Note | str] = [_where(f"block {block} {other_verb} it here", where)]
    count = int(bad.sum())
    if count > 1:
        notes.append(f"{count_text(count, 'element')} of this access are affected")
    if "updates" in (verb, other_verb):
        fix = (
            "blocks run concurrently and in any order: an atomic update does not order a plain "
            f"access to the same element; make every access to {name} atomic, or split them into "
            "two kernels"
        )
    elif is_same:
        fix = (
            "blocks run concurrently and in any order, and equal values do not remove the "
            "race: let "
            f"each block write disjoint elements of {name}, or combine them with T.atomic_add and "
            "the like"
        )
    else:
        fix = (
            "blocks run concurrently and in any order: accumulate with T.atomic_add; if a block "
            "needs the old value, write to another tensor; if it needs the new one, put "
            "T.sync_grid() or release and acquire atomics between the two, or use a second "
            "T.Kernel after the first"
        )
    return RuntimeFault("race", message, [*notes, fix])


def _where(text: str, where: int) -> Note:
    return Note(text, line=where) if where >= 0 else Note(text, ~where)


def _element(index: tuple[Any, ...], at: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """The index of one element of an access."""
    if all(isinstance(each, slice) for each in index):
        return [
            i + each.indices(extent)[0] for i, each, extent in zip(at, index, shape, strict=True)
        ]
    whole = np.broadcast_arrays(*index)
    return [int(each[at]) for each in whole]
