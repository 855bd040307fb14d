"""What support functions raise when a kernel does something wrong.

They have the buffers and indices; the launcher has the block and, from the line of generated code,
the source line. `kernel.py` combines both into a `TileFault`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.targets.numpy.tile.api import FaultKind


@dataclass(frozen=True)
class Note:
    """A sentence of explanation, with the id of its own source site if it has one."""

    text: str
    site: int | None = None
    line: int | None = None
    """A line of generated code instead."""


class RuntimeFault(Exception):
    """Something to report at the current statement, or at `site` if that is given."""

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        notes: Sequence[Note | str] = (),
        site: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.notes = [Note(note) if isinstance(note, str) else note for note in notes]
        self.site = site


def by_zero(origin: int, what: str, site: int | None = None, iteration: str = "") -> RuntimeFault:
    """The report on a division by zero whose result is used, at the division."""
    notes = [Note(f"{iteration} of T.Parallel")] if iteration else []
    if site is not None:
        notes.append(Note(f"the result is used here: {what}", site))
    else:
        notes.append(Note(f"the result is used: {what}"))
    fix = (
        "integer division and remainder by zero are undefined on a GPU: guard the divisor with "
        "`if` or T.if_then_else, or use T.max(divisor, 1)"
    )
    return RuntimeFault("division", "integer division by zero", [*notes, Note(fix)], site=origin)


def index_text(name: str, index: Sequence[int]) -> str:
    """`A_shared[3, 0]`."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def count_text(count: int, noun: str) -> str:
    """`1 element`, `2 elements`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
