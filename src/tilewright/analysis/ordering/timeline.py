"""The events of a run in order, as data for a timeline page.

Time is the index of an event. A lane is a task or an asynchronous unit; on it are spans (a wait, an
operation from issue to completion) and marks (arrivals, fences). Barriers have the times at which
their phases completed; buffers have spans from a write to the last read of what it wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

LaneKind: TypeAlias = Literal["task", "engine", "barrier", "buffer"]
MAX_EVENTS = 6000
"""A longer run is drawn up to here."""


@dataclass(frozen=True)
class Span:
    """An interval."""

    start: int
    end: int
    label: str
    style: str
    """`wait`, `operation`, `value`, `phase`."""


@dataclass(frozen=True)
class Mark:
    """A point in time."""

    at: int
    label: str
    style: str
    """`arrive`, `deliver`, `expect`, `fence`, `read`, `write`, `finding`."""


@dataclass(frozen=True)
class Point:
    """An event: its lane and its time."""

    kind: LaneKind
    lane: str
    at: int


@dataclass(frozen=True)
class MissingEdge:
    """Two accesses that nothing orders, and what is missing."""

    first: Point
    second: Point
    label: str


@dataclass
class Lane:
    """A row of the diagram."""

    kind: LaneKind
    name: str
    spans: list[Span] = field(default_factory=list[Span])
    marks: list[Mark] = field(default_factory=list[Mark])


@dataclass
class Timeline:
    """One run of the CTAs of a cluster."""

    title: str
    length: int = 0
    lanes: list[Lane] = field(default_factory=list[Lane])
    is_cut: bool = False
    """Whether the run continued past the recorded events."""
    notes: list[str] = field(default_factory=list[str])
    missing: list[MissingEdge] = field(default_factory=list[MissingEdge])
    """Of a run with a fault."""


class TimelineBuilder:
    """Collects events; each call records the next event."""

    def __init__(self, title: str) -> None:
        self.timeline = Timeline(title)
        self._lanes: dict[tuple[LaneKind, str], Lane] = {}
        self._open: dict[tuple[LaneKind, str, object], tuple[int, str, str]] = {}
        self._values: dict[str, tuple[int, int, str]] = {}

    def _next(self) -> int | None:
        """The time of a new event, None when there were too many."""
        timeline = self.timeline
        if timeline.length >= MAX_EVENTS:
            timeline.is_cut = True
            return None
        timeline.length += 1
        return timeline.length

    def lane(self, kind: LaneKind, name: str) -> Lane:
        found = self._lanes.get((kind, name))
        if found is None:
            found = self._lanes[kind, name] = Lane(kind, name)
            self.timeline.lanes.append(found)
        return found

    def mark(self, kind: LaneKind, name: str, style: str, label: str) -> None:
        at = self._next()
        if at is not None:
            self.lane(kind, name).marks.append(Mark(at, label, style))

    def begin(self, kind: LaneKind, name: str, key: object, style: str, label: str) -> None:
        """Something starts that `finish` with the same key ends."""
        at = self._next()
        if at is not None:
            self.lane(kind, name)
            self._open[kind, name, key] = at, label, style

    def finish(self, kind: LaneKind, name: str, key: object) -> None:
        at = self._next()
        started = self._open.pop((kind, name, key), None)
        if at is not None and started is not None:
            start, label, style = started
            self.lane(kind, name).spans.append(Span(start, at, label, style))

    def wrote(self, buffer: str, label: str) -> None:
        """A buffer gets a new value."""
        at = self._next()
        if at is not None:
            self._close(buffer)
            self.lane("buffer", buffer).marks.append(Mark(at, label, "write"))
            self._values[buffer] = at, at, label

    def read(self, buffer: str, label: str) -> None:
        at = self._next()
        if at is None:
            return
        self.lane("buffer", buffer).marks.append(Mark(at, label, "read"))
        value = self._values.get(buffer)
        if value is not None:
            self._values[buffer] = value[0], at, value[2]

    def _close(self, buffer: str) -> None:
        value = self._values.pop(buffer, None)
        if value is not None:
            self.lane("buffer", buffer).spans.append(Span(*value, "value"))

    def done(self) -> Timeline:
        """The data of the diagram; what is still in flight lasts to the end."""
        for buffer in list(self._values):
            self._close(buffer)
        for (kind, name, _), (start, label, style) in self._open.items():
            end = self.timeline.length
            self.lane(kind, name).spans.append(Span(start, end, f"{label} (not done)", style))
        self._open.clear()
        return self.timeline
