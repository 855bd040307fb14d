"""A Tenstorrent program as one HTML file: cores, L1, the timeline of a core, traffic.

cores       the logical grid; every core shows the blocks that it computes
L1          circular buffers of a core against its budget (the memory map)
timeline    reader, compute and writer of one core with the fill of its circular buffers
traffic     DRAM pages as the plan predicts them and as the run counted them
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tilewright.analysis.ordering.timeline import Timeline
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.memory.map import MemoryMap
from tilewright.report.memory_svg import FILLS, INK, NAMESPACE, PAPER, drawing
from tilewright.report.task_timeline import timeline_svg
from tilewright.report.tenstorrent_text import (
    blocks_of,
    bytes_line,
    cores_line,
    multicasts,
    traffic_titles,
)
from tilewright.targets.tenstorrent.execution import Traffic

_CELL = 74
_ROW = 40
_MARGIN = 12

_STYLE = f"""
body {{ margin: 1rem; background: {PAPER}; color: {INK}; font: 15px/1.4 system-ui, sans-serif; }}
.scroll {{ overflow-x: auto; }}
text {{ font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {INK}; }}
.middle {{ text-anchor: middle; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid #bbb; }}
td.count {{ text-align: right; font-variant-numeric: tabular-nums; }}
"""


def program_html(
    plan: Plan,
    memory: MemoryMap,
    counted: Traffic | None = None,
    timeline: Timeline | None = None,
) -> str:
    """The page; without a run there is no timeline and no counted traffic."""
    title = escape(f"{plan.kernel} on {plan.arch}")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        "<h2>Cores</h2>",
        f"<p>{escape(cores_line(plan))}; a core shows its first and last block</p>",
        '<div class="scroll">',
        core_map_svg(plan),
        "</div>",
        *(f"<pre>{escape(each)}</pre>" for each in [multicasts(plan)] if each),
        "<h2>L1 of a core</h2>",
        '<div class="scroll">',
        drawing([memory], standalone=False),
        "</div>",
        *_timeline(timeline),
        "<h2>Traffic</h2>",
        *_traffic(plan, counted),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def core_map_svg(plan: Plan) -> str:
    """The logical core grid, a box a core, as an ``svg`` element."""
    columns, rows = plan.cores.grid
    width, height = columns * _CELL + 2 * _MARGIN, rows * _ROW + 2 * _MARGIN
    counts = sorted({core.count for core in plan.cores.assignments if core.count}, reverse=True)
    fills = {count: FILLS[n % len(FILLS)] for n, count in enumerate(counts)}
    lines = [
        f'<svg xmlns="{NAMESPACE}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="group">'
    ]
    step = plan.cores.num_cores if plan.schedule.policy == "strided" else 1
    for core in plan.cores.assignments:
        lines += _core(core, fills.get(core.count, PAPER), step)
    return "\n".join([*lines, "</svg>"])


def _core(core: Assignment, fill: str, step: int) -> Iterator[str]:
    x, y = _MARGIN + core.x * _CELL, _MARGIN + core.y * _ROW
    label = f"core ({core.x},{core.y}): {_blocks(core, step)}"
    yield (
        f'<g role="img" aria-label="{escape(label, quote=True)}"><title>{escape(label)}</title>'
        f'<rect x="{x}" y="{y}" width="{_CELL - 4}" height="{_ROW - 4}" fill="{fill}" '
        f'stroke="{INK}"/>'
    )
    middle = x + (_CELL - 4) // 2
    yield f'<text class="middle" x="{middle}" y="{y + 15}">{core.x},{core.y}</text>'
    yield f'<text class="middle" x="{middle}" y="{y + 30}">{blocks_of(core, step)}</text></g>'


def _blocks(core: Assignment, step: int) -> str:
    if not core.count:
        return "no block"
    if core.rect is not None:
        row, column, rows, columns = core.rect
        spans = f"rows {row}..{row + rows - 1}, columns {column}..{column + columns - 1}"
        return f"{core.count} blocks, {spans}"
    every = f", every {step}th" if step > 1 else ""
    return f"{core.count} blocks from {core.start_tile} on{every}"


def _timeline(timeline: Timeline | None) -> Iterator[str]:
    if timeline is None:
        return
    yield f"<h2>Timeline: {escape(timeline.title)}</h2>"
    yield "<p>Hatched: a kernel waits; r: pages are popped. Time counts events, not cycles.</p>"
    if timeline.notes:
        yield "<ul>"
        yield from (f"<li>{escape(note)}</li>" for note in timeline.notes)
        yield "</ul>"
    yield '<div class="scroll">'
    yield timeline_svg(timeline)
    yield "</div>"


def _traffic(plan: Plan, counted: Traffic | None) -> Iterator[str]:
    yield "<table><tr><th>pages</th><th>plan</th><th>run</th></tr>"
    for title, name in traffic_titles(plan):
        seen = "not run" if counted is None else str(getattr(counted, name))
        planned = getattr(plan.traffic, name)
        yield (
            f'<tr><td>{title}</td><td class="count">{planned}</td>'
            f'<td class="count">{seen}</td></tr>'
        )
    yield "</table>"
    if counted is not None:
        yield f"<p>{bytes_line(counted)}</p>"
