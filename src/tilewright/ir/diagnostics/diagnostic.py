"""A diagnostic: severity, message, location, and the notes that explain it.

A `Diagnostic` is a value except for its notes, which are attached after it was reported:

    engine.error(op, "reducer is read before T.fill", "TW2012").note(fill, "filled here")

`Where` is whatever the reporter has at hand; `locate` reduces it to a location.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.ir.diagnostics.position import Location, SourcePosition, Trail, resolve


class Severity(IntEnum):
    """How much a diagnostic matters; greater is worse. A note belongs to another diagnostic."""

    NOTE = 0
    REMARK = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The severity shown to users and used in `expected-…` comments."""
        return self.name.lower()


Where: TypeAlias = Operation | SSAValue | Attribute | SourcePosition | None
"""What a diagnostic may be reported on. An attribute is a location; None is "nowhere"."""


def locate(where: Where) -> Location | None:
    """The location of `where`: an op result has its op's, a block argument its own."""
    if isinstance(where, Operation | BlockArgument):
        return where.location
    if isinstance(where, SSAValue):
        return where.owner.location if isinstance(where.owner, Operation) else None
    return where


@dataclass(frozen=True)
class Diagnostic:
    """A message at a location. Everything but the list of notes is fixed."""

    severity: Severity
    message: str
    location: Location | None = None
    code: str | None = None
    notes: list[Diagnostic] = field(default_factory=list["Diagnostic"], hash=False)

    def note(self, where: Where, message: str) -> Diagnostic:
        """Attach a note and return this diagnostic, so that calls chain.

        With `where` None the note has the location of the diagnostic itself.
        """
        location = self.location if where is None else locate(where)
        self.notes.append(Diagnostic(Severity.NOTE, message, location))
        return self

    @property
    def trail(self) -> Trail:
        """The resolved location."""
        return resolve(self.location)
