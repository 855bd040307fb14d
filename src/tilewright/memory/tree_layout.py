"""Lays out a tree: every leaf gets its offset and levels.

Rules: docs/design/storage-alias.md#placement.

One logical buffer is laid out from left to right; groups of size above 1 repeat what they hold and
add a level to it; the root adds the last level, the stride. What differs between the two modes is
only how starts and distances are rounded up:

reindex   siblings to 128 bytes, or to the widest buffer below in tensor memory
explicit  the same, and on top what each view demands of its address. The region's base may sit at
          a residue, so that a buffer aligned to 256 can start 128 bytes into a region whose base
          is at 128 modulo 256. A stride only has to suit buffers that use it.

So where both modes are possible they give the same addresses. `Rounding.tight` drops the first part
and packs by the views' demands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.memory.placement import Level, Mode, Placement
from tilewright.memory.tree import Leaf, ReuseKind, Tree, granule, leaves
from tilewright.memory.units import Buffer, align_up


@dataclass(frozen=True)
class Rounding:
    """How starts and distances are rounded up. `residue` is that of the region's base address."""

    mode: Mode = Mode.REINDEX
    tight: bool = False
    residue: int = 0

    def __post_init__(self) -> None:
        if self.mode is Mode.REINDEX and (self.tight or self.residue):
            raise ValueError("re-indexing rounds to units; tight packing needs explicit placement")

    def step(self, tree: Tree) -> int:
        """What the start of a child of a distinct group is rounded to."""
        return 1 if self.tight else granule(tree)

    def start(self, position: int, buffer: Buffer) -> int:
        """The first offset for `buffer` that is not before `position`."""
        if self.mode is Mode.REINDEX:
            return position
        return align_up(self.residue + position, buffer.alignment) - self.residue

    def pitch(self, tree: Tree, demands: Sequence[Buffer]) -> int:
        """What the distance between repetitions of `tree` is rounded to."""
        if self.mode is Mode.REINDEX:
            return self.step(tree)
        return max(self.step(tree), *(buffer.alignment for buffer in demands), 1)


@dataclass(frozen=True)
class Gap:
    """Space lost to alignment: one interval, repeated over `levels` as a buffer is."""

    offset: int
    length: int
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class TreePlacement:
    """All leaves of one tree, from left to right. `size` is the end of what one stride holds."""

    tree: Tree
    stride: int
    size: int
    placements: tuple[Placement, ...]
    gaps: tuple[Gap, ...] = ()
    phase: str = ""

    @property
    def extent(self) -> int:
        return max(placement.extent for placement in self.placements)

    def of(self, name: str) -> Placement:
        """The placement of the leaf called `name`."""
        for placement in self.placements:
            if placement.buffer.name == name:
                return placement
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [f"stride {self.stride}", *(str(placement) for placement in self.placements)]
        return "\n  ".join(lines)


@dataclass
class Item:
    """A leaf, or a gap where `buffer` is None; outer levels are added on the path to the root."""

    buffer: Buffer | None
    offset: int
    length: int
    levels: list[Level] = field(default_factory=list[Level])


def lay(tree: Tree, start: int, rounding: Rounding) -> tuple[int, list[Item]]:
    """Place one logical buffer from `start`; returns its end and all items, leaves in order."""
    if isinstance(tree, Leaf):
        offset = rounding.start(start, tree.buffer)
        items = [Item(tree.buffer, offset, tree.buffer.unit), *_gap(start, offset)]
        return offset + tree.buffer.unit, items
    if tree.kind is ReuseKind.DISTINCT:
        return _lay_in_a_row(tree.children, start, rounding)
    end, items = start, list[Item]()
    for child in tree.children:
        child_end, child_items = lay(child, start, rounding)
        end = max(end, child_end)
        items += child_items
    if tree.group_size == 1:
        return end, items
    demands = [item.buffer for item in items if item.buffer is not None]
    block = align_up(end - start, rounding.pitch(tree, demands))
    items += _gap(end, start + block)
    for item in items:
        item.levels.append(Level(tree.group_size, block))
    return start + tree.group_size * block, items


def _lay_in_a_row(
    children: Sequence[Tree], start: int, rounding: Rounding
) -> tuple[int, list[Item]]:
    end, items = start, list[Item]()
    for child in children:
        begin = align_up(end, rounding.step(child))
        items += _gap(end, begin)
        end, child_items = lay(child, begin, rounding)
        items += child_items
    return end, items


def _gap(start: int, end: int) -> list[Item]:
    return [Item(None, start, end - start)] if end > start else []


def place_tree(tree: Tree, rounding: Rounding | None = None, phase: str = "") -> TreePlacement:
    """Place a valid tree from offset 0. Pure arithmetic: legality is checked on the result."""
    rounding = rounding or Rounding()
    end, items = lay(tree, 0, rounding)
    at = leaves(tree)
    repeated = [leaf.buffer for leaf in at if leaf.logical_count > 1]
    distance = align_up(end, rounding.pitch(tree, repeated))
    return _finished(tree, items, end, distance, phase)


def _finished(tree: Tree, items: list[Item], end: int, stride: int, phase: str) -> TreePlacement:
    outer = Level(None, stride)
    paths = (leaf.path for leaf in leaves(tree))
    placements = tuple(
        Placement(item.buffer, item.offset, (*item.levels, outer), next(paths))
        for item in items
        if item.buffer is not None
    )
    items = [*items, *_gap(end, stride)]
    gaps = tuple(
        Gap(item.offset, item.length, (*item.levels, outer))
        for item in items
        if item.buffer is None
    )
    return TreePlacement(tree, stride, end, placements, gaps, phase)
