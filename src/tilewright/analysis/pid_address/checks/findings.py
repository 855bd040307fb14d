"""The result of a check: a verdict, how it was reached, and a counterexample where there is one.

A verdict is one of three. ``proved`` holds for every point of the domain, under ``condition`` if
there is one; ``refuted`` comes with a witness that can be substituted into the formulas;
``unknown`` gives the reason and never means safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class CheckResult(StrEnum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Check(StrEnum):
    """The names of ``--check``, and notes that come with them and are no defects."""

    COALESCE = "coalesce"
    VECTOR = "vector"
    BOUNDS = "bounds"
    RACE = "race"
    OVERFLOW = "overflow"
    PREFETCH = "prefetch"
    LANES = "lanes"
    """With ``race``: lanes of one program write one address."""
    ORDER = "order"
    """With ``coalesce``: a load and a store want different lane orders."""
    ALIGNMENT = "alignment"
    """With ``coalesce``: long runs that start anywhere."""
    GUARD = "guard"
    """With ``bounds``: elements outside of a tensor, which the tile language leaves out."""


class Method(StrEnum):
    """The procedure that decided."""

    INTERVALS = "intervals"
    MIXED_RADIX = "mixed_radix"
    PRESBURGER = "presburger"
    SMT = "smt"
    ENUMERATION = "enumeration"
    LANE_FACTS = "lane_facts"
    NONE = "none"


VIOLATIONS = frozenset({Check.COALESCE, Check.BOUNDS, Check.RACE, Check.OVERFLOW})
"""Checks that state a claim; the others give hints and notes, which nothing can violate."""


_OUTCOMES: Mapping[Check, Mapping[CheckResult, str]] = {
    Check.GUARD: {CheckResult.PROVED: "not needed", CheckResult.REFUTED: "needed"},
    Check.ORDER: {CheckResult.REFUTED: "note"},
    Check.LANES: {CheckResult.REFUTED: "note"},
    Check.ALIGNMENT: {CheckResult.UNKNOWN: "note"},
}
_CONDITIONAL = frozenset({Check.BOUNDS, Check.OVERFLOW})
"""Checks that give a condition on open arguments instead of a violation."""


@dataclass(frozen=True)
class Point:
    """One execution of one lane of one access."""

    access: int | None
    """Index of the access; None for a value that one is computed from."""
    program: tuple[int, int, int]
    counters: tuple[tuple[str, int], ...]
    """Iterations of the enclosing loops, outermost first."""
    lanes: tuple[int, ...]

    def __str__(self) -> str:
        parts = [f"program {program_text(self.program)}"]
        parts += [f"iteration {count} of {loop}" for loop, count in self.counters]
        if self.lanes:
            parts.append(f"lane {', '.join(map(str, self.lanes))}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Counterexample:
    """Where a claim fails: the point or the two points, the address or value there."""

    points: tuple[Point, ...]
    address: int | None
    """Byte offset from the base, of the first common byte for two points."""
    value: int | None = None
    """Of an integer that leaves its type."""
    args: Mapping[str, int] = field(default_factory=dict[str, int])
    """Arguments and grid, where the caller had left them open."""


@dataclass(frozen=True)
class Hint:
    """Properties of one load in one loop that matter for prefetching."""

    loop: str
    bytes_per_iteration: int
    stride: str | None
    disjoint: bool | None
    """Whether different iterations access different memory."""
    ahead: bool
    """Whether the address needs nothing that the loop itself computes from memory."""
    tma: bool
    next_block: bool | None
    """Whether the next program reads the block that follows."""


@dataclass(frozen=True)
class Finding:
    check: Check
    verdict: CheckResult
    accesses: tuple[int, ...]
    witness: Counterexample | None
    method: Method
    message: str
    condition: str | None = None
    """What the caller has to make sure of, for a proof to hold."""
    hint: Hint | None = None
    assumption: int | None = None
    """Index of the assumption that an overflow finding is about."""

    @property
    def is_violation(self) -> bool:
        """Whether a claim that was to be checked fails in the launch that was described.

        An overflow or an access out of bounds for arguments that were not given, such as a negative
        offset, is a condition on them, not a violation. A conflict between programs is one in any
        case: arguments that prevent it have to be stated.
        """
        if self.verdict is not CheckResult.REFUTED or self.check not in VIOLATIONS:
            return False
        is_open = self.witness is not None and bool(self.witness.args)
        return not (is_open and self.check in _CONDITIONAL)

    @property
    def outcome(self) -> str:
        """The verdict in text; notes state no claim that could be proved or refuted."""
        return _OUTCOMES.get(self.check, {}).get(self.verdict, self.verdict.value)

    def __str__(self) -> str:
        return f"{self.check}: {self.outcome} ({self.method}): {self.message}"


def program_text(program: Sequence[int]) -> str:
    """Program ids without axes that were not needed."""
    shown = list(program)
    while len(shown) > 1 and shown[-1] == 0:
        shown.pop()
    return str(shown[0]) if len(shown) == 1 else f"({', '.join(map(str, shown))})"
