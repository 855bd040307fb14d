"""Checks of a kernel: coalescing, vector width, bounds, races, overflow, prefetching.

``run_checks`` takes the report of ``analyze`` and returns findings for each check: proved, refuted
with a witness, or unknown with the reason.

    findings  settings     results of checks, and their options
    regions  questions     executions of an access, and queries over them
    launches               a report under examination
    intervals              P0: ranges, congruences, bounds by elimination
    mixed_radix            P1: digits with symbolic strides
    presburger             P2: integer sets, by isl
    smt                    P3: non-linear terms, by z3 if it is installed
    enumeration ownership  P4: every program, iteration and lane of a given launch
    contents               loaded integers, where memory is given
    premises               verdicts that rest on integers which do not fit
    coalescing vector bounds overlap overflow prefetch    the checks
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tilewright.analysis.pid_address.checks import (
    bounds,
    coalescing,
    overflow,
    overlap,
    prefetch,
    vector,
)
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Counterexample,
    Finding,
    Hint,
    Method,
    Point,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.premises import reconsidered
from tilewright.analysis.pid_address.checks.settings import Settings
from tilewright.analysis.pid_address.report import AddressReport

__all__ = [
    "ALL_CHECKS",
    "Check",
    "CheckResult",
    "Counterexample",
    "Finding",
    "Hint",
    "Method",
    "Point",
    "Settings",
    "run_checks",
]

_CHECKS: dict[Check, Callable[[Launch], list[Finding]]] = {
    Check.COALESCE: coalescing.check,
    Check.VECTOR: vector.check,
    Check.BOUNDS: bounds.check,
    Check.RACE: overlap.check,
    Check.OVERFLOW: overflow.check,
    Check.PREFETCH: prefetch.check,
}

ALL_CHECKS: tuple[Check, ...] = tuple(_CHECKS)


def run_checks(
    report: AddressReport,
    checks: Iterable[Check | str] = ALL_CHECKS,
    settings: Settings | None = None,
) -> tuple[Finding, ...]:
    """The findings of the given checks, check by check, accesses in the report's order.

    An unknown name raises ValueError.
    """
    names = [_known(name) for name in dict.fromkeys(checks)]
    missing = tuple(_not_analysed(report, names))
    if not report.accesses:
        return missing
    launch = Launch(report, settings or Settings())
    findings = [finding for name in names for finding in _CHECKS[name](launch)]
    return (*reconsidered(launch, findings, partial(overflow.found, launch)), *missing)


_OF_EVERY_ACCESS = frozenset({Check.COALESCE, Check.BOUNDS, Check.RACE})
"""Checks whose claim is about all accesses to global memory."""


def _not_analysed(report: AddressReport, names: Iterable[Check]) -> Iterator[Finding]:
    for name in names:
        if name in _OF_EVERY_ACCESS:
            for op in report.not_analysed:
                yield Finding(name, CheckResult.UNKNOWN, (), None, Method.NONE, str(op))


def _known(name: Check | str) -> Check:
    if name not in {check.value for check in ALL_CHECKS}:
        known = ", ".join(check.value for check in ALL_CHECKS)
        raise ValueError(f"no check named {name}; there are {known}")
    return Check(name)
