"""Layouts as a diagram: one SVG, no script, no font or file from elsewhere.

A panel for every buffer and every parallel loop; in it a grid with a box for each cell. The colour
of a box is that of the thread (modulo the palette), or the group of four banks for shared memory;
every box has its label and a title, so colours never carry meaning alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tilewright.layouts.diagram import DiagramCell, Grid
from tilewright.report.layout_document import Drawing, KernelLayouts
from tilewright.report.memory_svg import FILLS, INK, NAMESPACE, PAPER

_FILLS = (*FILLS, PAPER)
"""Eight: as many as there are groups of four banks."""
_MARGIN = 16
_LINE = 20
_CELL_HEIGHT = 18
_CHARACTER = 7
"""About the width of a character in a cell."""
_MIN_WIDTH = 640

_STYLE = f"""
text {{ font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {INK}; }}
.head {{ font-weight: bold; font-size: 15px; }}
.tick, .cell text {{ font-size: 11px; }}
.cell text {{ text-anchor: middle; pointer-events: none; }}
.cell rect {{ stroke: {INK}; stroke-width: .5; }}
.cell:hover rect {{ stroke-width: 2.5; }}
"""


def render(kernels: Sequence[KernelLayouts]) -> str:
    """A document of its own."""
    canvas = _Canvas()
    for kernel in kernels:
        canvas.kernel(kernel)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{canvas.document(standalone=True)}\n'


def panel(drawing: Drawing) -> str:
    """One diagram as an ``svg`` element for a page; "" if it has no diagram of its own."""
    if drawing.diagram is None:
        return ""
    canvas = _Canvas()
    canvas.grids(drawing)
    return canvas.document(standalone=False)


class _Canvas:
    """Draws from top to bottom; `y` is where the next thing goes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = _MARGIN
        self.width = _MIN_WIDTH

    def document(self, *, standalone: bool) -> str:
        height = self.y + _MARGIN
        namespace = f' xmlns="{NAMESPACE}"' if standalone else ""
        return "\n".join(
            [
                f'<svg{namespace} viewBox="0 0 {self.width} {height}" width="{self.width}"'
                f' height="{height}" role="img" aria-label="layouts">',
                f"<style>{_STYLE}</style>",
                f'<rect width="{self.width}" height="{height}" fill="{PAPER}"/>',
                *self.parts,
                "</svg>",
            ]
        )

    def text(self, text: str, kind: str = "") -> None:
        self.width = max(self.width, 2 * _MARGIN + (_CHARACTER + 2) * len(text))
        self.parts.append(
            f'<text class="{kind}" x="{_MARGIN}" y="{self.y + 14}">{escape(text)}</text>'
        )
        self.y += _LINE

    def kernel(self, layouts: KernelLayouts) -> None:
        self.text(f"{layouts.kernel} for {layouts.target}, {layouts.threads} threads", "head")
        for gemm in layouts.gemms:
            self.text(f"GEMM, {gemm}")
        for drawing in layouts.drawings:
            self.y += _LINE // 2
            self.text(drawing.heading, "head")
            for line in (each for each in (*drawing.properties, drawing.source) if each):
                self.text(line)
            if drawing.diagram is None:
                self.text(f"the same as {drawing.like}")
            else:
                self.grids(drawing)
        self.y += _LINE

    def grids(self, drawing: Drawing) -> None:
        assert drawing.diagram is not None
        self.text(drawing.diagram.legend, "tick")
        for grid in drawing.diagram.grids:
            if grid.title:
                self.text(grid.title, "tick")
            self._grid(drawing, grid)

    def _grid(self, drawing: Drawing, grid: Grid) -> None:
        longest = max((len(cell.label) for cell in grid.cells), default=1)
        width = _CHARACTER * longest + 8
        left = _MARGIN + _CHARACTER * (len(str(grid.rows)) + 1)
        self.width = max(self.width, left + width * grid.columns + _MARGIN)
        for column in range(grid.columns):
            x = left + column * width + width // 2
            self._tick(x, self.y + 12, str(column), "middle")
        top = self.y + _CELL_HEIGHT
        for row in range(grid.rows):
            self._tick(left - 6, top + row * _CELL_HEIGHT + 13, str(row), "end")
        self.parts += [
            _box(drawing, cell, left + cell.column * width, top + cell.row * _CELL_HEIGHT, width)
            for cell in grid.cells
        ]
        self.y = top + grid.rows * _CELL_HEIGHT + 4
        if grid.hidden:
            self.text(grid.hidden, "tick")

    def _tick(self, x: int, y: int, text: str, anchor: str) -> None:
        self.parts.append(
            f'<text class="tick" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'
        )


def _box(drawing: Drawing, cell: DiagramCell, x: int, y: int, width: int) -> str:
    fill = _FILLS[cell.colour % len(_FILLS)]
    return (
        f'<g class="cell" data-owner="{cell.colour}">'
        f"<title>{escape(cell_title(drawing, cell))}</title>"
        f'<rect x="{x}" y="{y}" width="{width}" height="{_CELL_HEIGHT}" fill="{fill}"/>'
        f'<text x="{x + width // 2}" y="{y + 13}">{cell.label}</text></g>'
    )


def cell_title(drawing: Drawing, cell: DiagramCell) -> str:
    """``C_local (1, 0): thread 4, register 0``."""
    element = f"{drawing.name} ({cell.row}, {cell.column})"
    if drawing.kind == "shared":
        byte, _, bank = cell.label.partition("/")
        return f"{element}: byte {byte}, bank {bank}"
    thread, _, rest = cell.label.partition(":")
    index, _, more = rest.partition("+")
    unit = "iteration" if drawing.kind == "loop" else "register"
    others = f", and {more} further threads" if more else ""
    return f"{element}: thread {thread}, {unit} {index}{others}"
