"""The memory map as a page: one file that works from disk, with nothing to fetch.

The diagram is that of ``memory_svg``. When the pointer is over a buffer, or the keyboard on it, a
line at the foot of the window names it (index, range, source line, tree path) and the buffers that
share storage with it are marked. Without scripts the titles of the diagram still have the same
text. A table below lists every buffer as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tilewright.memory.map import MemoryMap, RegionMap
from tilewright.report.geometry import total_line
from tilewright.report.memory_svg import INK, PAPER, drawing

_STYLE = f"""
body {{ margin: 1rem 1rem 9rem; background: {PAPER}; color: {INK};
  font: 15px/1.4 system-ui, sans-serif; }}
svg {{ max-width: 100%; height: auto; }}
#hover {{ position: fixed; left: 0; right: 0; bottom: 0; min-height: 6em; padding: .5rem 1rem;
  background: #f2f2f2; border-top: 2px solid {INK}; white-space: pre-wrap;
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.cell.sharing rect {{ stroke-width: 3; stroke-dasharray: 5 3; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid #bbb;
  vertical-align: top; }}
td.count {{ text-align: right; font-variant-numeric: tabular-nums; }}
"""

_REST = "Point at a buffer, or reach it with the Tab key."

_SCRIPT = """
"use strict";
const hover = document.getElementById("hover");
const rest = hover.textContent;
const cells = Array.from(document.querySelectorAll("g.cell"));
function overlaps(one, two) {
  return one !== two
    && one.id.split("-b")[0] === two.id.split("-b")[0]
    && parseInt(one.dataset.start, 10) < parseInt(two.dataset.end, 10)
    && parseInt(two.dataset.start, 10) < parseInt(one.dataset.end, 10);
}
function show(cell) {
  hover.textContent = cell.getAttribute("aria-label");
  for (const other of cells) other.classList.toggle("sharing", overlaps(cell, other));
}
function hide() {
  hover.textContent = rest;
  for (const cell of cells) cell.classList.remove("sharing");
}
for (const cell of cells) {
  cell.addEventListener("mouseover", () => show(cell));
  cell.addEventListener("focus", () => show(cell));
  cell.addEventListener("mouseout", hide);
  cell.addEventListener("blur", hide);
}
"""


def render(maps: Sequence[MemoryMap]) -> str:
    """The page."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            "<title>Memory map</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            "<h1>Memory map</h1>",
            *_summary(maps),
            drawing(maps, standalone=False),
            *_tables(maps),
            f'<div id="hover" role="status" aria-live="polite">{_REST}</div>',
            f"<script>{_SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _summary(maps: Sequence[MemoryMap]) -> Iterator[str]:
    for memory in maps:
        yield f"<p>{escape(total_line(memory))}</p>"
    yield (
        "<p>A row is an allocation, a box one of its buffers; boxes above each other overlap."
        " Hatched bytes belong to no buffer: hatched in one direction if alignment is the"
        " reason, in both if they are unused. The strip at the foot of a region counts"
        " the buffers at each offset.</p>"
    )


def _tables(maps: Sequence[MemoryMap]) -> Iterator[str]:
    for memory in maps:
        for region in memory.regions:
            yield from _table(region)


def _table(region: RegionMap) -> Iterator[str]:
    yield f"<h2>{escape(region.name)}</h2>"
    yield "<table>"
    heads = ("buffer", "index", f"{region.memory.unit_name}", "source", "path")
    yield f"<tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
    for row in region.rows:
        for cell in row.cells:
            texts = (row.name, str(cell.index), str(cell.interval), row.source, row.path)
            kinds = ("", "count", "count", "", "")
            columns = [
                f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
                for kind, text in zip(kinds, texts, strict=True)
            ]
            yield f"<tr>{''.join(columns)}</tr>"
    yield "</table>"
    if region.notes:
        yield f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in region.notes)}</ul>"
