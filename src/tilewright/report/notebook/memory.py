"""Memory maps and storage plans in a notebook: the diagram, and the table of what is where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.memory.map import MemoryMap, memory_maps
from tilewright.report import memory_text
from tilewright.report.geometry import total_line
from tilewright.report.memory_svg import drawing
from tilewright.report.notebook import html
from tilewright.report.notebook.cells import cell_name

if TYPE_CHECKING:
    from tilewright.memory import StoragePlan
    from tilewright.runtime.memory_maps.kernels import KernelMemory


def plan_html(plan: StoragePlan) -> str:
    """The plan of one region."""
    return html.block(
        html.title(plan.region.name, f"placed by {plan.mode.name.lower()}"),
        *maps_html(memory_maps([plan])),
    )


def plan_text(plan: StoragePlan) -> str:
    """The same for a terminal."""
    return _text(memory_maps([plan]))


def kernel_memory_html(memory: KernelMemory) -> str:
    """The memory of a kernel."""
    return html.block(html.title(memory.kernel, memory.note), *maps_html(memory.maps))


def kernel_memory_text(memory: KernelMemory) -> str:
    """The same for a terminal."""
    return _text(memory.maps)


def _text(maps: Sequence[MemoryMap]) -> str:
    return memory_text.render([_with_names_of_cells(each) for each in maps]).rstrip("\n")


def _with_names_of_cells(memory: MemoryMap) -> MemoryMap:
    regions = [
        replace(
            region,
            source=_named(region.source),
            rows=tuple(replace(row, source=_named(row.source)) for row in region.rows),
        )
        for region in memory.regions
    ]
    return replace(memory, regions=tuple(regions))


def _named(source: str) -> str:
    file, colon, line = source.rpartition(":")
    return f"{cell_name(file)}{colon}{line}"


def maps_html(maps: Sequence[MemoryMap]) -> list[str]:
    """Diagrams, with a table of the same for readers without them."""
    maps = [_with_names_of_cells(each) for each in maps]
    rows = [
        (
            region.name,
            row.name,
            str(cell.index),
            f"{cell.interval} {region.memory.unit_name}",
            row.source,
            row.path,
        )
        for memory in maps
        for region in memory.regions
        for row in region.rows
        for cell in row.cells
    ]
    heads = ("region", "buffer", "index", "where", "source", "path")
    totals = "; ".join(map(total_line, maps)) or "no shared or tensor memory is allocated"
    return [
        html.panel(drawing(maps, standalone=False, scope=".tilewright .panel ")),
        html.details(f"{totals}: table", html.table(heads, rows)) if rows else "",
    ]
