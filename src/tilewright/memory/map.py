"""The memory map of a kernel as plain values; rendering is done elsewhere.

One `MemoryMap` for each memory: its regions one above the other, each with a row per buffer, and
totals against the capacity of the target. All intervals are half-open and relative to the start
of their region. Space that no buffer covers is listed too, and what of it is due to alignment::

    qk      |0 ......................|1 ......................|
    p       |0     |1     |          |2     |3     |
    uncovered                                                 |//|   padding, or dead
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.memory.placement import Placement
from tilewright.memory.plan import StoragePlan
from tilewright.memory.targets import Memory, MemoryName, Target
from tilewright.memory.tree import describe, leaves
from tilewright.memory.tree_layout import Gap, TreePlacement
from tilewright.memory.workload import occupied


@dataclass(frozen=True)
class Interval:
    """``start .. end``, the end not included."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start}..{self.end}"


@dataclass(frozen=True)
class MapCell:
    """One buffer of a row: its index, its logical buffer in the tree, its address range."""

    index: int
    logical: int
    interval: Interval


@dataclass(frozen=True)
class Row:
    """One allocation. `path` is its path through the tree in prose, empty outside of trees."""

    name: str
    source: str
    path: str
    unit: int
    cells: tuple[MapCell, ...]
    phases: tuple[str, ...] = ()

    def __str__(self) -> str:
        cells = " ".join(f"[{cell.index}]{cell.interval}" for cell in self.cells)
        return f"{self.name}: {cells}"


@dataclass(frozen=True)
class RegionMap:
    """One region. `dead` is all that no buffer covers, `padding` what of it is due to alignment.

    `extent` is the storage the region takes, `used` where its last buffer ends. The region starts
    at `residue` modulo `alignment`. `notes` are sentences to stand below the picture.
    """

    name: str
    source: str
    memory: MemoryName
    extent: int
    used: int
    strides: tuple[int, ...]
    rows: tuple[Row, ...]
    dead: tuple[Interval, ...]
    padding: tuple[Interval, ...]
    alignment: int = 1
    residue: int = 0
    notes: tuple[str, ...] = ()

    @property
    def dead_total(self) -> int:
        return sum(interval.length for interval in self.dead)

    @property
    def padding_total(self) -> int:
        return sum(interval.length for interval in self.padding)

    @property
    def covered(self) -> int:
        """How much at least one buffer covers."""
        return self.extent - self.dead_total

    @property
    def waste(self) -> str:
        """The line of the under-utilisation report."""
        return f"padding {self.padding_total}, dead {self.dead_total}"

    def __str__(self) -> str:
        head = f"{self.name}: {self.extent} {self.memory.unit_name}, {self.waste}"
        return "\n  ".join([head, *(str(row) for row in self.rows)])


@dataclass(frozen=True)
class MemoryMap:
    """All regions of one memory. Without a target there is no capacity.

    `kernel` names the kernel in a module with several; they never share memory.
    """

    memory: MemoryName
    regions: tuple[RegionMap, ...]
    used: int
    capacity: int | None = None
    target: str = ""
    kernel: str = ""

    @property
    def free(self) -> int | None:
        """What is left; negative where there is too little."""
        return None if self.capacity is None else self.capacity - self.used

    def __str__(self) -> str:
        total = f"{self.used} {self.memory.unit_name} of {self.memory.full_name}"
        if self.kernel:
            total = f"@{self.kernel}: {total}"
        if self.capacity is not None:
            total += f", {self.target} has {self.capacity}"
        return "\n".join([total, *(str(region) for region in self.regions)])


def memory_maps(
    plans: Sequence[StoragePlan], target: Target | None = None, kernel: str = ""
) -> tuple[MemoryMap, ...]:
    """One map for each memory that a kernel uses."""
    return tuple(
        MemoryMap(
            memory,
            tuple(region_map(plan) for plan in own),
            occupied(own),
            None if target is None else target.capacity(memory),
            "" if target is None else target.name,
            kernel,
        )
        for memory in Memory
        if (own := [plan for plan in plans if plan.region.memory is memory])
    )


def region_map(plan: StoragePlan) -> RegionMap:
    """The picture of one region."""
    extent = plan.backing.allocated
    rows = tuple(_row(plan, placement) for placement in plan.placements)
    intervals = [cell.interval for row in rows for cell in row.cells]
    dead = tuple(_complement(intervals, extent))
    lost = [interval for tree in plan.trees for interval in _lost(tree, extent)]
    return RegionMap(
        plan.region.name,
        plan.region.source,
        plan.region.memory,
        extent,
        max(interval.end for interval in intervals),
        tuple(tree.stride for tree in plan.trees),
        rows,
        dead,
        tuple(_intersection(dead, _union(lost))),
        plan.backing.alignment,
        plan.backing.residue,
    )


def uncovered(rows: Sequence[Row], extent: int) -> tuple[Interval, ...]:
    """What of ``0 .. extent`` is in no cell of `rows`."""
    return tuple(_complement([cell.interval for row in rows for cell in row.cells], extent))


def _row(plan: StoragePlan, placement: Placement) -> Row:
    buffer = placement.buffer
    homes = [
        (tree, leaf)
        for tree in plan.trees
        for leaf in leaves(tree.tree)
        if leaf.buffer.name == buffer.name
    ]
    per_logical = homes[0][1].group_size if homes else 1
    cells = tuple(
        MapCell(index, index // per_logical, Interval(start, start + buffer.unit))
        for index, start in enumerate(placement.addresses)
    )
    path = describe(homes[0][0].tree, homes[0][1].path) if homes else ""
    phases = tuple(tree.phase for tree, _ in homes if tree.phase)
    return Row(buffer.name, buffer.source, path, buffer.unit, cells, phases)


def _lost(tree: TreePlacement, extent: int) -> Iterator[Interval]:
    """Every gap of `tree` in all of its logical buffers, as far as the region reaches.

    Space after the last logical buffer is not lost to alignment: it was requested.
    """
    logical = max(-(-each.buffer.count // each.group_size) for each in tree.placements)
    for gap in tree.gaps:
        for start in _starts(gap, logical):
            if start < extent:
                yield Interval(start, min(start + gap.length, extent))


def _starts(gap: Gap, logical: int) -> list[int]:
    """Where a gap is in each of `logical` buffers."""
    starts = [gap.offset]
    for level in gap.levels:
        repetitions = range(level.radix or logical)
        starts = [
            start + repetition * level.block for start in starts for repetition in repetitions
        ]
    return starts


def _union(intervals: Sequence[Interval]) -> list[Interval]:
    """The same points as disjoint intervals in ascending order."""
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda interval: (interval.start, interval.end)):
        if merged and interval.start <= merged[-1].end:
            merged[-1] = Interval(merged[-1].start, max(merged[-1].end, interval.end))
        elif interval.length > 0:
            merged.append(interval)
    return merged


def _complement(intervals: Sequence[Interval], extent: int) -> Iterator[Interval]:
    """What of ``0 .. extent`` is in no interval."""
    end = 0
    for interval in _union(intervals):
        if interval.start > end:
            yield Interval(end, interval.start)
        end = interval.end
    if end < extent:
        yield Interval(end, extent)


def _intersection(one: Sequence[Interval], two: Sequence[Interval]) -> Iterator[Interval]:
    """The common points of two ascending lists of disjoint intervals."""
    position = 0
    for interval in one:
        while position < len(two) and two[position].end <= interval.start:
            position += 1
        for other in two[position:]:
            if other.start >= interval.end:
                break
            yield Interval(max(interval.start, other.start), min(interval.end, other.end))
