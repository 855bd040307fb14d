"""The shared memory of tile kernels as it stands: which buffer takes which bytes.

Buffers that a storage-alias plan has placed share their region; every other buffer is a region of
its own, at increasing offsets. A multi-buffered one shows one cell for each version. At the
thread level, where `place-shared-memory` has given addresses to all of them, there is one region:
the arena of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, KernelOp, SlotOp, names
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.ir.diagnostics import resolve
from tilewright.ir.traversal import walk
from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row
from tilewright.memory.targets import SMEM_SIBLING_ALIGNMENT, Memory, Target, target_named
from tilewright.passes.gpu.shared_sizes import bytes_of

_BARRIER_BYTES = 8


_Scope: TypeAlias = KernelOp | FuncOp
"""A kernel at tile level, or a device function at thread level."""


def has_tile_kernels(module: ModuleOp) -> bool:
    """Whether a module has kernels of `T`, at either level."""
    return any(_is_kernel(op) for op in walk(module))


def shared_memory_maps(module: ModuleOp, target: Target | None = None) -> tuple[MemoryMap, ...]:
    """One map for each kernel of the module."""
    kernels = [op for op in walk(module) if _is_kernel(op)]
    return tuple(_map_of(kernel, target, is_one=len(kernels) == 1) for kernel in kernels)


def _is_kernel(op: Operation) -> TypeGuard[_Scope]:
    return isinstance(op, KernelOp) or (
        isinstance(op, FuncOp) and simt_names.KERNEL in op.attributes
    )


def _map_of(kernel: _Scope, target: Target | None, *, is_one: bool) -> MemoryMap:
    regions = tuple(_regions(kernel))
    used = 0
    for region in regions:
        used = -(-used // region.alignment) * region.alignment + region.extent
    function = kernel if isinstance(kernel, FuncOp) else kernel.parent_op()
    name = function.sym_name.data if isinstance(function, FuncOp) and not is_one else ""
    target = target or _target_of(function)
    return MemoryMap(
        Memory.SMEM,
        regions,
        used,
        None if target is None else target.smem_bytes,
        "" if target is None else target.name,
        name,
    )


def _target_of(function: Operation | None) -> Target | None:
    """The GPU that a function is compiled for, if it is a known one."""
    stated = None if function is None else function.attributes.get(names.TARGET)
    if not isinstance(stated, TargetAttr) or stated.data.arch is None:
        return None
    try:
        return target_named(stated.data.arch)
    except LookupError:
        return None


def _regions(kernel: _Scope) -> Iterator[RegionMap]:
    allocs = [
        op
        for op in walk(kernel)
        if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier)
    ]
    if isinstance(kernel, FuncOp) and allocs and all(op.offset_bytes is not None for op in allocs):
        by_offset = sorted(allocs, key=lambda op: (op.offset_bytes or 0, op.buffer_name))
        yield _region(by_offset, "arena")
        return
    groups: dict[SSAValue | AllocOp, list[AllocOp]] = {}
    for op in allocs:
        groups.setdefault(op.alias or op, []).append(op)
    for members in groups.values():
        yield _region(members, " + ".join(op.buffer_name for op in members))


def _region(allocs: Sequence[AllocOp], name: str) -> RegionMap:
    rows = tuple(map(_row, allocs))
    extent = max(cell.interval.end for row in rows for cell in row.cells)
    first = allocs[0]
    alignment = _BARRIER_BYTES if first.space.is_barrier else SMEM_SIBLING_ALIGNMENT
    return RegionMap(
        name,
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
    size, start = bytes_of(alloc), alloc.offset_bytes or 0
    versions = _versions(alloc)
    unit = size // versions
    cells = tuple(
        MapCell(index, index, Interval(start + index * unit, start + (index + 1) * unit))
        for index in range(versions)
    )
    return Row(alloc.buffer_name, _source(alloc), "", unit, cells)


def _versions(alloc: AllocOp) -> int:
    """How many versions a multi-buffered allocation has; barriers count individually."""
    stated = alloc.attributes.get(simt_names.VERSIONS)
    if isinstance(stated, IntegerAttr):
        return stated.value.data
    is_ring = any(isinstance(use.operation, SlotOp) for use in alloc.result.uses)
    return alloc.type.get_shape()[0] if is_ring or alloc.space.is_barrier else 1


def _source(op: Operation) -> str:
    position = resolve(op.location).primary
    return "" if position is None else f"{position.file}:{position.line}"


def _uncovered(rows: Sequence[Row], extent: int) -> tuple[Interval, ...]:
    """What no buffer of a region covers."""
    found: list[Interval] = []
    reached = 0
    for interval in sorted(
        (cell.interval for row in rows for cell in row.cells), key=lambda p: p.start
    ):
        if interval.start > reached:
            found.append(Interval(reached, interval.start))
        reached = max(reached, interval.end)
    if reached < extent:
        found.append(Interval(reached, extent))
    return tuple(found)
