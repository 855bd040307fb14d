"""A footprint as a diagram: the bytes of a program and those of the adjacent ones.

Addresses on one line are drawn one program below the other, from the lowest byte to the highest;
what is above each other is the same memory. Tiles are drawn as rows of memory, all programs in
one picture, where common bytes show through. Marks are never thinner than a reader can see, and
what would fall onto one mark is drawn once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tilewright.report.address_footprint import Bytes, Footprint
from tilewright.report.memory_svg import FILLS, INK

WIDTH = 760
_LEFT = 90
_CHART = WIDTH - _LEFT - 10
_ROW = 22
_FOOT = 22
_TILE_HEIGHT = 240
_MIN_PIXELS = 2
"""Pixels of the smallest mark."""


@dataclass(frozen=True)
class _Frame:
    """What of memory the diagram shows."""

    low: int
    span: int
    first_row: int
    rows: int
    row_height: float

    def x(self, byte: int) -> float:
        return (byte - self.low) * _CHART / self.span

    @property
    def height(self) -> float:
        return self.rows * self.row_height


def drawing(footprint: Footprint, key: str) -> str:
    """An ``svg`` element; `key` makes its ids its own."""
    if not any(part.runs for part in footprint.parts):
        return "<p>No lane of these programs takes part.</p>"
    if footprint.pitch is None:
        frame, body = _lines(footprint, key)
    else:
        frame, body = _tile(footprint, footprint.pitch, key)
    height = frame.height + _FOOT
    foot = frame.height + _FOOT - 6
    last = frame.low + frame.span
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" role="group">',
            *body,
            f'<text x="{_LEFT}" y="{foot:g}">byte {frame.low}</text>',
            f'<text x="{_LEFT + _CHART}" y="{foot:g}" text-anchor="end">{last}</text>',
            "</svg>",
        ]
    )


def _lines(footprint: Footprint, key: str) -> tuple[_Frame, list[str]]:
    low = min(run[0] for part in footprint.parts for run in part.runs)
    high = max(run[1] for part in footprint.parts for run in part.runs)
    frame = _Frame(low, high - low, 0, len(footprint.parts), _ROW)
    body: list[str] = []
    for row, part in enumerate(footprint.parts):
        marks = _merged((frame.x(start), frame.x(end)) for start, end in part.runs)
        top = row * _ROW + 3
        rects = [_rect(x, top, width, _ROW - 6) for x, width in marks]
        label = f'<text x="0" y="{row * _ROW + 16}">{_program(part)}</text>'
        body.append(_cell(part, row, key, [label, *rects]))
    return frame, body


def _tile(footprint: Footprint, pitch: int, key: str) -> tuple[_Frame, list[str]]:
    rows_of_parts = [list(_rows(part, pitch)) for part in footprint.parts]
    everything = [box for each in rows_of_parts for box in each]
    low = min(start for _, start, _ in everything)
    high = max(end for _, _, end in everything)
    first = min(row for row, _, _ in everything)
    rows = max(row for row, _, _ in everything) - first + 1
    labels = len(footprint.parts) * _ROW
    frame = _Frame(low, high - low, first, rows, max(_TILE_HEIGHT, labels) / rows)
    body: list[str] = []
    for index, (part, own) in enumerate(zip(footprint.parts, rows_of_parts, strict=True)):
        label = (
            f'<rect x="0" y="{index * _ROW + 5}" width="12" height="12"/>'
            f'<text x="18" y="{index * _ROW + 16}">{_program(part)}</text>'
        )
        body.append(_cell(part, index, key, [label, *_boxes(frame, own)]))
    return frame, body


def _rows(part: Bytes, pitch: int) -> Iterator[tuple[int, int, int]]:
    """Runs as (row, first, end) within rows of `pitch` bytes."""
    for start, end in part.runs:
        while start < end:
            row = start // pitch
            stop = min(end, (row + 1) * pitch)
            yield row, start - row * pitch, stop - row * pitch
            start = stop


def _boxes(frame: _Frame, boxes: list[tuple[int, int, int]]) -> Iterator[str]:
    """Equal stretches of neighbouring rows become one box."""
    columns: dict[tuple[int, int], list[int]] = {}
    for row, start, end in boxes:
        columns.setdefault((start, end), []).append(row)
    drawn: dict[tuple[float, float, float, float], None] = {}
    for (start, end), rows in columns.items():
        x = frame.x(start)
        width = max(frame.x(end) - x, _MIN_PIXELS)
        for top, count in _stretches(rows):
            y = (top - frame.first_row) * frame.row_height
            height = max(count * frame.row_height, 1)
            drawn[(round(x), round(y), round(width, 1), round(height, 1))] = None
    for x, y, width, height in drawn:
        yield _rect(x, y, width, height)


def _stretches(rows: list[int]) -> Iterator[tuple[int, int]]:
    first = previous = rows[0]
    for row in rows[1:]:
        if row != previous + 1:
            yield first, previous - first + 1
            first = row
        previous = row
    yield first, previous - first + 1


def _merged(spans: Iterator[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Marks with a position and a width; marks nearer than their width are joined."""
    begin, finish = next(spans)
    for start, end in spans:
        if start - finish >= _MIN_PIXELS:
            yield begin, max(finish - begin, _MIN_PIXELS)
            begin = start
        finish = end
    yield begin, max(finish - begin, _MIN_PIXELS)


def _rect(x: float, y: float, width: float, height: float) -> str:
    return f'<rect x="{_LEFT + x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _program(part: Bytes) -> str:
    return f"({', '.join(map(str, part.program))})"


def _cell(part: Bytes, index: int, key: str, marks: list[str]) -> str:
    title = escape(describe(part))
    fill = FILLS[index % len(FILLS)]
    # Colour alone must not carry meaning: every row and box has a label.
    return (
        f'<g class="cell" id="{key}-p{index}" tabindex="0" role="img" aria-label="{title}" '
        f'fill="{fill}" fill-opacity="0.75" stroke="{INK}" stroke-width="0.5">'
        f"<title>{title}</title>{''.join(marks)}</g>"
    )


def describe(part: Bytes) -> str:
    """``program (1, 0, 0): bytes 512 to 1023, 128 of 128 lanes``."""
    if not part.runs:
        return f"program {_program(part)}: no lane takes part"
    runs = len(part.runs)
    where = f"bytes {part.runs[0][0]} to {part.runs[-1][1] - 1}"
    split = "" if runs == 1 else f" in {runs} runs"
    return f"program {_program(part)}: {where}{split}, {part.active} of {part.lanes} lanes"
