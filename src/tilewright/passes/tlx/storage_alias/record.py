"""The guarantees about a buffer and its placement, written on the view that represents it.

A lowered module no longer shows which buffers share and where each is; both are recorded in the
attribute ``tlx.placement`` of every view, in builtin attributes that any MLIR parser reads::

    {buffer = "p", count = 4, offset = 0, radices = [2], strides = [32, 128], window = 128,
     paths = ["shared[1].distinct[0].shared*2[0]"]}

``count`` is the buffer count in the kernel; ``offset``, ``radices`` and ``strides`` are
those of ``tlx.placed_alias``, which has them itself. ``window`` is the distance between logical
buffers: a buffer stays in the window of its logical index. ``paths`` has one entry for every tree
the buffer is in: the groups from the root down, each with its size, and which child comes next.
From the paths of all buffers the trees can be rebuilt, so guarantees outlive the groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation

from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.ttg.base import integers
from tilewright.ir.traversal import walk
from tilewright.memory import Group, Path, Placement, ReuseKind, StoragePlan, Tree
from tilewright.memory.tree import leaves, node_at

PLACEMENT = "tlx.placement"


@dataclass(frozen=True)
class TreeStep:
    """One group on the path to a leaf, and the child that was taken."""

    kind: ReuseKind
    group_size: int
    child: int

    def __str__(self) -> str:
        size = f"*{self.group_size}" if self.group_size != 1 else ""
        return f"{self.kind}{size}[{self.child}]"


@dataclass(frozen=True)
class Way:
    """The path to a leaf in one tree; `phase` selects the tree where there are several."""

    phase: str
    steps: tuple[TreeStep, ...]

    def __str__(self) -> str:
        text = ".".join(map(str, self.steps))
        return f"{self.phase}: {text}" if self.phase else text


@dataclass(frozen=True)
class Record:
    """The attribute as values. `levels` are radix and stride, the last radix without limit."""

    buffer: str
    count: int
    offset: int
    levels: tuple[tuple[int | None, int], ...]
    window: int
    ways: tuple[Way, ...]

    @property
    def per_window(self) -> int:
        """How many buffers make one logical buffer."""
        return _repetitions(self.ways[0].steps) if self.ways else 1

    def address(self, index: int) -> int:
        """Where buffer `index` starts."""
        total = self.offset
        for radix, stride in self.levels:
            digit = index if radix is None else index % radix
            total += digit * stride
            index = 0 if radix is None else index // radix
        return total


class RecordError(ValueError):
    """A ``tlx.placement`` that cannot be read."""


def record_of(plan: StoragePlan, placement: Placement) -> Record:
    """What there is to keep of `placement`."""
    name = placement.buffer.name
    ways = tuple(
        Way(label, _steps(tree.tree, leaf.path))
        for label, tree in zip(_labels(plan), plan.trees, strict=True)
        for leaf in leaves(tree.tree)
        if leaf.buffer.name == name
    )
    radices: tuple[int | None, ...] = (*placement.radices, None)
    levels = tuple(zip(radices, placement.strides, strict=True))
    count, window = placement.buffer.count, placement.stride
    return Record(name, count, placement.offset, levels, window, ways)


def _labels(plan: StoragePlan) -> list[str]:
    """A name for every tree that no other has: its phase, or its number where that is not enough.

    The only tree needs none.
    """
    if len(plan.trees) == 1:
        return [""]
    names = [tree.phase for tree in plan.trees]
    return [
        name if name and names.count(name) == 1 else f"{name}#{index}"
        for index, name in enumerate(names)
    ]


def _steps(tree: Tree, path: Path) -> tuple[TreeStep, ...]:
    found: list[TreeStep] = []
    for depth, child in enumerate(path):
        group = node_at(tree, path[:depth])
        assert isinstance(group, Group)
        found.append(TreeStep(group.kind, group.group_size, child))
    return tuple(found)


def write_record(op: Operation, record: Record) -> None:
    """Put `record` on `op`."""
    entries: dict[str, Attribute] = {
        "buffer": StringAttr(record.buffer),
        "count": IntegerAttr(record.count, i64),
        "window": IntegerAttr(record.window, i64),
        "paths": ArrayAttr([StringAttr(str(way)) for way in record.ways]),
    }
    if not isinstance(op, PlacedAliasOp):
        radices = [radix for radix, _ in record.levels if radix is not None]
        entries |= {
            "offset": IntegerAttr(record.offset, i64),
            "radices": DenseArrayBase.from_list(i64, radices),
            "strides": DenseArrayBase.from_list(i64, [stride for _, stride in record.levels]),
        }
    op.attributes[PLACEMENT] = DictionaryAttr(entries)


def read_record(op: Operation) -> Record | None:
    """The record on `op`, if there is one. Raises RecordError where it makes no sense."""
    attribute = op.attributes.get(PLACEMENT)
    if attribute is None:
        return None
    if not isinstance(attribute, DictionaryAttr):
        raise RecordError(f"'{PLACEMENT}' is not a dictionary")
    entries = attribute.data
    if isinstance(op, PlacedAliasOp):
        offset, levels = op.start, op.levels
    else:
        offset = _integer(entries, "offset")
        radices: tuple[int | None, ...] = (*_integers(entries, "radices"), None)
        strides = _integers(entries, "strides")
        if len(strides) != len(radices):
            raise RecordError(f"'{PLACEMENT}' needs one stride more than radices")
        levels = tuple(zip(radices, strides, strict=True))
    count, window = _integer(entries, "count"), _integer(entries, "window")
    radices = tuple(radix for radix, _ in levels)
    if min(count, window, *(radix or 1 for radix in radices)) < 1:
        raise RecordError(f"'{PLACEMENT}' has a count, window or radix below 1")
    return Record(_text(entries, "buffer"), count, offset, levels, window, _ways(entries))


def drop_records(module: ModuleOp) -> None:
    """Take all records away."""
    for op in walk(module):
        op.attributes.pop(PLACEMENT, None)


def _entry(entries: Mapping[str, Attribute], name: str) -> Attribute:
    if name not in entries:
        raise RecordError(f"'{PLACEMENT}' has no '{name}'")
    return entries[name]


def _integer(entries: Mapping[str, Attribute], name: str) -> int:
    found = _entry(entries, name)
    if not isinstance(found, IntegerAttr):
        raise RecordError(f"'{name}' of '{PLACEMENT}' is not an integer")
    return found.value.data


def _integers(entries: Mapping[str, Attribute], name: str) -> tuple[int, ...]:
    found = _entry(entries, name)
    if not isinstance(found, DenseArrayBase) or found.elt_type != i64:
        raise RecordError(f"'{name}' of '{PLACEMENT}' is not an array of integers")
    return integers(cast("DenseArrayBase[IntegerType]", found))


def _text(entries: Mapping[str, Attribute], name: str) -> str:
    found = _entry(entries, name)
    if not isinstance(found, StringAttr):
        raise RecordError(f"'{name}' of '{PLACEMENT}' is not a string")
    return found.data


def _ways(entries: Mapping[str, Attribute]) -> tuple[Way, ...]:
    found = _entry(entries, "paths")
    if not isinstance(found, ArrayAttr):
        raise RecordError(f"'paths' of '{PLACEMENT}' is not an array of strings")
    return tuple(_way(each) for each in found)


_STEP = re.compile(r"(shared|distinct)(?:\*(\d+))?\[(\d+)\]")


def _way(attribute: Attribute) -> Way:
    if not isinstance(attribute, StringAttr):
        raise RecordError(f"'paths' of '{PLACEMENT}' is not an array of strings")
    phase, separator, text = attribute.data.rpartition(": ")
    steps: list[TreeStep] = []
    for part in text.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise RecordError(f"'{attribute.data}' is not a path through groups")
        steps.append(TreeStep(ReuseKind(match[1]), int(match[2] or 1), int(match[3])))
    return Way(phase if separator else "", tuple(steps))


@dataclass(frozen=True)
class PathGuarantee:
    """What two paths guarantee about their buffers: see ``memory.relations``."""

    kind: ReuseKind
    first_per: int
    second_per: int


def guarantee_of(first: Way, second: Way) -> PathGuarantee | None:
    """The guarantee about two leaves of one tree; None for leaves of different trees."""
    if first.phase != second.phase:
        return None
    depth = 0
    for one, two in zip(first.steps, second.steps, strict=False):
        if one != two:
            break
        depth += 1
    if depth >= min(len(first.steps), len(second.steps)):
        raise RecordError("two buffers have the same path")
    one, two = first.steps[depth], second.steps[depth]
    if (one.kind, one.group_size) != (two.kind, two.group_size):
        raise RecordError(f"paths disagree about a group: {one} and {two}")
    per = [_repetitions(way.steps[depth + 1 :]) for way in (first, second)]
    return PathGuarantee(one.kind, per[0], per[1])


def _repetitions(steps: Iterable[TreeStep]) -> int:
    total = 1
    for step in steps:
        total *= step.group_size
    return total
