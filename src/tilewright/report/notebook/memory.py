"""Memory maps and storage plans in a notebook: the diagram, and the table of what is where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.memory.map import MemoryMap, memory_maps
from tilewright.report.geometry import total_line
from tilewright.report.memory_svg import drawing
from tilewright.report.notebook import html
from tilewright.report.notebook.cells import named

if TYPE_CHECKING:
    from tilewright.memory import StoragePlan
    from tilewright.runtime.memory_maps.kernels import KernelMemory


def plan_html(plan: StoragePlan) -> str:
    """The plan of one region."""
    return html.block(
        html.title(plan.region.name, f"placed by {plan.mode.name.lower()}"),
        *maps_html(memory_maps([plan])),
    )


def kernel_memory_html(memory: KernelMemory) -> str:
    """The memory of a kernel."""
    return html.block(html.title(memory.kernel, memory.note), *maps_html(memory.maps))


def maps_html(maps: Sequence[MemoryMap]) -> list[str]:
    """Diagrams, with a table of the same for readers without them."""
    rows = [
        (
            region.name,
            row.name,
            str(cell.index),
            f"{cell.interval} {region.memory.unit_name}",
            named(f"{row.source}:0").removesuffix(":0"),
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
