"""Runs a kernel without data under a few trip counts and schedules, and formats the findings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation

from tilewright.analysis.alias_sync.machine import STEP_LIMIT, Machine, Misuse
from tilewright.analysis.alias_sync.symbolic_ints import Assumptions, Root
from tilewright.analysis.concurrency import CHECK_SCHEDULES, TooManySteps
from tilewright.analysis.ordering import TITLES, Access, Finding, FindingKind
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.passes.tlx.alias_sync.kernel import Kernel, NotAnalysed, task_of
from tilewright.passes.tlx.alias_sync.rules import RULES
from tilewright.passes.tlx.alias_sync.walk import Run, plan, start

CODES: dict[FindingKind, str] = {
    "race": "TW4060",
    "overwritten": "TW4061",
    "wait": "TW4062",
    "fence": "TW4063",
    "count": "TW4064",
    "phase": "TW4065",
    "bytes": "TW4066",
    "init": "TW4067",
    "arrive": "TW4068",
    "stale": "TW4070",
    "unread": "TW4071",
}
NOT_ANALYSED = "TW4069"
_AS_THEY_CAME: tuple[FindingKind, ...] = ("overwritten", "stale", "fence")
"""Findings whose accesses are ordered: the first is the first."""
_TASK = re.compile(r"@(\d+)")


@dataclass(frozen=True)
class Counterexample:
    """A finding, and the trip count of loops for which it shows."""

    finding: Finding
    trips: int
    is_deadlock: bool = False
    is_minor: bool = False
    """Whether longer loops may show two accesses instead."""


@dataclass
class SyncResult:
    """What was found out about a kernel."""

    witnesses: list[Counterexample] = field(default_factory=list[Counterexample])
    unread: list[Access] = field(default_factory=list[Access])
    """Copies that are never read whatever the trip counts, if nothing else is wrong."""
    unknown: dict[Operation, str] = field(default_factory=dict[Operation, str])
    runs: int = 0
    events: int = 0


def check_kernel(
    kernel: Kernel,
    trip_counts: Sequence[int],
    given: Mapping[Root, int],
) -> SyncResult:
    """Follow a kernel with short loops first, until two accesses or a deadlock are shown."""
    verdict = SyncResult()
    reached: set[Operation] = set()
    followed: list[dict[Root, int]] = []
    """Choices that leave nothing to the trip count: no need to follow them twice."""
    for trips in trip_counts:
        chosen = plan(kernel, trips, RULES, given)
        if chosen.known in followed:
            continue
        depends_on_trips = False
        found: list[list[Counterexample]] = []
        for schedule in CHECK_SCHEDULES.values():
            integers = Assumptions(dict(chosen.known))
            run = Run(kernel, Machine(kernel.possible, schedule()), integers, trips, RULES)
            found.append(_follow(run, verdict))
            verdict.runs += 1
            verdict.events += run.machine.checker.events
            verdict.unknown.update(run.unknown)
            verdict.unread = run.machine.checker.unread_copies()
            reached |= run.reached
            depends_on_trips |= run.depends_on_trips
        if not depends_on_trips:
            followed.append(chosen.known)
        shown = min(
            (each for each in found if each), key=_plainness, default=list[Counterexample]()
        )
        if shown:
            verdict.witnesses = shown
            if not all(each.is_minor for each in shown):
                break
    if verdict.witnesses:
        verdict.unread = []
        return verdict
    if verdict.unknown:
        verdict.unread = []  # the rest may well read them
    else:
        verdict.unknown.update(_never_reached(kernel, reached, trip_counts))
    return verdict


def _plainness(witnesses: list[Counterexample]) -> tuple[bool, bool, bool]:
    """Of several schedules the most informative: a write against a read, and its cause."""
    finding = witnesses[0].finding
    first, second = finding.first, finding.second
    is_pair = first is not None and second is not None and first.kind != second.kind
    return witnesses[0].is_minor, not is_pair, finding.kind == "race"


def _follow(run: Run, verdict: SyncResult) -> list[Counterexample]:
    checker = run.machine.checker
    deadlock: Finding | None = None
    misuse: Finding | None = None
    try:
        start(run)
        deadlock = run.machine.run()
    except NotAnalysed as reason:
        verdict.unknown.setdefault(reason.op, reason.reason)
    except TooManySteps:
        reason = f"more than {STEP_LIMIT} steps with a trip count of {run.trips}"
        verdict.unknown.setdefault(run.kernel.function, reason)
    except Misuse as wrong:
        misuse = wrong.finding
    found = [Counterexample(each, run.trips) for each in checker.findings(misuse is not None)]
    if not found:
        found = [
            Counterexample(each, run.trips, is_minor=True) for each in run.machine.direct.values()
        ]
    if not found and misuse is not None:
        found = [Counterexample(misuse, run.trips)]
    if not found and deadlock is not None:
        found.append(Counterexample(deadlock, run.trips, is_deadlock=True))
    return found


def _never_reached(
    kernel: Kernel, reached: set[Operation], trip_counts: Sequence[int]
) -> dict[Operation, str]:
    """The first op of each block that was not reached."""
    counts = ", ".join(map(str, trip_counts))
    found: dict[Operation, str] = {}
    for op in kernel.ops:
        if op in reached or op.name not in RULES or op.parent in map(_block, found):
            continue
        by = f" by {spoken(task_of(op))}" if kernel.function.is_ancestor(op) else ""
        found[op] = f"not reached{by} with trip counts {counts}"
    return found


def _block(op: Operation) -> object:
    return op.parent


# Formatting.


def spoken(text: str) -> str:
    """Names of tasks as people read them."""
    return _TASK.sub(r"task \1", text)


def quoted(name: str) -> str:
    """`'p'[0]` of `p[0]`."""
    base, bracket, rest = name.partition("[")
    return f"'{base}'{bracket}{rest}"


def described(access: Access) -> str:
    return f"{access.kind} of {quoted(access.region.name)} in {spoken(access.task)}"


def diagnostic(kernel: Kernel, witness: Counterexample) -> Diagnostic:
    """A finding as a warning, with all that is known about it."""
    finding = witness.finding
    early, late = _by_intent(finding)
    message = _message(finding, early, late, witness.is_deadlock)
    at = finding.site if late is None else late.site
    made = Diagnostic(Severity.WARNING, message, _location(kernel, at), CODES[finding.kind])

    def note(text: str, position: int | None = None) -> None:
        made.notes.append(Diagnostic(Severity.NOTE, spoken(text), _location(kernel, position)))

    if early is not None and late is not None:
        note(f"the other access, iteration {early.iteration}: {_act(early)}", early.site)
        note(
            f"this access, iteration {late.iteration}: {_act(late)}; the accesses overlap in "
            f"{_bytes(finding.size_bytes)}"
        )
    for remark in finding.notes:
        note(remark.text, remark.site)
    note(f"missing: {finding.cause.missing}")
    for remark in finding.cause.details:
        note(remark.text, remark.site)
    note(f"smallest fix: {finding.cause.fix.text}", finding.cause.fix.site)
    note(f"found with a trip count of {witness.trips} for loops of unknown trip count")
    if finding.others:
        pairs = "pair" if finding.others == 1 else "pairs"
        note(f"{finding.others} more {pairs} of accesses for the same reason")
    return made


def unread(kernel: Kernel, access: Access) -> Diagnostic:
    """A copy of which no byte is read."""
    issued = f"issued by {access.task}, iteration {access.iteration}"
    title = TITLES["unread"]
    message = spoken(f"{title}: no task reads the data of {access.operation} ({issued})")
    at = _location(kernel, access.site)
    made = Diagnostic(Severity.WARNING, message, at, CODES["unread"])
    text = "check which buffer the consumer reads, or remove the copy"
    made.notes.append(Diagnostic(Severity.NOTE, text))
    return made


def _location(kernel: Kernel, position: int | None) -> Attribute | None:
    return None if position is None else kernel.positions.locations[position]


def _act(access: Access) -> str:
    return str(access) if access.operation else described(access)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _message(finding: Finding, early: Access | None, late: Access | None, is_deadlock: bool) -> str:
    if is_deadlock:
        return f"deadlock: {spoken(finding.message.partition(': ')[2] or finding.message)}"
    if early is None or late is None or finding.kind == "stale":
        return spoken(finding.message)
    if finding.kind == "overwritten":
        return f"overwritten: {described(late)} observes the data of {described(early)}"
    what = "proxy fence" if finding.kind == "fence" else "barrier"
    return (
        f"data race: {described(late)} may run before {described(early)} completes; "
        f"no {what} orders them"
    )


def _by_intent(finding: Finding) -> tuple[Access | None, Access | None]:
    """The access that should come first, and the other one.

    The order of events carries little information, as nothing orders them. A missing wait belongs
    before the access that should come later; otherwise a read of uninitialised data came too soon.
    """
    first, second = finding.first, finding.second
    if first is None or second is None or finding.kind in _AS_THEY_CAME:
        return first, second
    where = finding.cause.fix.site
    if finding.kind == "wait" and first.site != second.site and where == first.site:
        return second, first
    if first.kind == "read" and first.previous == 0:
        return second, first
    return first, second
