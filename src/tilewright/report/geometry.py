"""Geometry of all memory maps: scales, depths and overlaps.

A picture has two axes. Across, a region's addresses are mapped to characters or pixels by a
`Scale`; what has a size is never drawn narrower than one step, so that a column of 512 can be seen.
Down, every buffer has a row of its own, so buffers that share storage stand above each other::

    qk       [0===================]
    p        [0======]
    depth     2        1            how many buffers are there
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row


@dataclass(frozen=True)
class Scale:
    """Maps ``0 .. extent`` to ``0 .. width``."""

    extent: int
    width: int

    def at(self, address: int) -> int:
        """The step that `address` falls into."""
        return address * self.width // max(self.extent, 1)

    def span(self, interval: Interval) -> Interval:
        """The cells that `interval` covers, at least one, and none past the end."""
        left = min(self.at(interval.start), self.width - 1)
        return Interval(left, min(max(self.at(interval.end), left + 1), self.width))


@dataclass(frozen=True)
class Depth:
    """A range of bytes with the same number of buffers."""

    interval: Interval
    count: int


def depths(region: RegionMap) -> tuple[Depth, ...]:
    """All of the region from left to right, split where the count changes."""
    changes: dict[int, int] = {0: 0, region.extent: 0}
    for row in region.rows:
        for cell in row.cells:
            changes[cell.interval.start] = changes.get(cell.interval.start, 0) + 1
            changes[cell.interval.end] = changes.get(cell.interval.end, 0) - 1
    found: list[Depth] = []
    count, start = 0, 0
    for address in sorted(changes):
        if changes[address] and address > start:
            found.append(Depth(Interval(start, address), count))
            start = address
        count += changes[address]
    if start < region.extent:
        found.append(Depth(Interval(start, region.extent), count))
    return tuple(found)


def is_overlap(one: Interval, two: Interval) -> bool:
    """Whether two intervals have a point in common."""
    return one.start < two.end and two.start < one.end


def sharers(region: RegionMap, row: Row, cell: MapCell) -> Iterator[tuple[Row, MapCell]]:
    """The buffers of other rows that overlap `cell`."""
    for other in region.rows:
        if other.name != row.name:
            for each in other.cells:
                if is_overlap(each.interval, cell.interval):
                    yield other, each


def gaps(region: RegionMap) -> tuple[tuple[str, Interval], ...]:
    """What no buffer covers, as ``padding`` (due to alignment) or ``dead``, in ascending order."""
    found: list[tuple[str, Interval]] = []
    pads = [*region.padding]
    position = 0
    for interval in region.dead:
        start = interval.start
        # Padding is part of dead space and both ascend, so one look at each is enough.
        while position < len(pads) and pads[position].start < interval.end:
            pad = pads[position]
            if start < pad.start:
                found.append(("dead", Interval(start, pad.start)))
            found.append(("padding", pad))
            start, position = pad.end, position + 1
        if start < interval.end:
            found.append(("dead", Interval(start, interval.end)))
    return tuple(found)


def full_scale(memory: MemoryMap, width: int) -> Scale:
    """The scale of totals: all of the capacity, or more where more is used."""
    return Scale(max(memory.capacity or 0, memory.used, 1), width)


def is_plain(region: RegionMap) -> bool:
    """Whether the region is an ordinary allocation, which shares no bytes."""
    return len(region.rows) == 1 and not region.rows[0].path


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def total_line(memory: MemoryMap) -> str:
    """``shared memory on sm_90: 131072 of 232448 bytes (56%), 101376 free``."""
    unit, what = memory.memory.unit_name, memory.memory.full_name
    if memory.kernel:
        what = f"{what} of @{memory.kernel}"
    if memory.capacity is None:
        return f"{what}: {memory.used} {unit}"
    head = f"{what} on {memory.target}: {memory.used} of {memory.capacity} {unit}"
    share = f" ({memory.used * 100 // memory.capacity}%)" if memory.capacity else ""
    free = memory.capacity - memory.used
    return f"{head}{share}, {free} free" if free >= 0 else f"{head}{share}, {-free} too many"


def region_line(region: RegionMap) -> str:
    """``131072 bytes, stride 32768, padding 0, dead 0``."""
    parts = [f"{region.extent} {region.memory.unit_name}"]
    if region.strides:
        parts.append(f"stride {' and '.join(map(str, region.strides))}")
    if region.residue:
        parts.append(f"base at {region.residue} modulo {region.alignment}")
    return ", ".join([*parts, region.waste])


def row_line(region: RegionMap, row: Row) -> str:
    """``4 x 16384 bytes, in phase load``."""
    text = f"{len(row.cells)} x {row.unit} {region.memory.unit_name}"
    return f"{text}, in phase {' and '.join(row.phases)}" if row.phases else text
