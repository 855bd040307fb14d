"""Attribute, type and location aliases: ``#blocked``, ``#shared1``, ``#loc42``.

MLIR decides on aliases before it prints. It walks the IR in printing order, notes every attribute
it visits, and gives each one that wants an alias a *depth*: 1 for a leaf, one more than its
deepest part otherwise. Aliases are then sorted by (depth, types first, stem), the sort being
stable, and numbered per stem; so a definition never refers to a later one.

Here the body text is produced in the same single walk. What may become an alias is put into the
output as an ``Entry``; names are filled in when the walk is over.

An alias reached only from the trailing location of an op *can be deferred*: MLIR prints it after
the module. Anything reached in another way is printed before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, TypeAttribute

Segment: TypeAlias = "str | Entry"


@dataclass(eq=False)
class Entry:
    """One attribute in the output, printed once however often it occurs."""

    attribute: Attribute
    stem: str | None
    deferrable: bool
    depth: int = 0
    name: str | None = None
    segments: list[Segment] = field(default_factory=list["Segment"])
    children: list[Entry] = field(default_factory=list["Entry"])
    _text: str | None = None

    @property
    def is_type(self) -> bool:
        return isinstance(self.attribute, TypeAttribute)

    def finish(self) -> None:
        """Set the depth, once all children are known."""
        deepest = max((child.depth for child in self.children), default=0)
        if deepest:
            self.depth = deepest + 1
        elif self.stem is not None:
            self.depth = 1

    def pin(self) -> None:
        """Print this alias, and all it refers to, before the module."""
        if not self.deferrable:
            return
        self.deferrable = False
        for child in self.children:
            child.pin()

    @property
    def text(self) -> str:
        """How the attribute is referred to: by its alias, or in full."""
        if self.name is not None:
            return self.name
        if self._text is None:
            self._text = join(self.segments)
        return self._text

    @property
    def definition(self) -> str:
        return f"{self.name} = {join(self.segments)}\n"


def join(segments: list[Segment]) -> str:
    """The text of `segments`; names of aliases must have been given before."""
    return "".join([segment if isinstance(segment, str) else segment.text for segment in segments])


def name_aliases(entries: list[Entry]) -> list[Entry]:
    """Give every entry with a stem its name; returns them in order of definition."""
    aliased = [entry for entry in entries if entry.stem is not None]
    aliased.sort(key=lambda entry: (entry.depth, not entry.is_type, entry.stem))
    counts: dict[str, int] = {}
    for entry in aliased:
        stem = entry.stem
        assert stem is not None
        count = counts.get(stem, 0)
        counts[stem] = count + 1
        separator = "_" if count and stem[-1].isdigit() else ""
        sigil = "!" if entry.is_type else "#"
        entry.name = f"{sigil}{stem}{separator}{count or ''}"
    return aliased
