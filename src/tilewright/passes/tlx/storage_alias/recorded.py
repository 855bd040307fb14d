"""The regions of a lowered module, rebuilt from what lowering wrote on the views.

A record has the address of every buffer and its path through the groups. The paths of all buffers
make the trees, so diagrams and suggestions work for a lowered module as before lowering. Addresses
are those of the record, never planned anew; planning only determines how much uncovered space
is due to alignment, and is used where it computes the same addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.tlx import LocalAliasOp, PlacedAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.ir.traversal import walk
from tilewright.memory import (
    Backing,
    Buffer,
    Group,
    Leaf,
    Level,
    Memory,
    Mode,
    Options,
    Phase,
    Placement,
    StoragePlan,
    StorageRegion,
    Tree,
    TreePlacement,
    plan_region,
)
from tilewright.memory.targets import TMEM_COLUMN_BITS, TMEM_COLUMN_BYTES
from tilewright.memory.tree import leaves
from tilewright.passes.tlx.storage_alias.buffers import rows_of, span_bits
from tilewright.passes.tlx.storage_alias.carriers import array_of
from tilewright.passes.tlx.storage_alias.collect import Names, source_of
from tilewright.passes.tlx.storage_alias.materialise import residue_of
from tilewright.passes.tlx.storage_alias.plain import AllocationOp
from tilewright.passes.tlx.storage_alias.record import (
    Record,
    RecordError,
    TreeStep,
    read_record,
)

_BYTE = 8


_Member = tuple[tuple[TreeStep, ...], Buffer]
"""A buffer and what is left of its way."""


@dataclass(frozen=True)
class _View:
    """A view with its record; `buffer` is the allocation in the kernel."""

    op: LocalAliasOp | PlacedAliasOp
    record: Record
    buffer: Buffer


def recorded_plans(module: ModuleOp, taken: Iterable[str] = ()) -> dict[Operation, StoragePlan]:
    """A plan for every allocation of `module` that has recorded views, in module order.

    Raises ValueError where records make no sense, alone or together.
    """
    names = Names(taken)
    found: dict[AllocationOp, list[_View]] = {}
    for op in walk(module):
        if not isinstance(op, LocalAliasOp | PlacedAliasOp):
            continue
        owner, record = op.src.owner, read_record(op)
        if record is not None and isinstance(owner, AllocationOp):
            found.setdefault(owner, []).append(_View(op, record, _allocated(op, record)))
    return {op: _plan(op, names.of(op.result, "region"), views) for op, views in found.items()}


def _allocated(op: LocalAliasOp | PlacedAliasOp, record: Record) -> Buffer:
    """The array as it was before its first dimension was made longer."""
    buffer = array_of(record.buffer, op.result, source_of(op))
    return replace(buffer, count=record.count, declared=None)


def _plan(op: AllocationOp, name: str, views: Sequence[_View]) -> StoragePlan:
    buffers = tuple(view.buffer for view in views)
    trees = {phase: _tree(members) for phase, members in _by_phase(views).items()}
    region = StorageRegion(
        name,
        buffers[0].memory,
        buffers,
        tuple(Phase(tree, phase) for phase, tree in trees.items()),
        source=source_of(op),
    )
    is_placed = any(isinstance(view.op, PlacedAliasOp) for view in views)
    mode = Mode.EXPLICIT if is_placed else Mode.REINDEX
    backing = _backing(op, views)
    again = plan_region(region, Options(mode)).plan
    if again is not None and _agrees(again, views):
        return replace(again, backing=backing)
    placements = {view.record.buffer: _placement(view) for view in views}
    placed = tuple(_placed(tree, phase, placements, views) for phase, tree in trees.items())
    return StoragePlan(region, mode, placed, tuple(placements.values()), backing)


def _agrees(plan: StoragePlan, views: Sequence[_View]) -> bool:
    return all(plan.of(view.record.buffer).addresses == _addresses(view) for view in views)


def _addresses(view: _View) -> tuple[int, ...]:
    return tuple(view.record.address(index) for index in range(view.record.count))


def _placement(view: _View) -> Placement:
    levels = tuple(Level(radix, stride) for radix, stride in view.record.levels)
    return Placement(view.buffer, view.record.offset, levels)


def _placed(
    tree: Tree, phase: str, placements: Mapping[str, Placement], views: Sequence[_View]
) -> TreePlacement:
    """A tree as recorded, without alignment."""
    at = leaves(tree)
    own = tuple(replace(placements[leaf.buffer.name], path=leaf.path) for leaf in at)
    windows = {view.record.buffer: view.record.window for view in views}
    stride = windows[at[0].buffer.name]
    return TreePlacement(tree, stride, stride, own, phase=phase)


def _backing(op: AllocationOp, views: Sequence[_View]) -> Backing:
    """The allocation as it is in the module."""
    type = memdesc(op.result.type)
    needed = max(max(_addresses(view)) + view.buffer.unit for view in views)
    if isinstance(op, LocalAllocOp):
        size = span_bits(type) // _BYTE
        residue = residue_of(op)
        return Backing(Memory.SMEM, (size,), size, needed, op.alignment_bytes, residue)
    rows, columns = rows_of(type), span_bits(type) // TMEM_COLUMN_BITS
    size = rows * columns * TMEM_COLUMN_BYTES
    strictest = max(view.buffer.alignment for view in views)
    return Backing(Memory.TMEM, (rows, columns), size, needed, strictest, rows_needed=rows)


# -- trees ---------------------------------------------------------------------------------------


def _by_phase(views: Sequence[_View]) -> dict[str, list[_Member]]:
    members: dict[str, list[_Member]] = {}
    for view in views:
        for way in view.record.ways:
            members.setdefault(way.phase, []).append((way.steps, view.buffer))
    return members


def _tree(members: Sequence[_Member]) -> Tree:
    """The tree that all `members` have come through."""
    steps, buffer = members[0]
    if not steps:
        if len(members) > 1:
            raise RecordError(f"'{buffer.name}' and '{members[1][1].name}' have the same path")
        return Leaf(buffer)
    children: dict[int, list[_Member]] = {}
    for way, each in members:
        if not way or (way[0].kind, way[0].group_size) != (steps[0].kind, steps[0].group_size):
            raise RecordError(f"the paths of '{buffer.name}' and '{each.name}' disagree")
        children.setdefault(way[0].child, []).append((way[1:], each))
    # An unused view may be gone, so indices of children can have gaps.
    below = tuple(_tree(children[child]) for child in sorted(children))
    return Group(steps[0].kind, below, steps[0].group_size)
