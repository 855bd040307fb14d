"""A run of tasks as one HTML file: tasks, asynchronous units, barriers and buffers against time.

Every lane is a row. Tasks show their waits as hatched boxes and their arrivals, expect-tx and
fences as letters; asynchronous units show each operation from its issue to its end; barriers show
where a phase ended; buffers are filled from a write to the last read of what it wrote. Time is
counted in events, so a box shows the order of events, not how long they took on a GPU.

Point at something, or reach it with the Tab key, to read what it is at the foot of the window.
Without scripts the titles of the diagram have the same text. Letters and patterns carry the
meaning; colours only help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from tilewright.analysis.ordering.timeline import Lane, LaneKind, Mark, Span, Timeline
from tilewright.report.memory_svg import INK, NAMESPACE, PAPER

_LABEL = 230
_STEP = 8
_MIN_WIDTH = 700
_ROW = 24
_BAR = 7
"""Height of a box where several overlap."""
_HEAD = 26
_MARGIN = 12

_TITLES: dict[LaneKind, str] = {
    "task": "Tasks",
    "engine": "Engines",
    "barrier": "Barriers",
    "buffer": "Buffers",
}
_SORTED = ("barrier", "buffer")
_LETTERS = {"arrive": "A", "expect": "E", "fence": "F", "phase": "|", "read": "r", "write": "W"}
_FILLS = {"wait": "url(#hatch)", "operation": "#9bd3f4", "value": "#66c5ab"}

_STYLE = f"""
body {{ margin: 1rem 1rem 6rem; background: {PAPER}; color: {INK};
  font: 15px/1.4 system-ui, sans-serif; }}
.scroll {{ overflow-x: auto; }}
text {{ font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {INK}; }}
.head {{ font-weight: bold; font-size: 14px; }}
.letter {{ text-anchor: middle; }}
.item:focus, .item:hover {{ outline: 2px solid {INK}; }}
#foot {{ position: fixed; left: 0; right: 0; bottom: 0; min-height: 3em; padding: .5rem 1rem;
  background: #f2f2f2; border-top: 2px solid {INK}; white-space: pre-wrap;
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
li {{ white-space: pre-wrap; }}
"""

_SCRIPT = """
"use strict";
const foot = document.getElementById("foot");
const rest = foot.textContent;
for (const item of document.querySelectorAll(".item")) {
  const show = () => { foot.textContent = item.getAttribute("aria-label"); };
  const hide = () => { foot.textContent = rest; };
  item.addEventListener("mouseover", show);
  item.addEventListener("focus", show);
  item.addEventListener("mouseout", hide);
  item.addEventListener("blur", hide);
}
"""


def timeline_html(timeline: Timeline) -> str:
    """The page."""
    title = escape(f"Timeline: {timeline.title}")
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
        *_notes(timeline),
        f"<p>{escape(_legend())}</p>",
        '<div class="scroll">',
        timeline_svg(timeline),
        "</div>",
        '<div id="foot" role="status">Point at a box or letter, or use the Tab key.</div>',
        f"<script>{_SCRIPT}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def timeline_svg(timeline: Timeline) -> str:
    """The diagram alone, as an ``svg`` element."""
    return "\n".join(_drawing(timeline))


def _legend() -> str:
    return (
        "A arrival, E expect-tx, F fence, | phase completion, W write, r read; "
        "hatched: a task waits; time runs to the right, one step an event."
    )


def _notes(timeline: Timeline) -> Iterator[str]:
    if timeline.notes:
        yield "<ul>"
        yield from (f"<li>{escape(note)}</li>" for note in timeline.notes)
        yield "</ul>"
    if timeline.is_cut:
        yield f"<p>The run went on; its first {timeline.length} events are drawn.</p>"


def _drawing(timeline: Timeline) -> Iterator[str]:
    rows = list(_rows(timeline.lanes))
    width = _LABEL + max(_MIN_WIDTH, _STEP * (timeline.length + 2)) + _MARGIN
    height = sum(size for _, size in rows) + _MARGIN
    yield (
        f'<svg xmlns="{NAMESPACE}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="group">'
    )
    yield (
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff3d6"/>'
        '<line x1="0" y1="0" x2="0" y2="6" stroke="#8a5a00" stroke-width="2"/></pattern></defs>'
    )
    top = 0
    for row, size in rows:
        if isinstance(row, str):
            yield f'<text class="head" x="{_MARGIN}" y="{top + 18}">{escape(row)}</text>'
        else:
            yield from _lane(row, top, size, width)
        top += size
    yield "</svg>"


def _rows(lanes: Sequence[Lane]) -> Iterator[tuple[Lane | str, int]]:
    """Headings and lanes from top to bottom, with their heights."""
    for kind, title in _TITLES.items():
        shown = [lane for lane in lanes if lane.kind == kind]
        if kind in _SORTED:
            shown.sort(key=lambda lane: _natural(lane.name))
        if shown:
            yield title, _HEAD
        for lane in shown:
            depth = 1 + max(_depths(lane.spans), default=0)
            yield lane, max(_ROW, 2 * _BAR + depth * (_BAR + 1))


def _natural(name: str) -> list[tuple[str, int]]:
    """Sorts `a[2]` before `a[10]`."""
    pairs = re.findall(r"(\D*)(\d*)", name)
    return [(text, int(digits or 0)) for text, digits in pairs]


def _depths(spans: Sequence[Span]) -> list[int]:
    """In which line each span is drawn, so that none covers another."""
    ends: list[int] = []
    found: list[int] = []
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        line = next((i for i, end in enumerate(ends) if end <= span.start), len(ends))
        if line == len(ends):
            ends.append(span.end)
        else:
            ends[line] = span.end
        found.append(line)
    return found


def _x(time: int) -> int:
    return _LABEL + _STEP * time


def _lane(lane: Lane, top: int, height: int, width: int) -> Iterator[str]:
    middle = top + height // 2
    yield f'<text x="{_MARGIN}" y="{middle + 4}">{escape(lane.name)}</text>'
    yield f'<line x1="{_LABEL}" y1="{middle}" x2="{width}" y2="{middle}" stroke="#bbbbbb"/>'
    ordered = sorted(lane.spans, key=lambda each: (each.start, each.end))
    is_single = lane.kind in ("task", "buffer")
    for span, depth in zip(ordered, _depths(lane.spans), strict=True):
        y = top + 4 if is_single else top + _BAR + depth * (_BAR + 1)
        yield _box(span, y, height - 8 if is_single else _BAR)
    yield from (_letter(mark, middle) for mark in lane.marks)


def _box(span: Span, y: int, height: int) -> str:
    label = escape(f"{span.label} (events {span.start} to {span.end})", quote=True)
    size = max(_STEP * (span.end - span.start), 2)
    fill = _FILLS.get(span.style, "#dddddd")
    return (
        f'<g class="item" tabindex="0" role="img" aria-label="{label}"><title>{label}</title>'
        f'<rect x="{_x(span.start)}" y="{y}" width="{size}" height="{height}" fill="{fill}" '
        f'stroke="{INK}" stroke-width="0.5"/></g>'
    )


def _letter(mark: Mark, middle: int) -> str:
    label = escape(f"{mark.label} (event {mark.at})", quote=True)
    letter = _LETTERS.get(mark.style, "•")
    return (
        f'<g class="item" tabindex="0" role="img" aria-label="{label}"><title>{label}</title>'
        f'<text class="letter" x="{_x(mark.at)}" y="{middle + 4}">{letter}</text></g>'
    )
