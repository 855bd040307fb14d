"""Claims that rest on integers which do not fit their types.

Formulas are over unbounded integers. Where a given launch makes one of the integers of an address
wrap around, what was proved about that address, or refuted at such a point, holds for another
kernel: offsets that differ as integers may be equal modulo 2**32. Such a verdict becomes unknown,
and the integer that leaves its type is reported even if `overflow` was not requested.

What overflows only for arguments that were left open stays an assumption of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tilewright.analysis.affine import evaluate
from tilewright.analysis.pid_address.checks.findings import Check, CheckResult, Finding, Point
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.report import Assumption

_RESTING = frozenset({Check.BOUNDS, Check.RACE})
Overflow = Callable[[int], Finding]
"""What `overflow` finds about the assumption of this number."""


def reconsidered(
    launch: Launch, findings: Iterable[Finding], overflow: Overflow
) -> Iterator[Finding]:
    """`findings`, those with a broken premise as unknown; then what overflowed, once each."""
    reported: dict[int, Finding] = {}
    requested: set[int] = set()
    for finding in findings:
        if finding.assumption is not None:
            requested.add(finding.assumption)
        broken = _broken(launch, finding, overflow)
        if broken is None:
            yield finding
            continue
        index, reason = broken
        reported[index] = reason
        message = f"{finding.message}; this assumes no overflow, but {reason.message}"
        yield replace(
            finding, verdict=CheckResult.UNKNOWN, message=message, condition=None, witness=None
        )
    yield from (each for index, each in reported.items() if index not in requested)


def _broken(launch: Launch, finding: Finding, overflow: Overflow) -> tuple[int, Finding] | None:
    """The first premise of a finding that does not hold in the launch that was described."""
    if finding.check not in _RESTING or finding.verdict is CheckResult.UNKNOWN:
        return None
    accesses = [a for a in launch.report.accesses if a.index in finding.accesses]
    for index in sorted({index for access in accesses for index in access.assumptions}):
        reason = overflow(index)
        if reason.is_violation and not _stands(launch.report.assumptions[index], finding):
            return index, reason
    return None


def _stands(assumption: Assumption, finding: Finding) -> bool:
    """Whether a witness is at points where the integer does fit."""
    if finding.verdict is not CheckResult.REFUTED or finding.witness is None:
        return False
    return all(_fits(assumption, point) for point in finding.witness.points)


def _fits(assumption: Assumption, point: Point) -> bool:
    values = {f"pid{axis}": value for axis, value in enumerate(point.program)}
    values |= {f"lane{dim}": value for dim, value in enumerate(point.lanes)}
    values |= {f"it({loop})": value for loop, value in point.counters}
    try:
        value = evaluate(assumption.expr, values)
    except (KeyError, ArithmeticError):
        return False
    return assumption.lower <= value and (assumption.upper is None or value <= assumption.upper)
