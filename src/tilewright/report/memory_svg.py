"""The memory map as a diagram: one SVG, no script, no font or file from elsewhere.

For every memory a bar of totals against the capacity, and below it a panel for each region. In a
panel every allocation has a row and every buffer a box with its index; boxes that share storage
are above each other. Space that no buffer covers is hatched over the height of the panel, and a
strip at its foot counts the buffers. Every box has a title, which viewers show when the pointer
rests on it, and the numbers as ``data-`` attributes.

Colours distinguish rows but never carry meaning alone: every box has its index, every row its name,
and text keeps a contrast of at least 7 to 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap

from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row
from tilewright.report.geometry import (
    Scale,
    depths,
    full_scale,
    gaps,
    is_plain,
    region_line,
    row_line,
    sharers,
    shortened,
    total_line,
)

NAMESPACE = "http://www.w3.org/2000/svg"

INK = "#1a1a1a"
PAPER = "#ffffff"
# Tints of the palette of Okabe and Ito, which colour-blind readers can distinguish.
FILLS = ("#f5c869", "#9bd3f4", "#66c5ab", "#f6ee8e", "#7fb8d8", "#efa06b", "#e5b9d1")

_CHART = 760
_LABEL = 150
_MARGIN = 16
WIDTH = _MARGIN + _LABEL + _CHART + _MARGIN
_ROW = 26
_LINE = 20
_STRIP = 14
_NOTE_WIDTH = 120
_DIGIT = 8
"""About the width of a digit."""

MAX_NAME = 18
MAX_SHARERS = 6
"""Buffers over the same storage that a title names."""

_MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_RULES = (
    (("text",), f"font: 13px {_MONO}; fill: {INK};"),
    ((".head",), "font-weight: bold; font-size: 15px;"),
    ((".index",), "text-anchor: middle; pointer-events: none;"),
    ((".tick",), "font-size: 11px;"),
    ((".cell rect",), f"stroke: {INK}; stroke-width: 1;"),
    ((".cell:hover rect", ".cell:focus rect"), "stroke-width: 3;"),
    ((".cell:focus",), "outline: none;"),
    ((".frame",), f"fill: none; stroke: {INK};"),
)

_PATTERNS = f"""\
<pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse">\
<path d="M0 6 6 0" stroke="{INK}" stroke-width="1"/></pattern>
<pattern id="dead" width="6" height="6" patternUnits="userSpaceOnUse">\
<path d="M0 6 6 0M0 0 6 6" stroke="{INK}" stroke-width="1"/></pattern>"""


def render(maps: Sequence[MemoryMap]) -> str:
    """A document of its own."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing(maps, standalone=True)}\n'


def drawing(maps: Sequence[MemoryMap], *, standalone: bool, scope: str = "") -> str:
    """The ``svg`` element. Inside HTML it needs no namespace.

    `scope` precedes the selectors of its styles, for pages with other diagrams.
    """
    canvas = _Canvas()
    for index, memory in enumerate(maps):
        canvas.memory(memory, f"m{index}")
    if not maps:
        canvas.text(_MARGIN, "no shared or tensor memory is allocated", "head")
        canvas.y += _LINE
    height = canvas.y + _MARGIN
    namespace = f' xmlns="{NAMESPACE}"' if standalone else ""
    return "\n".join(
        [
            f'<svg{namespace} viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' role="img" aria-label="memory map">',
            f"<style>{_style(scope)}</style>",
            f"<defs>\n{_PATTERNS}\n</defs>",
            f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
            *canvas.parts,
            "</svg>",
        ]
    )


def _style(scope: str) -> str:
    rules = (
        f"{', '.join(scope + selector for selector in selectors)} {{ {declarations} }}\n"
        for selectors, declarations in _RULES
    )
    return "\n" + "".join(rules)


def cell_title(region: RegionMap, row: Row, cell: MapCell) -> str:
    """The title of one buffer: name, index, range, source line, tree path, overlapping buffers."""
    lines = [f"{row.name}[{cell.index}]: {region.memory.unit_name} {cell.interval}"]
    lines += [text for text in (row_line(region, row), row.source, row.path) if text]
    others = [f"{other.name}[{each.index}]" for other, each in sharers(region, row, cell)]
    if others:
        more = f" and {len(others) - MAX_SHARERS} more" if len(others) > MAX_SHARERS else ""
        lines.append(f"over {', '.join(others[:MAX_SHARERS])}{more}")
    return "\n".join(lines)


class _Canvas:
    """Draws from top to bottom; `y` is where the next thing goes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = _MARGIN

    def text(self, x: int, text: str, kind: str, *, anchor: str = "start") -> None:
        self.parts.append(
            f'<text class="{kind}" x="{x}" y="{self.y + 14}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def memory(self, memory: MemoryMap, key: str) -> None:
        self.text(_MARGIN, total_line(memory), "head")
        self.y += _LINE + 4
        self._totals(memory)
        keyed = [(f"{key}-r{index}", region) for index, region in enumerate(memory.regions)]
        for name, region in keyed:
            if not is_plain(region):
                self._region(region, name)
        self._plain([(name, region) for name, region in keyed if is_plain(region)])
        self.y += _LINE

    def _plain(self, keyed: Sequence[tuple[str, RegionMap]]) -> None:
        """Ordinary allocations share no bytes; a row each, at its own scale, is enough."""
        if not keyed:
            return
        self.y += _LINE // 2
        self.text(_MARGIN, "plain allocations, each at its own scale", "head")
        self.y += _LINE + 4
        for key, region in keyed:
            (row,) = region.rows
            size = str(region.extent)
            label = f"{shortened(row.name, MAX_NAME - 1 - len(size))} {size}"
            self._row(region, row, Scale(region.extent, _CHART), f"{key}-b0", PAPER, label)

    def _totals(self, memory: MemoryMap) -> None:
        """All regions in one row, and a line where the capacity ends."""
        scale = full_scale(memory, _LABEL + _CHART)
        start = 0
        for index, region in enumerate(memory.regions):
            span = scale.span(Interval(start, start + region.extent))
            title = f"{region.name}: {region_line(region)}"
            box = _rect(_MARGIN + span.start, self.y, span.length, _STRIP, _fill(index))
            self.parts.append(f'<g class="total">{box}<title>{escape(title)}</title></g>')
            start += region.extent
        if memory.capacity is not None:
            end = scale.at(memory.capacity)
            self.parts.append(
                f'<rect class="frame" x="{_MARGIN}" y="{self.y}" width="{end}" height="{_STRIP}"/>'
            )
        self.y += _STRIP + _LINE // 2

    def _region(self, region: RegionMap, key: str) -> None:
        self.y += _LINE // 2
        self.text(_MARGIN, f"{region.name}: {region_line(region)}", "head")
        self.y += _LINE
        scale = Scale(region.extent, _CHART)
        self._ruler(scale)
        height = _ROW * len(region.rows)
        left = _MARGIN + _LABEL
        for kind, interval in gaps(region):
            span = scale.span(interval)
            title = f"{kind}: {region.memory.unit_name} {interval}"
            box = _rect(left + span.start, self.y, span.length, height + _STRIP, f"url(#{kind})")
            self.parts.append(f'<g class="{kind}">{box}<title>{title}</title></g>')
        for index, row in enumerate(region.rows):
            self._row(region, row, scale, f"{key}-b{index}", _fill(index))
        self._strip(region, scale)
        frame = f'width="{_CHART}" height="{height + _STRIP}"'
        self.parts.append(f'<rect class="frame" x="{left}" y="{self.y - height}" {frame}/>')
        self.y += _STRIP + _LINE // 2
        for line in [each for note in region.notes for each in wrap(note, _NOTE_WIDTH)]:
            self.y += _LINE
            self.text(_MARGIN, line, "tick")

    def _ruler(self, scale: Scale) -> None:
        left = _MARGIN + _LABEL
        parts = 4 if scale.extent % 4 == 0 else 1
        for part in range(parts):
            address = scale.extent * part // parts
            self.text(left + scale.at(address), str(address), "tick")
        self.text(left + scale.width, str(scale.extent), "tick", anchor="end")
        self.y += _LINE

    def _row(
        self, region: RegionMap, row: Row, scale: Scale, key: str, fill: str, label: str = ""
    ) -> None:
        label = label or shortened(row.name, MAX_NAME)
        self.parts.append(
            f'<g class="row" data-buffer="{escape(row.name)}">'
            f'<text x="{_MARGIN}" y="{self.y + 18}">{escape(label)}'
            f"<title>{escape(row.name)}</title></text>"
        )
        for cell in row.cells:
            self.parts += self._cell(region, row, cell, scale.span(cell.interval), key, fill)
        self.parts.append("</g>")
        self.y += _ROW

    def _cell(
        self, region: RegionMap, row: Row, cell: MapCell, span: Interval, key: str, fill: str
    ) -> Iterator[str]:
        title = cell_title(region, row, cell)
        x, y = _MARGIN + _LABEL + span.start, self.y + 3
        data = (
            f'data-region="{escape(region.name)}" data-buffer="{escape(row.name)}"'
            f' data-index="{cell.index}" data-start="{cell.interval.start}"'
            f' data-end="{cell.interval.end}" data-source="{escape(row.source)}"'
            f' data-path="{escape(row.path)}"'
        )
        yield (
            f'<g class="cell" id="{key}-{cell.index}" tabindex="0" role="img"'
            f' aria-label="{escape(title)}" {data}>'
            f"<title>{escape(title)}</title>{_rect(x, y, span.length, _ROW - 6, fill)}"
        )
        if span.length >= _DIGIT * len(str(cell.index)) + 4:
            yield f'<text class="index" x="{x + span.length // 2}" y="{y + 15}">{cell.index}</text>'
        yield "</g>"

    def _strip(self, region: RegionMap, scale: Scale) -> None:
        """The number of buffers at each offset: a count, and the darker the more."""
        self.parts.append(f'<text class="tick" x="{_MARGIN}" y="{self.y + 11}">buffers</text>')
        for depth in depths(region):
            if not depth.count:
                continue
            span = scale.span(depth.interval)
            x = _MARGIN + _LABEL + span.start
            shade = f"{min(depth.count * 0.1, 0.4):.1f}"
            title = f"{depth.interval}: {depth.count} buffer{'s' if depth.count > 1 else ''}"
            label = (
                f'<text class="index tick" x="{x + span.length // 2}" y="{self.y + 11}">'
                f"{depth.count}</text>"
                if span.length >= 2 * _DIGIT
                else ""
            )
            box = _rect(x, self.y, span.length, _STRIP, INK, shade)
            self.parts.append(f'<g class="depth">{box}{label}<title>{title}</title></g>')


def _rect(x: int, y: int, width: int, height: int, fill: str, opacity: str = "1") -> str:
    shade = f' fill-opacity="{opacity}"' if opacity != "1" else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"{shade}/>'


def _fill(index: int) -> str:
    return FILLS[index % len(FILLS)]
