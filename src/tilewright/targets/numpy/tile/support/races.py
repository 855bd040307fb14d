"""Races between the iterations of a `tile.parallel`.

Iterations have no order: if two of them write different values to one element, or one reads what
another writes, the result is a matter of chance. Values that are the same for these inputs only are
different values: only what does not depend on the iteration is the same for sure.

For each buffer that such a loop writes (and whose accesses could not be shown to keep to themselves
when the code was written) the iteration that wrote an element is remembered, and two that read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, index_text

_position: Callable[[Any, Any], Any] = np.searchsorted
"""`np.searchsorted`, whose type does not cover arrays of unknown type."""


class _Log:
    """The accesses of the elements of one buffer; -1 stands for no iteration.

    Only accessed elements have an entry: a loop works on a tile, the buffer may be all of
    global memory.
    """

    def __init__(self) -> None:
        self.elements: Any = np.zeros(0, np.int64)
        """Flat indices, in rising order."""
        none = np.zeros(0, np.int64)
        self.writer, self.write_site = none, none
        self.source = none
        """Which iterations write the same value for sure; -1 if that is not known."""
        self.reader, self.read_site = none, none
        self.other = none
        """A second reader."""

    def entries(self, elements: Any) -> Any:
        """Where elements are noted; those that are new get an entry."""
        found = _position(self.elements, elements)
        known = np.zeros(len(elements), np.bool_)
        inside = found < len(self.elements)
        known[inside] = self.elements[found[inside]] == elements[inside]
        if known.all():
            return found
        grown = np.union1d(self.elements, elements)
        moved = _position(grown, self.elements)
        for name in ("writer", "write_site", "source", "reader", "read_site", "other"):
            wider = np.full(len(grown), -1, np.int64)
            wider[moved] = getattr(self, name)
            setattr(self, name, wider)
        self.elements = grown
        return _position(grown, elements)


class Races:
    """The accesses of one execution of a parallel loop."""

    def __init__(self, describe: Callable[[int], str]) -> None:
        self._describe = describe
        """Describes an iteration."""
        self._logs: dict[int, _Log] = {}

    def _log(self, buffer: TileBuffer) -> _Log:
        return self._logs.setdefault(id(buffer.data), _Log())

    def read(self, buffer: TileBuffer, elements: Any, lanes: Any, site: int) -> None:
        """Iterations `lanes` read `elements` (flat indices)."""
        log = self._log(buffer)
        at = log.entries(elements)
        writer = log.writer[at]
        bad = (writer >= 0) & (writer != lanes)
        if bad.any():
            one = int(np.argmax(bad))
            other = _Side("writes", int(writer[one]), int(log.write_site[at[one]]))
            me = _Side("reads", int(lanes[one]), site)
            raise self._problem(buffer, int(elements[one]), me, other)
        fresh = log.reader[at] < 0
        log.reader[at[fresh]] = lanes[fresh]
        log.read_site[at[fresh]] = site
        others = log.reader[at] != lanes
        log.other[at[others]] = lanes[others]

    def write(
        self,
        buffer: TileBuffer,
        elements: Any,
        lanes: Any,
        values: Any,
        site: int,
        sources: Any = None,
    ) -> None:
        """Iterations `lanes` are about to write `values` to `elements`.

        Those with the same number in `sources` write the same value whatever the inputs are.
        """
        log = self._log(buffer)
        at = log.entries(elements)
        for readers in (log.reader, log.other):
            reader = readers[at]
            bad = (reader >= 0) & (reader != lanes)
            if bad.any():
                one = int(np.argmax(bad))
                other = _Side("reads", int(reader[one]), int(log.read_site[at[one]]))
                me = _Side("writes", int(lanes[one]), site)
                raise self._problem(buffer, int(elements[one]), me, other)
        self._earlier(log, at, buffer, elements, lanes, values, site, sources)
        self._together(log, at, buffer, elements, lanes, values, site, sources)
        log.source[at] = -1 if sources is None else sources
        log.writer[at] = lanes
        log.write_site[at] = site

    def _earlier(
        self, log: _Log, at: Any, buffer: TileBuffer, elements: Any, lanes: Any, values: Any,
        site: int, sources: Any,
    ) -> None:  # fmt: skip
        """Another iteration wrote something else in a statement before."""
        writer = log.writer[at]
        suspects = (writer >= 0) & (writer != lanes)
        if not suspects.any():
            return
        there = buffer.data[np.unravel_index(elements, buffer.data.shape)]
        bad = _bits(there) != _bits(values)
        if sources is not None:
            # Values of two statements are the same for sure if neither changes at all.
            bad |= (log.source[at] >= 0) & ((log.source[at] > 0) | (sources > 0))
        bad &= suspects
        if bad.any():
            one = int(np.argmax(bad))
            other = _Side("writes", int(writer[one]), int(log.write_site[at[one]]))
            me = _Side("writes", int(lanes[one]), site)
            raise self._problem(buffer, int(elements[one]), me, other)

    def _together(
        self, log: _Log, at: Any, buffer: TileBuffer, elements: Any, lanes: Any, values: Any,
        site: int, sources: Any,
    ) -> None:  # fmt: skip
        """Two iterations of the same statement: the last one stands for all of them."""
        last = np.full(len(log.elements), -1, np.int64)
        last[at] = np.arange(len(at))
        winner = last[at]
        bits = _bits(values)
        bad = bits[winner] != bits
        if sources is not None:
            bad |= sources[winner] != sources
        if bad.any():
            one = int(np.argmax(bad))
            two = int(winner[one])
            me, other = (_Side("writes", int(lanes[each]), site) for each in (one, two))
            pair = f": {values[one]} and {values[two]}"
            raise self._problem(buffer, int(elements[one]), me, other, pair)

    def _problem(
        self, buffer: TileBuffer, element: int, me: _Side, other: _Side, values: str = ""
    ) -> RuntimeFault:
        index = [int(i) for i in np.unravel_index(element, buffer.data.shape)]
        first, second = self._describe(me.lane), self._describe(other.lane)
        what = index_text(buffer.name, index)
        message = f"data race in T.Parallel: {first} {me.verb} {what}, which {second} {other.verb}"
        if values:
            message += f" too{values}"
        notes: list[Note | str] = []
        if other.site != me.site:
            notes.append(Note(f"{second} {other.verb} it here", other.site))
        notes.append(buffer.describe())
        if me.verb == other.verb:
            fix = (
                "iterations are unordered: let each iteration write its own element, use "
                "T.atomic_add "
                "or T.reduce_*, or run that axis with T.serial"
            )
        else:
            fix = (
                "iterations are unordered: accumulate with T.atomic_add or T.reduce_*; if an "
                "iteration needs the old value, write to another buffer; if it needs the new one, "
                "split the loop in two"
            )
        return RuntimeFault("race", message, [*notes, fix], site=me.site)


@dataclass(frozen=True)
class _Side:
    """One of the two accesses of a race."""

    verb: str
    lane: int
    site: int


def _bits(values: Any) -> Any:
    """Elements as integers, which compare bit by bit."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
