"""Layouts as a page: one file that works from disk, with nothing to fetch.

The panels are those of ``layout_svg``. When the pointer is over a cell, a line at the foot of the
window describes what it is, and all cells of the same thread, or of the same group of banks, are
marked. Without scripts the titles of the cells still have it. Each panel has its text version,
folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tilewright.report import layout_text
from tilewright.report.layout_document import Drawing, KernelLayouts
from tilewright.report.layout_svg import panel
from tilewright.report.memory_svg import INK, PAPER

_STYLE = f"""
body {{ margin: 1rem 1rem 6rem; background: {PAPER}; color: {INK};
  font: 15px/1.4 system-ui, sans-serif; }}
svg {{ max-width: none; }}
.scroll {{ overflow-x: auto; }}
pre, code {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
#hover {{ position: fixed; left: 0; right: 0; bottom: 0; min-height: 3em; padding: .5rem 1rem;
  background: #f2f2f2; border-top: 2px solid {INK};
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.cell.same rect {{ stroke-width: 2.5; }}
"""

_REST = "Point at a cell: all cells of the same thread, or the same banks, are marked."

_SCRIPT = """
"use strict";
const hover = document.getElementById("hover");
const rest = hover.textContent;
for (const panel of document.querySelectorAll("section")) {
  const cells = Array.from(panel.querySelectorAll("g.cell"));
  for (const cell of cells) {
    cell.addEventListener("mouseover", () => {
      hover.textContent = cell.querySelector("title").textContent;
      for (const other of cells)
        other.classList.toggle("same", other.dataset.owner === cell.dataset.owner);
    });
    cell.addEventListener("mouseout", () => {
      hover.textContent = rest;
      for (const other of cells) other.classList.remove("same");
    });
  }
}
"""


def render(kernels: Sequence[KernelLayouts]) -> str:
    """The page."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            "<title>Layouts</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            "<h1>Layouts</h1>",
            *_contents(kernels),
            *(line for index, each in enumerate(kernels) for line in _kernel(each, f"k{index}")),
            f'<div id="hover" role="status" aria-live="polite">{_REST}</div>',
            f"<script>{_SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _contents(kernels: Sequence[KernelLayouts]) -> Iterator[str]:
    yield "<ul>"
    for value, kernel in enumerate(kernels):
        for index, drawing in enumerate(kernel.drawings):
            target = f"k{value}-{index}"
            yield f'<li><a href="#{target}">{escape(drawing.heading)}</a></li>'
    yield "</ul>"


def _kernel(layouts: KernelLayouts, key: str) -> Iterator[str]:
    heading = f"{layouts.kernel} for {layouts.target}, {layouts.threads} threads"
    yield f"<h2>{escape(heading)}</h2>"
    if layouts.gemms:
        items = "".join(f"<li>{escape(each)}</li>" for each in layouts.gemms)
        yield f"<p>GEMMs</p><ul>{items}</ul>"
    for index, drawing in enumerate(layouts.drawings):
        yield from _section(drawing, f"{key}-{index}")


def _section(drawing: Drawing, key: str) -> Iterator[str]:
    yield f'<section id="{key}">'
    yield f"<h3>{escape(drawing.heading)}</h3>"
    for line in (each for each in (*drawing.properties, drawing.source) if each):
        yield f"<p><code>{escape(line)}</code></p>"
    if drawing.diagram is None:
        yield f"<p>The same as {escape(drawing.like)}.</p>"
    else:
        yield f'<div class="scroll">{panel(drawing)}</div>'
        text = escape(layout_text.drawing_text(drawing))
        yield f"<details><summary>as text</summary><pre>{text}</pre></details>"
    yield "</section>"
