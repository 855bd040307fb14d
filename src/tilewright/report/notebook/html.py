"""Elements of HTML that fit into a notebook: no page of their own, no script, nothing fetched.

Colours are those of the notebook (`inherit`, `currentColor`), so that text is readable on light and
dark backgrounds; the few that carry a meaning have about the same contrast with both, and never
carry it alone. Diagrams have fixed colours on a light background of their own. Styles are those
of the class ``tilewright`` only: nothing else on the page changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tilewright.report.memory_svg import INK, PAPER

SEVERITY_COLOURS = {
    "error": "#e03c3c",
    "warning": "#b36b00",
    "remark": "#a855f7",
    "note": "#2f7de1",
}
MARK_COLOUR = "#2a8a3c"
"""Of carets, and of what is right."""

_MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_COLOURS = " ".join(
    f".tilewright .{name} {{ color: {colour}; font-weight: bold; }}"
    for name, colour in {**SEVERITY_COLOURS, "mark": MARK_COLOUR}.items()
)
_STYLE = (
    ".tilewright { color: inherit; background: transparent; line-height: 1.4; } "
    ".tilewright pre, .tilewright code, .tilewright td { "
    f"font-family: {_MONO}; font-size: 13px; color: inherit; background: transparent; }} "
    ".tilewright pre { white-space: pre; overflow-x: auto; margin: .4em 0; padding: 0; border: 0; "
    "text-align: left; } "
    ".tilewright pre.message { white-space: pre-wrap; overflow-wrap: anywhere; } "
    ".tilewright table { border-collapse: collapse; margin: .4em 0; } "
    ".tilewright th, .tilewright td { text-align: left; padding: .1em .8em .1em 0; "
    "border-bottom: 1px solid rgba(128, 128, 128, .5); background: transparent; color: inherit; "
    "vertical-align: top; } "
    ".tilewright summary { cursor: pointer; } "
    ".tilewright abbr { text-decoration: none; } "
    f".tilewright .panel {{ background: {PAPER}; color: {INK}; overflow-x: auto; padding: 2px; }} "
    ".tilewright .panel svg { max-width: 100%; height: auto; } " + _COLOURS
)


def block(*parts: str) -> str:
    """The HTML of one value."""
    return f'<div class="tilewright"><style>{_STYLE}</style>{"".join(parts)}</div>'


def title(text: str, detail: str = "") -> str:
    more = f" {escape(detail)}" if detail else ""
    return f"<div><strong>{escape(text)}</strong>{more}</div>"


def paragraph(text: str) -> str:
    return f"<div>{escape(text)}</div>"


def preformatted(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def numbered(lines: Sequence[str], first: int) -> str:
    """Lines of a source with their numbers."""
    width = len(str(first + len(lines) - 1))
    shown = (f"{index:{width}}  {line.rstrip()}" for index, line in enumerate(lines, first))
    return preformatted("\n".join(shown))


def details(summary: str, inside: str, *, is_open: bool = False) -> str:
    """What is shown at a click; `inside` is HTML."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(summary)}</summary>{inside}</details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts; nothing if there are no rows."""
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    return f"<table><tr>{head}</tr>{body}</table>" if body else ""


def panel(svg: str) -> str:
    """A diagram, on a light background."""
    return f'<div class="panel">{svg}</div>'
