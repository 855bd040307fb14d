"""The L1 of a core as a memory map: circular buffers by address, against what the chip has."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row
from tilewright.memory.targets import L1
from tilewright.targets.tenstorrent.allocation import Allocation


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
            start = address - base
            cells = tuple(
                MapCell(page, page, Interval(first, first + cb.page_bytes))
                for page in range(config.pages(cb))
                for first in [start + page * cb.page_bytes]
            )
            own = f"{names[cb.index]}, " if cb.index in names else ""
            note = f"{own}{cb.format.value} tiles"
            rows.append(Row(f"c_{cb.index}", "", note, cb.page_bytes, cells))
    used = allocation.l1_used_bytes
    region = RegionMap(
        "circular buffers", "", L1, used, used, (), tuple(rows), (), (), program.chip.l1_alignment
    )
    return MemoryMap(
        L1, (region,), used, program.chip.cb_budget_bytes, program.chip.name, program.name
    )
