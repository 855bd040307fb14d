"""The source line under a message, with a caret below the position.

      7 | \t%0 = arith.addi %α, %b : i32
        | \t                ^~

The mark must stand under its character on any terminal: tabs before it are repeated as tabs, a
wide character (most CJK) counts two cells and a combining one none. A line longer than
`MAX_WIDTH` is cut around the mark, so a line of ten megabytes costs one screen line.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from tilewright.ir.diagnostics.position import SourcePosition
from tilewright.ir.diagnostics.sources import SourceManager

MAX_WIDTH = 160
ELLIPSIS = "…"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Control characters (terminal escapes), lone surrogates (which no stream can encode) and
# direction overrides (which reorder what is read) never reach the user's screen.
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Excerpt:
    """One source line, possibly cut, and the mark that goes below it ("" for none)."""

    line: int
    text: str
    mark: str


def printable(text: str) -> str:
    """`text` with everything replaced that could upset a terminal or a stream."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)


def excerpt(position: SourcePosition, sources: SourceManager) -> Excerpt | None:
    """The line at `position`, or None when the text is not available or not text."""
    line = sources.line(position.file, position.line)
    if line is None:
        return None
    # Column 0 is "not known"; one past the end is where something is missing.
    marked = 1 <= position.column <= len(line) + 1
    start = position.column - 1 if marked else 0
    first, last = _window(len(line), start)
    shown = line[first:last]
    if "\0" in shown:
        return None
    head = ELLIPSIS if first > 0 else ""
    tail = ELLIPSIS if last < len(line) else ""
    mark = ""
    if marked:
        end = min(_range_end(position, len(line)), last)
        mark = " " * len(head) + _blank(line[first:start]) + _underline(line[start:end])
    return Excerpt(position.line, head + printable(shown) + tail, mark)


def _window(length: int, centre: int) -> tuple[int, int]:
    """The part of a line to show: all of it, or `MAX_WIDTH` characters with the ellipses."""
    if length <= MAX_WIDTH:
        return 0, length
    inner = MAX_WIDTH - 2
    first = max(0, min(centre - inner // 2, length - inner))
    # With no ellipsis on one side, its columns belong to the text.
    if first <= 1:
        return 0, MAX_WIDTH - 1
    if first + inner >= length - 1:
        return length - MAX_WIDTH + 1, length
    return first, first + inner


def _range_end(position: SourcePosition, length: int) -> int:
    """Index after the last marked character; a range over several lines ends with the first.

    A position without a range, or with one that ends before it begins, marks no characters.
    """
    if position.end_line is None or position.end_column is None:
        return 0
    if position.end_line > position.line:
        return length
    return position.end_column - 1 if position.end_line == position.line else 0


def _blank(text: str) -> str:
    return "".join("\t" if char == "\t" else " " * _cells(char) for char in text)


def _underline(text: str) -> str:
    """A caret, continued to the end of the marked characters."""
    return "^" + "~" * (sum(_cells(char) for char in text) - 1)


def _cells(char: str) -> int:
    if char.isascii() or _UNPRINTABLE.match(char):
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
