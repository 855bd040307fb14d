"""Diagnostics as text: human-readable, and one line per message for tools.

Human-readable (`pretty`), with the source line, the calls that led there, and the notes:

    lib.py:3:5: error[TW1010]: tensors of different shape
      3 |     x + y
        |     ^~~~~
      called from main.py:9:1 in kernel
      lib.py:1:9: note: x is 128 x 64 here
        1 | def add(x, y):
          |         ^

For tools (`one_line`), in mlir-opt's format: one line a message, no code, no excerpt, unknown
positions written `<unknown>:0`. Colour is opt-in: the caller has to check the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.ir.diagnostics.diagnostic import Diagnostic, Severity
from tilewright.ir.diagnostics.excerpt import excerpt, printable
from tilewright.ir.diagnostics.position import SourcePosition, Trail
from tilewright.ir.diagnostics.sources import SourceManager

MAX_CALLERS = 10
"""Calls shown of a chain; the same limit as in MLIR."""

INDENT = "  "

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_MARK_STYLE = "\x1b[1;32m"
_SEVERITY_STYLES = {
    Severity.NOTE: "\x1b[1;36m",
    Severity.REMARK: "\x1b[1;34m",
    Severity.WARNING: "\x1b[1;35m",
    Severity.ERROR: "\x1b[1;31m",
}


def pretty(
    diagnostic: Diagnostic, sources: SourceManager | None = None, *, colour: bool = False
) -> str:
    """The human-readable form, without a final line break."""
    renderer = _Renderer(SourceManager() if sources is None else sources, colour)
    return "\n".join(renderer.diagnostic(diagnostic))


def pretty_all(
    diagnostics: Iterable[Diagnostic],
    sources: SourceManager | None = None,
    *,
    colour: bool = False,
) -> str:
    """The human-readable form of several diagnostics, concatenated."""
    shared = SourceManager() if sources is None else sources
    return "\n".join(pretty(each, shared, colour=colour) for each in diagnostics)


def one_line(diagnostic: Diagnostic) -> str:
    """The form for tools: a line for the diagnostic, one a caller and one a note."""
    trail = diagnostic.trail
    lines = [_mlir_line(trail, diagnostic)]
    lines += [f"{frame.position}: note: called from" for frame in trail.callers[:MAX_CALLERS]]
    lines += [_mlir_line(note.trail, note) for note in diagnostic.notes]
    return "\n".join(printable(line) for line in lines)


def _mlir_line(trail: Trail, diagnostic: Diagnostic) -> str:
    message = " ".join(line.strip() for line in diagnostic.message.splitlines())
    if trail.primary is not None:
        return f"{trail.primary}: {diagnostic.severity.label}: {message}"
    name = f'loc("{trail.names[0]}"): ' if trail.names else ""
    return f"<unknown>:0: {diagnostic.severity.label}: {name}{message}"


class _Renderer:
    """Builds the human-readable form as a list of lines."""

    def __init__(self, sources: SourceManager, colour: bool) -> None:
        self._sources = sources
        self._colour = colour

    def diagnostic(self, diagnostic: Diagnostic) -> list[str]:
        trail = diagnostic.trail
        lines = self._entry(diagnostic, trail, with_excerpt=True) + self._calls(trail)
        previous = trail.primary
        for note in diagnostic.notes:
            note_trail = note.trail
            # The same source line twice in a row adds nothing.
            entry = self._entry(note, note_trail, with_excerpt=note_trail.primary != previous)
            lines += [INDENT + line for line in entry + self._calls(note_trail)]
            previous = note_trail.primary
        return lines

    def _entry(self, diagnostic: Diagnostic, trail: Trail, *, with_excerpt: bool) -> list[str]:
        lines = self._header(diagnostic, trail)
        if with_excerpt and trail.primary is not None:
            lines += self._excerpt(trail.primary)
        return lines

    def _header(self, diagnostic: Diagnostic, trail: Trail) -> list[str]:
        code = f"[{diagnostic.code}]" if diagnostic.code else ""
        label = self._paint(
            f"{diagnostic.severity.label}{code}:", _SEVERITY_STYLES[diagnostic.severity]
        )
        position = self._paint(printable(_position_prefix(trail)), _BOLD)
        message = printable(diagnostic.message)
        return f"{position}{label} {message}".split("\n")

    def _excerpt(self, position: SourcePosition) -> list[str]:
        found = excerpt(position, self._sources)
        if found is None:
            return []
        lineno = str(found.line)
        lines = [f"{INDENT}{lineno} | {found.text}".rstrip()]
        if found.mark:
            bare = found.mark.lstrip()
            space = found.mark[: len(found.mark) - len(bare)]
            mark = space + self._paint(bare, _MARK_STYLE)
            lines.append(f"{INDENT}{' ' * len(lineno)} | {mark}")
        return lines

    def _calls(self, trail: Trail) -> list[str]:
        lines = [f"{INDENT}called from {frame}" for frame in trail.callers[:MAX_CALLERS]]
        hidden = len(trail.callers) - MAX_CALLERS
        if hidden > 0:
            lines.append(f"{INDENT}… and {hidden} more call{'s' if hidden > 1 else ''}")
        return [printable(line) for line in lines]

    def _paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour and text else text


def _position_prefix(trail: Trail) -> str:
    if trail.primary is not None:
        return f"{trail.primary}: "
    return f'loc("{trail.names[0]}"): ' if trail.names else ""
