"""Findings of the checker: the two accesses, the bytes, the missing ordering, a suggested fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.analysis.ordering.regions import Access

FindingKind: TypeAlias = Literal[
    "race",
    "overwritten",
    "stale",
    "wait",
    "fence",
    "count",
    "phase",
    "bytes",
    "init",
    "arrive",
    "unread",
]

TITLES: dict[FindingKind, str] = {
    "race": "data race",
    "overwritten": "overwritten value",
    "stale": "stale read",
    "wait": "missing wait",
    "fence": "missing async proxy fence",
    "count": "wrong arrive count",
    "phase": "wrong phase",
    "bytes": "transaction count mismatch",
    "init": "barrier used before its initialisation",
    "arrive": "missing arrival",
    "unread": "buffer never read",
}


@dataclass(frozen=True)
class Remark:
    """A sentence, with a site in the program if it has one."""

    text: str
    site: int | None = None


def parity_fix(phase: int, site: int, slots: int = 0) -> Remark:
    """A fix for a wait with the wrong parity, on a barrier of an array of `slots`.

    Only phase 0 has a parity that can be written as a constant: a wait for a later phase is reached
    once per phase, and the other parity would be wrong in the phase before.
    """
    if not phase and slots <= 1:
        return Remark("wait for parity 0 here", site)
    example = f", for example (i // {slots}) & 1 in iteration i" if slots > 1 else ""
    return Remark(
        "the parity alternates: wait here for parity n & 1 in use n of the slot (n = 0, 1, "
        f"...){example}",
        site,
    )


@dataclass(frozen=True)
class Cause:
    """Why two accesses are unordered, and what would order them."""

    kind: FindingKind
    missing: str
    fix: Remark
    barrier: str = ""
    """The array of barriers it is about, if any."""
    details: tuple[Remark, ...] = ()
    doubt: int = 1
    """0 if the program itself proves it, more if it is a guess; of several causes, the one with the
    least doubt is reported first."""


@dataclass(frozen=True)
class Finding:
    """A report."""

    message: str
    site: int
    cause: Cause
    first: Access | None = None
    second: Access | None = None
    size_bytes: int = 0
    notes: tuple[Remark, ...] = ()
    others: int = field(default=0)
    """Further pairs of accesses with the same cause."""

    @property
    def kind(self) -> FindingKind:
        return self.cause.kind


def counted(count: int, noun: str) -> str:
    """`1 byte`, `2 bytes`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
