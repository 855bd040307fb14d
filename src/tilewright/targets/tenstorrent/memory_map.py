"""The L1 of a core as a memory map: circular buffers by address, against what the chip has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row
from tilewright.memory.targets import L1
from tilewright.targets.tenstorrent.allocation import Allocation
from tilewright.targets.tenstorrent.program import Sharded


def l1_map(allocation: Allocation, names: Mapping[int, str] | None = None) -> MemoryMap:
    """Circular buffers of a program, at their offset from the first address that is free.

    `names` are those of the user's buffers, by index.
    """
    names = names or {}
    program = allocation.program
    base = program.chip.l1_reserved_bytes
    rows: list[Row] = []
    for config, address in zip(program.circular_buffers, allocation.cb_addresses, strict=True):
        for cb in config.circular_buffers:
            if config.buffer is not None:
                continue
            own = f"{names[cb.index]}, " if cb.index in names else ""
            note = f"{own}{cb.format.value} tiles"
            pages = config.pages(cb)
            rows.append(_row(f"c_{cb.index}", note, address - base, cb.page_bytes, pages))
    shards = _shards(allocation)
    size = sum(row.unit * len(row.cells) for row in shards)
    used = allocation.l1_used_bytes
    regions = [_region("circular buffers", used - size, rows, program.chip.l1_alignment)]
    if shards:
        regions.append(_region("shards of tensors", size, shards, program.chip.l1_alignment))
    return MemoryMap(
        L1, tuple(regions), used, program.chip.cb_budget_bytes, program.chip.name, program.name
    )


def _region(name: str, size: int, rows: Sequence[Row], alignment: int) -> RegionMap:
    return RegionMap(name, "", L1, size, size, (), tuple(rows), (), (), alignment)


def _row(name: str, note: str, start: int, page_bytes: int, pages: int) -> Row:
    cells = tuple(
        MapCell(page, page, Interval(first, first + page_bytes))
        for page in range(pages)
        for first in [start + page * page_bytes]
    )
    return Row(name, "", note, page_bytes, cells)


def _shards(allocation: Allocation) -> list[Row]:
    """Tensors in L1, which are at its end, at their offset from the first of them."""
    program = allocation.program
    buffers = [each for each in program.buffers if isinstance(each.layout, Sharded)]
    lowest = min((allocation.address(each.name) for each in buffers), default=0)
    rows: list[Row] = []
    for buffer in buffers:
        assert isinstance(buffer.layout, Sharded)
        indices = [
            f"c_{cb.index}"
            for config in program.circular_buffers
            if config.buffer == buffer.name
            for cb in config.circular_buffers
        ]
        where = f", {' and '.join(indices)}" if indices else ", read over the NoC"
        note = f"{buffer.layout}{where}"
        start = allocation.address(buffer.name) - lowest
        stride = allocation.page_stride(buffer)
        rows.append(_row(buffer.name, note, start, stride, buffer.layout.core_pages))
    return rows
