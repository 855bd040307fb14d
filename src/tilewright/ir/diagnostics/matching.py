"""Pairs expected diagnostics with the actual ones and lists mismatches.

The rules and the wording are those of mlir-opt's `--verify-diagnostics`: every diagnostic, notes
included, must be expected, and every expectation must match. A diagnostic matches when file,
line and severity are equal and its message contains the expected text. An expectation without
a count may cover several diagnostics; an unmatched one is preferred, so that equal
expectations are matched in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from tilewright.ir.diagnostics.diagnostic import Diagnostic, Severity
from tilewright.ir.diagnostics.expect import Expectation, Expectations
from tilewright.ir.diagnostics.position import Location
from tilewright.ir.diagnostics.render import one_line


class MismatchKind(Enum):
    """What is wrong."""

    MALFORMED = "expectation cannot be parsed"
    UNEXPECTED = "unexpected diagnostic"
    WRONG_SEVERITY = "diagnostic expected with another severity"
    MISSING = "expected diagnostic missing"


@dataclass(frozen=True)
class Mismatch:
    """One mismatch between expectations and diagnostics."""

    kind: MismatchKind
    message: str
    location: Location | None

    def diagnostic(self) -> Diagnostic:
        """The mismatch as an error, to be rendered or emitted."""
        return Diagnostic(Severity.ERROR, self.message, self.location)

    def __str__(self) -> str:
        return one_line(self.diagnostic())


def match(
    expectations: Expectations,
    diagnostics: Iterable[Diagnostic],
    *,
    only_expected: bool = False,
) -> list[Mismatch]:
    """All mismatches; empty when the run matches the expectations.

    `only_expected` ignores diagnostics without an expectation.
    """
    tally = _Tally(expectations.items)
    mismatches = [
        Mismatch(MismatchKind.MALFORMED, problem.message, problem.position)
        for problem in expectations.problems
    ]
    for diagnostic in _with_notes(diagnostics):
        mismatch = tally.take(diagnostic)
        if mismatch is not None and not only_expected:
            mismatches.append(mismatch)
    return mismatches + list(tally.missing())


def _with_notes(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from diagnostic.notes


class _Tally:
    """Match counts of expectations."""

    def __init__(self, items: tuple[Expectation, ...]) -> None:
        self._items = items
        self._matched = [0] * len(items)

    def take(self, diagnostic: Diagnostic) -> Mismatch | None:
        """Count the diagnostic for the expectation it matches, or return why there is none."""
        near = self._candidates(diagnostic)
        fitting = [i for i in near if self._items[i].severity is diagnostic.severity]
        open_ones = [i for i in fitting if self._is_open(i)]
        if open_ones:
            best = next((i for i in open_ones if self._lacks(i)), open_ones[0])
            self._matched[best] += 1
            return None
        label = diagnostic.severity.label
        if near and not fitting:
            expected = self._items[near[-1]]
            return Mismatch(
                MismatchKind.WRONG_SEVERITY,
                f"'{label}' diagnostic emitted when expecting a '{expected.severity.label}'",
                expected.position,
            )
        return Mismatch(
            MismatchKind.UNEXPECTED,
            f"unexpected {label}: {diagnostic.message}",
            diagnostic.location,
        )

    def missing(self) -> Iterator[Mismatch]:
        for index, item in enumerate(self._items):
            if self._lacks(index):
                yield Mismatch(
                    MismatchKind.MISSING, _missing_text(item, self._matched[index]), item.position
                )

    def _candidates(self, diagnostic: Diagnostic) -> list[int]:
        """Expectations for this position and text, whatever the severity."""
        position = diagnostic.trail.primary
        target = None if position is None else (position.file, position.line)
        return [
            index
            for index, item in enumerate(self._items)
            if _target(item) == target and item.accepts(diagnostic.message)
        ]

    def _is_open(self, index: int) -> bool:
        count = self._items[index].count
        return count is None or self._matched[index] < count

    def _lacks(self, index: int) -> bool:
        return self._matched[index] < (self._items[index].count or 1)


def _target(item: Expectation) -> tuple[str, int] | None:
    return None if item.line is None else (item.position.file, item.line)


def _missing_text(item: Expectation, matched: int) -> str:
    expected = f'expected {item.severity.label} "{item.text}"'
    if matched == 0:
        return f"{expected} was not produced"
    return f"{expected} was produced {matched} of {item.count} times"
