"""The shared memory of tile kernels as it stands: which buffer takes which bytes.

Buffers that a storage-alias plan has placed share their region; every other buffer is a region of
its own, one behind the other. A ring that pipelining made shows one cell for each version.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp, KernelOp, SlotOp, Space
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import resolve
from tilewright.ir.traversal import walk
from tilewright.memory.map import Cell, Interval, MemoryMap, RegionMap, Row
from tilewright.memory.targets import SMEM_SIBLING_ALIGNMENT, Memory, Target

_BARRIER_BYTES = 8


def has_tile_kernels(module: ModuleOp) -> bool:
    return any(isinstance(op, KernelOp) for op in walk(module))


def shared_memory_maps(module: ModuleOp, target: Target | None = None) -> tuple[MemoryMap, ...]:
    """One map for each kernel of the module."""
    kernels = [op for op in walk(module) if isinstance(op, KernelOp)]
    return tuple(_map_of(kernel, target, is_one=len(kernels) == 1) for kernel in kernels)


def _map_of(kernel: KernelOp, target: Target | None, *, is_one: bool) -> MemoryMap:
    groups: dict[SSAValue | AllocOp, list[AllocOp]] = {}
    for op in walk(kernel):
        if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier):
            groups.setdefault(op.alias or op, []).append(op)
    regions = tuple(_region(allocs) for allocs in groups.values())
    used = 0
    for region in regions:
        used = -(-used // region.alignment) * region.alignment + region.extent
    function = kernel.parent_op()
    name = function.sym_name.data if isinstance(function, FuncOp) and not is_one else ""
    return MemoryMap(
        Memory.SMEM,
        regions,
        used,
        None if target is None else target.smem_bytes,
        "" if target is None else target.name,
        name,
    )


def _region(allocs: Sequence[AllocOp]) -> RegionMap:
    rows = tuple(map(_row, allocs))
    extent = max(cell.place.end for row in rows for cell in row.cells)
    first = allocs[0]
    is_shared = len(allocs) > 1
    alignment = _BARRIER_BYTES if first.space.is_barrier else SMEM_SIBLING_ALIGNMENT
    return RegionMap(
        " + ".join(row.name for row in rows) if is_shared else rows[0].name,
        rows[0].source,
        Memory.SMEM,
        extent,
        extent,
        (),
        rows,
        _uncovered(rows, extent),
        (),
        alignment,
    )


def _row(alloc: AllocOp) -> Row:
    size, start = _bytes(alloc), alloc.offset_bytes or 0
    versions = _versions(alloc)
    unit = size // versions
    cells = tuple(
        Cell(index, index, Interval(start + index * unit, start + (index + 1) * unit))
        for index in range(versions)
    )
    return Row(alloc.buffer_name, _source(alloc), "", unit, cells)


def _bytes(alloc: AllocOp) -> int:
    count = prod(alloc.type.get_shape())
    if alloc.space in (Space.BARRIER, Space.CLUSTER_BARRIER):
        return count * _BARRIER_BYTES
    return count * bit_width(element_type_of(alloc.type)) // 8


def _versions(alloc: AllocOp) -> int:
    """How many versions a ring has; barriers count one by one."""
    is_ring = any(isinstance(use.operation, SlotOp) for use in alloc.result.uses)
    return alloc.type.get_shape()[0] if is_ring or alloc.space.is_barrier else 1


def _source(op: Operation) -> str:
    position = resolve(op.location).primary
    return "" if position is None else f"{position.file}:{position.line}"


def _uncovered(rows: Sequence[Row], extent: int) -> tuple[Interval, ...]:
    """What no buffer of a region covers."""
    found: list[Interval] = []
    reached = 0
    for place in sorted((cell.place for row in rows for cell in row.cells), key=lambda p: p.start):
        if place.start > reached:
            found.append(Interval(reached, place.start))
        reached = max(reached, place.end)
    if reached < extent:
        found.append(Interval(reached, extent))
    return tuple(found)
