"""Data races between programs: unordered accesses to one element, at least one of them a write.

On a GPU programs run in any order, at the same time. So it does not matter which of two accesses
came first here: if neither has to, what the kernel computes is up to chance. The rule, per element:

    write by p    against a read, write or update by another program      a race
    read by p     against a write or update by another program            a race
    update by p   against a plain read or write by another program        a race
    update by p   against an update by another program                    none: atomics are ordered

Programs may order themselves: an atomic access that releases, and one that acquires the same
element later, order what the first program did before the release before what the second does after
the acquire. Locks and flags work this way. `Ordering` follows them, for atomics of one element at a
time, and what is ordered is no race.

Per element the last writer, two updaters and two readers are recorded. That is enough to find a
race if there is one, unless a lock orders some of the programs; there are no false positives.
Atomic loads are not recorded: a plain write after them is not detected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, TypeAlias

import numpy as np

from tilewright.targets.numpy.access_hooks import CellAccess, Verdict
from tilewright.targets.numpy.api import Array, Site
from tilewright.targets.numpy.buffers import MemoryBlock

_Clock: TypeAlias = dict[int, int]
"""A vector clock: the number of releases of each program that have been observed."""

_ACQUIRES = frozenset(("acquire", "acq_rel"))
_RELEASES = frozenset(("release", "acq_rel"))


class Ordering:
    """Happens-before between programs through atomics.

    A program's time is the number of its releases. A program that acquires an element observes the
    times that earlier releases stored with it.
    """

    def __init__(self) -> None:
        self.times: _Clock = defaultdict(int)
        self._known: dict[int, _Clock] = {}
        self._released: dict[tuple[int, int], _Clock] = {}

    def synchronise(self, block: MemoryBlock, granule: int, program: int, semantic: str) -> None:
        """`program` carries out an atomic access with this memory semantic."""
        key = id(block), granule
        if semantic in _ACQUIRES and key in self._released:
            _learn(self._known.setdefault(program, {}), self._released[key])
        if semantic in _RELEASES:
            self.times[program] += 1
            known = self._known.setdefault(program, {})
            known[program] = self.times[program]
            _learn(self._released.setdefault(key, {}), known)

    def is_before(self, other: int, time: int, program: int) -> bool:
        """Whether what `other` did at `time` comes before what `program` does now."""
        return self._known.get(program, {}).get(other, 0) > time


def _is_atomic(site: Site) -> bool:
    """Whether a load or a store may be concurrent with atomics: ``tt.atomic_load`` and the like."""
    return site.text.startswith("tt.atomic_")


def _learn(clock: _Clock, news: _Clock) -> None:
    for program, time in news.items():
        if time > clock.get(program, 0):
            clock[program] = time


@dataclass(frozen=True)
class Other:
    """The earlier of two accesses that race."""

    program: int
    """Linear id."""
    site: Site
    verb: str


RaceReport: TypeAlias = Callable[[Verdict, Other], NoReturn]
"""Raises the fault of the access at hand, which races with the other one."""


class _Column:
    """For each granule the last program that did one kind of thing, when, and by which op."""

    def __init__(self, block: MemoryBlock, verb: str) -> None:
        self.verb = verb
        self._block = block
        self.is_empty = True

    @cached_property
    def programs(self) -> Array:
        """Linear id plus one; 0 for none."""
        return self._block.table(np.dtype(np.int32))

    @cached_property
    def times(self) -> Array:
        return self._block.table(np.dtype(np.int32))

    @cached_property
    def sites(self) -> Array:
        return self._block.table(np.dtype(np.int32))

    def enter(self, access: CellAccess, times: Array, where: Array | None = None) -> None:
        """Record the access, for all its lanes or some of them."""
        self.is_empty = False
        for table, values in (
            (self.programs, access.along(access.last)),
            (self.times, times),
            (self.sites, np.int32(access.site.index)),
        ):
            new = np.broadcast_to(np.asarray(values, np.int32), access.selection.shape)
            if where is not None:
                new = np.where(where, new, access.selection.take(table))
            access.selection.put(table, new)


class Races:
    """Watches a block for races between programs."""

    def __init__(
        self, block: MemoryBlock, sites: Sequence[Site], order: Ordering, report: RaceReport
    ) -> None:
        self._block = block
        self._sites = sites
        self._order = order
        self._report = report
        self._writers = _Column(block, "writes")
        self._updaters = _Column(block, "updates"), _Column(block, "updates")
        self._readers = _Column(block, "reads"), _Column(block, "reads")

    def begin(self, programs: Array) -> None:
        """Programs race across batches as within them."""

    def read(self, access: CellAccess) -> None:
        if _is_atomic(access.site):
            self._require(access, (self._writers,))
            self._synchronise(access)
            return
        self._require(access, (self._writers, *self._updaters))
        self._enter(self._readers, access)

    def write(self, access: CellAccess) -> None:
        if _is_atomic(access.site):
            self.update(access)
            return
        self._require(access, (self._writers, *self._updaters, *self._readers))
        self._writers.enter(access, self._times(access))
        self._require_alone(access)

    def update(self, access: CellAccess) -> None:
        self._require(access, (self._writers, *self._readers))
        self._enter(self._updaters, access)
        self._synchronise(access)

    def _synchronise(self, access: CellAccess) -> None:
        if access.site.shape:
            return
        granules = np.asarray(access.selection.elements()).reshape(-1)
        programs = np.broadcast_to(np.asarray(access.last), (len(granules),))
        for granule, program in zip(granules.tolist(), programs.tolist(), strict=True):
            self._order.synchronise(self._block, granule, program, access.site.semantic)

    def _enter(self, columns: tuple[_Column, _Column], access: CellAccess) -> None:
        """Keep two different programs: the first, and the last other one."""
        first, other = columns
        owner = access.selection.take(first.programs)
        own = (owner == 0) | (owner == access.along(access.last))
        times = self._times(access)
        first.enter(access, times, own)
        # Lanes that represent several programs have both.
        other.enter(access, times, np.ones_like(own) if access.is_shared else ~own)

    def _times(self, access: CellAccess) -> Array:
        """The time of the access in each program's own clock."""
        last = access.along(access.last)
        times = self._order.times
        if not times:
            return np.zeros((), np.int32)
        if isinstance(last, int):
            return np.array(times.get(last, 0), np.int32)
        return np.array([times.get(program, 0) for program in last.reshape(-1).tolist()]).reshape(
            last.shape
        )

    def _require(self, access: CellAccess, columns: tuple[_Column, ...]) -> None:
        for column in columns:
            if not column.is_empty and bool(self._races(access, column).any()):
                self._report_against(access, column)

    def _races(self, access: CellAccess, column: _Column) -> Array:
        """Which granules another program has in `column`, without an order."""
        owners = access.selection.take(column.programs)
        last = access.along(access.last)
        others: Array = (owners != 0) & (owners != last)
        if access.is_shared:
            others |= owners != 0
        if not self._order.times or not bool(others.any()):
            return others
        times = access.selection.take(column.times)
        programs = np.broadcast_to(np.asarray(last), others.shape)
        for index in map(tuple, np.argwhere(others).tolist()):
            if self._order.is_before(int(owners[index]), int(times[index]), int(programs[index])):
                others[index] = False
        return others

    def _report_against(self, access: CellAccess, column: _Column) -> None:
        race = self._races(access, column)
        index = tuple(np.argwhere(race)[0].tolist())
        program = int(access.selection.take(column.programs)[index])
        site_index = int(access.selection.take(column.sites)[index])
        other = Other(program - 1, self._sites[site_index], column.verb)
        self._report(lambda again: self._races(again, column), other)

    def _require_alone(self, access: CellAccess) -> None:
        """Within the op, no other program may write the same element."""
        if isinstance(access.last, int):
            if access.is_shared:
                other = Other(access.last - 1, access.site, "writes")
                self._report(lambda again: np.ones(again.selection.shape, np.bool_), other)
            return
        if not bool(self._overwritten(access).any()):
            return
        index = tuple(np.argwhere(self._overwritten(access))[0].tolist())
        program = int(access.selection.take(self._writers.programs)[index])
        self._report(self._overwritten, Other(program - 1, access.site, "writes"))

    def _overwritten(self, access: CellAccess) -> Array:
        return access.selection.take(self._writers.programs) != access.along(access.last)
