"""Errors of kernels and faults of their runs in a notebook.

The text of such an error is a whole message: location, source line, notes, fix. It is shown as it
is, coloured, with the title of its code where the pointer rests; and, where the checker has them,
a table of the two accesses and the bytes that they share. In place of a traceback of fifty frames
there is one line with the cell and the line that launched the kernel.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tilewright.frontend.callers import PACKAGE
from tilewright.ir.codes.registry import CODES
from tilewright.ir.diagnostics import resolve
from tilewright.report.notebook import html
from tilewright.report.notebook.cells import cell_name, named

if TYPE_CHECKING:
    from tilewright.targets.numpy.tasks.ordering import OrderingFault

_HEADER = re.compile(
    r"(?P<before>\s*(?:\S.*?: )?)(?P<severity>error|warning|remark|note)"
    r"(?P<code>\[TW\d{4}\])?:(?P<after> .*|$)"
)
_MARK = re.compile(r"(?P<before>\s+\| \s*)(?P<mark>[\^~]+)$")
_BETWEEN = (PACKAGE, "IPython")
"""Packages whose frames are not the user's."""
_NOT_WRITTEN = ("<tilewright ", "<frozen ", str(Path(traceback.__file__).parent))
"""How the files of frames begin that are not the user's: generated sources, Python's library."""
_RESET = "\x1b[0m"
_STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;35m",
    "remark": "\x1b[1;34m",
    "note": "\x1b[1;36m",
    "mark": "\x1b[1;32m",
}


def error_html(error: BaseException) -> str:
    """The message of an error, and the accesses that its checker found."""
    return html.block(
        f"<div><strong>{escape(type(error).__name__)}</strong></div>",
        message_html(str(error)),
        *accesses_html(error),
    )


def message_html(text: str) -> str:
    """The text of diagnostics, coloured."""
    return f'<pre class="message">{chr(10).join(map(_line_html, named(text).split(chr(10))))}</pre>'


def _line_html(line: str) -> str:
    header = _HEADER.match(line)
    if header is not None:
        code = (header["code"] or "").strip("[]")
        label = escape(header["severity"] + (header["code"] or ""))
        if code in CODES:
            label = f'<abbr title="{escape(CODES[code].title)}">{label}</abbr>'
        return (
            f'{escape(header["before"])}<span class="{header["severity"]}">{label}:</span>'
            f"{escape(header['after'])}"
        )
    mark = _MARK.match(line)
    if mark is not None:
        return f'{escape(mark["before"])}<span class="mark">{escape(mark["mark"])}</span>'
    return escape(line)


def accesses_html(error: BaseException) -> Iterator[str]:
    """The two accesses of each finding, and the bytes that they share."""
    if not hasattr(error, "source_sites"):
        return
    # Only a checker of tasks makes these, and it is loaded then.
    from tilewright.targets.numpy.tasks.ordering import OrderingFault

    if isinstance(error, OrderingFault):
        yield from _findings(error)


def _findings(fault: OrderingFault) -> Iterator[str]:
    from tilewright.analysis.ordering.findings import TITLES

    for finding in fault.findings:
        accesses = [each for each in (finding.first, finding.second) if each is not None]
        if not accesses:
            continue
        accesses.sort(key=lambda access: access.site != finding.site)  # as in the message
        rows: list[tuple[str, ...]] = []
        for access in accesses:
            location = fault.source_sites[access.site].location
            position = None if location is None else resolve(location).primary
            where = "" if position is None else f"{_short(position.file)}:{position.line}"
            rows.append((access.region.name, str(access), str(access.iteration), where))
        shared = f": {finding.size_bytes} bytes in common" if finding.size_bytes else ""
        yield html.title(TITLES[finding.kind] + shared)
        yield html.table(("buffer", "access", "iteration", "line"), rows)
        yield html.paragraph(f"missing: {finding.cause.missing}")


def _short(file: str) -> str:
    return PurePath(cell_name(file)).name


# -- tracebacks ------------------------------------------------------------------------------------


def traceback_lines(error: BaseException) -> list[str]:
    """What IPython prints instead of a traceback."""
    lines = message_lines(type(error).__name__, str(error), _launched(error))
    notes: list[str] = getattr(error, "__notes__", [])
    return [*lines, *map(named, notes)]


def message_lines(name: str, text: str, launched: str = "") -> list[str]:
    """The name of an error, the line that led to it, and its text."""
    head = f"{_STYLES['error']}{name}{_RESET}{launched}"
    return [head, *map(_line_ansi, named(text).split("\n"))]


def _launched(error: BaseException) -> str:
    """The user's line that led here, innermost: the launch, or the call of what launches."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _BETWEEN
        and not frame.f_code.co_filename.startswith(_NOT_WRITTEN)
    ]
    if not frames:
        return ""
    file, line = frames[-1]
    return f" at {cell_name(file)}:{line}"


def _line_ansi(line: str) -> str:
    header = _HEADER.match(line)
    if header is not None:
        style = _STYLES[header["severity"]]
        label = f"{style}{header['severity']}{header['code'] or ''}:{_RESET}"
        return f"{header['before']}{label}{header['after']}"
    mark = _MARK.match(line)
    if mark is not None:
        return f"{mark['before']}{_STYLES['mark']}{mark['mark']}{_RESET}"
    return line
