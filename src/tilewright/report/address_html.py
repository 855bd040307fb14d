"""Addresses as a page: one file that works from disk, with nothing to fetch.

For each kernel its source, where lines with accesses lead to what is known of them; a table of all
accesses; and for each access its formula, what checks found, and a diagram of the bytes that the
first program and its adjacent ones access. When the pointer is over a program's bytes, or the
keyboard on them, a line at the foot of the window names them. Without scripts the titles have the
same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from tilewright.analysis.pid_address import MemoryOp
from tilewright.analysis.pid_address.checks import Finding
from tilewright.report.address_document import Document, SourceText, accesses_of
from tilewright.report.address_footprint import Footprint, NotDrawable, footprint
from tilewright.report.address_svg import drawing
from tilewright.report.address_text import virtual_text
from tilewright.report.memory_svg import INK, PAPER

_MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'

_STYLE = f"""
body {{ margin: 1rem 1rem 6rem; background: {PAPER}; color: {INK};
  font: 15px/1.4 system-ui, sans-serif; }}
svg {{ max-width: 100%; height: auto; }}
svg text {{ font: 12px {_MONO}; fill: {INK}; fill-opacity: 1; stroke: none; }}
pre, code, td {{ font: 13px/1.5 {_MONO}; }}
pre {{ overflow-x: auto; }}
pre a {{ color: inherit; background: #fdf3c9; text-decoration: none; display: inline-block; }}
pre a:hover, pre a:focus {{ outline: 2px solid {INK}; }}
section {{ border-top: 1px solid #bbb; }}
section:target h3 {{ background: #fdf3c9; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid #bbb;
  vertical-align: top; }}
.cell.here rect {{ stroke-width: 2.5; }}
.refuted {{ font-weight: bold; }}
#hover {{ position: fixed; left: 0; right: 0; bottom: 0; min-height: 2.5em; padding: .5rem 1rem;
  background: #f2f2f2; border-top: 2px solid {INK}; font-family: {_MONO}; }}
"""

_REST = "Point at the bytes of a program, or reach them with the Tab key."

_SCRIPT = """
"use strict";
const hover = document.getElementById("hover");
const rest = hover.textContent;
for (const cell of document.querySelectorAll("g.cell")) {
  const show = () => {
    hover.textContent = cell.getAttribute("aria-label");
    cell.classList.add("here");
  };
  const hide = () => { hover.textContent = rest; cell.classList.remove("here"); };
  cell.addEventListener("mouseover", show);
  cell.addEventListener("focus", show);
  cell.addEventListener("mouseout", hide);
  cell.addEventListener("blur", hide);
}
"""


def render(documents: Sequence[Document], *, verbose: bool = False) -> str:
    """The page; `verbose` changes nothing, since everything is shown already."""
    body = [line for index, each in enumerate(documents) for line in _kernel(each, f"k{index}")]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            "<title>Memory accesses</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            "<h1>Memory accesses</h1>",
            *body,
            f'<div id="hover" role="status" aria-live="polite">{_REST}</div>',
            f"<script>{_SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _kernel(document: Document, key: str) -> Iterator[str]:
    report = document.report
    yield f"<h2>{escape(document.launch or '@' + report.kernel)}</h2>"
    for note in (*report.notes, *map(str, report.not_analysed)):
        yield f"<p>{escape(note)}</p>"
    if document.source is not None:
        yield from _source(document, document.source, key)
    yield from _table(document, key)
    for index, access in enumerate(report.accesses):
        yield from _section(document, access, f"{key}-a{index}")
    yield from _other_findings(document)


# Source.


def _source(document: Document, source: SourceText, key: str) -> Iterator[str]:
    targets: dict[int, int] = {}
    for index, access in enumerate(document.report.accesses):
        line = line_of(access, source)
        if line is not None:
            targets.setdefault(line, index)
    yield f"<h3>{escape(source.file)}</h3>"
    lines = source.text.rstrip("\n").split("\n")
    width = len(str(source.first_line + len(lines) - 1))
    shown: list[str] = []
    for index, text in enumerate(lines, source.first_line):
        escaped = escape(text.removesuffix("\r"))
        if index in targets:
            escaped = f'<a href="#{key}-a{targets[index]}">{escaped}</a>'
        shown.append(f"{index:{width}}  {escaped}")
    yield "<pre>" + "\n".join(shown) + "</pre>"


def line_of(access: MemoryOp, source: SourceText) -> int | None:
    """The line of `source` that an access is in, by its position or else by its name."""
    lines = source.text.split("\n")
    prefix = f"{source.file}:"
    if access.loc is not None and access.loc.startswith(prefix):
        line = access.loc.removeprefix(prefix).partition(":")[0]
        if line.isdigit() and 0 <= int(line) - source.first_line < len(lines):
            return int(line)
    # IR that was made from other files: its own text names the ops.
    if access.result is not None:
        pattern = rf"^\s*{re.escape(access.result)}(:\d+)? = {re.escape(access.op)}\b"
    else:
        pattern = rf"^\s*{re.escape(access.op)} {re.escape(access.address)}(?![\w$.-])"
    found = (at for at, text in enumerate(lines, source.first_line) if re.match(pattern, text))
    return next(found, None)


# Accesses.

_HEADS = ("access", "op", "place", "base", "pattern", "stride", "block", "coalesced", "vector")


def _table(document: Document, key: str) -> Iterator[str]:
    yield "<table>"
    yield f"<tr>{''.join(f'<th>{head}</th>' for head in _HEADS)}</tr>"
    for index, access in enumerate(document.report.accesses):
        strides = ", ".join(
            f"{axis}: {'?' if stride is None else stride}"
            for axis, stride in access.pid_strides.items()
        )
        texts = (
            access.op,
            access.loc or "",
            access.base,
            access.pattern.value,
            strides,
            str(access.block_size),
            {True: "yes", False: "no", None: "unknown"}[access.coalesced],
            "" if access.vector_bits is None else f"{access.vector_bits} bits",
        )
        name = f'<a href="#{key}-a{index}">{escape(access.name)}</a>'
        cells = "".join(f"<td>{cell}</td>" for cell in (name, *map(escape, texts)))
        yield f"<tr>{cells}</tr>"
    yield "</table>"


def _section(document: Document, access: MemoryOp, key: str) -> Iterator[str]:
    yield f'<section id="{key}">'
    yield f"<h3>{escape(access.name)}</h3>"
    yield f"<pre>{escape(chr(10).join(_details(access)))}</pre>"
    for finding in document.findings:
        if access in accesses_of(document, finding):
            yield _finding(finding)
    try:
        drawn = footprint(document.report, access)
        yield drawing(drawn, key)
        yield f"<p>{escape(_caption(drawn))}</p>"
    except NotDrawable as reason:
        yield f"<p>Not drawn: {escape(str(reason))}.</p>"
    yield "</section>"


def _details(access: MemoryOp) -> Iterator[str]:
    yield access.info()
    yield f"address    {access.base} + {access.offset}"
    if access.mask is not None:
        yield f"mask       {access.mask}"
    if access.guard.truth is not True:
        yield f"guard      {access.guard}"
    if access.virtual is not None:
        yield f"virtual    {virtual_text(access.virtual)}"
    if access.align_bytes is not None:
        yield f"alignment  {access.align_bytes} bytes"


def _finding(finding: Finding) -> str:
    return f'<p class="{finding.verdict}">{escape(str(finding))}</p>'


def _other_findings(document: Document) -> Iterator[str]:
    """Findings about no access in particular."""
    for finding in document.findings:
        if not finding.accesses:
            yield _finding(finding)


def _caption(shown: Footprint) -> str:
    kind = "one below the other" if shown.pitch is None else f"rows of {shown.pitch} bytes"
    parts = [f"The first program and the adjacent ones, {kind}", *shown.remarks]
    if shown.samples:
        chosen = ", ".join(f"{name} = {value}" for name, value in shown.samples.items())
        parts.append(f"drawn for {chosen}, which the launch leaves open")
    return "; ".join(parts) + "."
