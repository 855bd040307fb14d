"""The text of source files, for excerpts.

Most files are read from disk when a diagnostic first points into them. Text that is not on
disk under that name is supplied by `add`: standard input, or one chunk of a split file, which
starts at some later line of the original; or it is known to Python's `linecache`, as the cells of
a notebook are. Querying a line never fails and never blocks: a
missing, unreadable, special, huge or binary file simply has no lines.
"""

from __future__ import annotations

import linecache
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class _Chunk:
    text: str
    first_line: int

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, lineno: int) -> str | None:
        index = lineno - self.first_line
        if not 0 <= index < len(self.lines):
            return None
        return self.lines[index].removesuffix("\r")


class SourceManager:
    """Maps file names to text, line by line."""

    def __init__(self, *, read_files: bool = True) -> None:
        self._chunks: dict[str, list[_Chunk]] = {}
        self._read_files = read_files

    def add(self, file: str, text: str, first_line: int = 1) -> None:
        """Supply `text` as the lines of `file` from `first_line` on; the newest text wins."""
        self._chunks.setdefault(file, []).insert(0, _Chunk(text, first_line))

    def line(self, file: str, lineno: int) -> str | None:
        """Line `lineno` (from 1) without its line break, or None if there is no such text."""
        if file not in self._chunks:
            text = (_read(file) or _registered(file)) if self._read_files else None
            self._chunks[file] = [] if text is None else [_Chunk(text, 1)]
        lines = (chunk.line(lineno) for chunk in self._chunks[file])
        return next((line for line in lines if line is not None), None)


def _registered(file: str) -> str | None:
    """Text that was registered for `file`, without looking at the disk."""
    entry = linecache.cache.get(file)
    # One element stands for text that has not been fetched yet.
    return "".join(entry[2]) if entry is not None and len(entry) == 4 else None


def _read(file: str) -> str | None:
    path = Path(file)
    try:
        status = path.stat()
        # A pipe or terminal would block until it is written to.
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        data = path.read_bytes()
        return None if b"\0" in data else data.decode("utf-8")
    except (OSError, ValueError):  # ValueError: not UTF-8, or a NUL in the file name
        return None
