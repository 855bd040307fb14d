"""File metadata, the ``{-# ... #-}`` sections at the end of an MLIR file.

They hold blobs for dialects and, in reproducers, the pass pipeline. Nothing in this compiler
interprets them: they are found by balancing the brackets, stored as text and printed back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"|#-\}|//[^\n]*+')


@dataclass
class Resources:
    """The metadata sections of one file, each with its delimiters."""

    sections: list[str] = field(default_factory=list[str])

    def add(self, section: str) -> None:
        self.sections.append(section)

    def __str__(self) -> str:
        return "\n".join(self.sections)


def skip_resources(text: str, start: int) -> int | None:
    """The offset just after the ``#-}`` that closes the section opened at `start`."""
    for match in _TOKEN.finditer(text, start + len("{-#")):
        if match[0] == "#-}":
            return match.end()
    return None
