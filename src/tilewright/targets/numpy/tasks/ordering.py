"""Feeds the ordering checker from a run of tasks, and reports its findings as diagnostics.

    log = OrderingLog()
    kernel.launch(grid, arguments, RunOptions(schedules=20, recorder=log.recorder))

A cluster with findings ends the launch with an `OrderingFault`: its text has every finding with the
two lines, the bytes, the missing order, the smallest fix and the schedule it was seen in. Buffers
and copies that no task reads are known only after all runs: `log.unread()` reports them. They are
errors like the others, for a kernel that reads the wrong buffer leaves the right one unread. What
was not analysed is gathered in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from typing_extensions import override
from xdsl.ir import Attribute

from tilewright.analysis.concurrency import (
    Deadlock,
    Task,
)
from tilewright.analysis.ordering import (
    Checker,
    Finding,
    FindingKind,
    PossibleSignal,
)
from tilewright.analysis.ordering.timeline import (
    Timeline,
)
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager, pretty
from tilewright.targets.numpy.api import Grid, NumpyFault
from tilewright.targets.numpy.fault_codes import MISSING_FENCE
from tilewright.targets.numpy.source import short_location
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tasks.faults import UNKNOWN_CAUSE, TaskFault, task_notes
from tilewright.targets.numpy.tasks.recorder import Recorder
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime
from tilewright.targets.numpy.tasks.unread import UNREAD, UnreadLog
from tilewright.targets.numpy.tasks.view_events import TimelineEvents, ViewEvents, arena_key
from tilewright.targets.numpy.tile.api import FaultKind

Actor: TypeAlias = Task | AsyncOperation

ORDERING_CODES: dict[FindingKind, str] = {
    "race": "TW6130",
    "overwritten": "TW6131",
    "wait": "TW6132",
    "fence": MISSING_FENCE,
    "count": "TW6134",
    "phase": "TW6135",
    "bytes": "TW6136",
    "init": "TW6137",
    "arrive": "TW6138",
    "unread": UNREAD,
    "stale": "TW6140",
}
_FAULT_KINDS: dict[FindingKind, FaultKind] = {
    "race": "race",
    "overwritten": "race",
    "stale": "race",
    "wait": "not arrived",
    "fence": "race",
    "count": "barrier",
    "phase": "barrier",
    "bytes": "barrier",
    "init": "barrier",
    "arrive": "deadlock",
}
Locate: TypeAlias = Callable[[int | None], Attribute | None]
"""The source location of a source site."""


class OrderingFault(TaskFault):
    """Something is not ordered that must be."""

    def __init__(
        self,
        findings: Sequence[Finding],
        diagnostics: Sequence[Diagnostic],
        kind: FaultKind,
        program: Grid | None,
        sources: SourceManager | None,
        seed: int,
        source_sites: Sequence[SourceSite] = (),
    ) -> None:
        super().__init__(kind, diagnostics[0], program, sources, seed)
        self.findings = tuple(findings)
        self.diagnostics = tuple(diagnostics)
        """One for each finding, and what the run ended with."""
        self.source_sites = source_sites
        """The table that the site ids of the findings index."""
        rest = (pretty(each, sources) for each in diagnostics[1:])
        self.args = ("\n".join([str(self.args[0]), *rest]),)


@dataclass
class OrderingLog:
    """What was learnt over all schedules and clusters."""

    wants_timeline: bool = False
    schedules: int = 0
    timeline: Timeline | None = None
    """Of the first cluster, or of the one that failed."""
    not_analysed: dict[str, None] = field(default_factory=dict[str, None])
    unread_log: UnreadLog = field(default_factory=UnreadLog)

    def recorder(self) -> OrderingRecorder:
        """One for each schedule."""
        self.schedules += 1
        return OrderingRecorder(self)

    def ended(self, checker: Checker, source_sites: Sequence[SourceSite]) -> None:
        """A cluster ran to its end."""
        self.not_analysed.update(checker.not_analysed)
        self.unread_log.ended(checker, source_sites)

    def unread(self, severity: Severity = Severity.ERROR) -> list[Diagnostic]:
        """Buffers that were written and read in no run; copies that no task read."""
        return list(self.unread_log.reports(severity))


class OrderingRecorder(Recorder):
    """Sends every event to a checker, and reports what it finds."""

    finds_conflicts = True

    def __init__(self, log: OrderingLog) -> None:
        self._log = log
        self._clusters = 0
        """How many have begun."""
        self._events = ViewEvents(Checker(), ())
        self._source_sites: Sequence[SourceSite] = ()
        self._at: Sequence[int] = ()
        """By source id, the first id with the same location."""
        self._seed = 0
        self._program: Grid | None = None
        self._bodies: Mapping[str, str] = {}
        self._deadlock: Finding | None = None

    @override
    def is_determined(self) -> None:
        self._log.unread_log.determined += self._clusters

    @override
    def begin(self, ctas: Sequence[CtaRuntime], seed: int) -> None:
        self._clusters += 1
        cluster = ctas[0].cluster
        signals = cluster.tables.signals
        self._bodies = cluster.tables.bodies

        def possible(name: str) -> list[PossibleSignal]:
            return [
                PossibleSignal(s.task, self._at[s.source_id], s.op) for s in signals.get(name, ())
            ]

        waiters = cluster.tables.waiters
        checker = Checker(possible, lambda name: waiters.get(name, ()))
        if self._source_sites is not ctas[0].source_sites:
            self._source_sites = ctas[0].source_sites
            self._at = _first_ids(self._source_sites)
        self._seed, self._program = seed, ctas[0].coordinates(0)
        self._deadlock = None
        self.retained = None
        for cta in ctas:
            for arena in (cta.smem, cta.tmem):
                tail = f" of CTA {arena.cta}" if len(ctas) > 1 else ""
                checker.memory(arena_key(arena), f"{arena.name}{tail}", arena.size)
        self._events = ViewEvents(checker, self._at)
        if self._log.wants_timeline:
            title = f"program {self._program}, schedule with seed {seed}"
            self._events = TimelineEvents(
                checker, self._at, title, self._where, names_ctas=len(ctas) > 1
            )

    @override
    def keep(self, problem: Exception) -> bool:
        self.retained = self.retained or problem
        return True

    @override
    def end(self, deadlock: Deadlock | None = None) -> None:
        if deadlock is None:
            self._log.ended(self._checker, self._source_sites)
            self._keep_timeline(replaces=False)
            return
        self._deadlock = self._events.deadlock(deadlock)

    @property
    def _checker(self) -> Checker:
        return self._events.checker

    def _keep_timeline(self, replaces: bool) -> None:
        is_needed = replaces or self._log.timeline is None
        if isinstance(self._events, TimelineEvents) and is_needed:
            self._log.timeline = self._events.builder.done()

    # -- what is raised ----------------------------------------------------------------------

    @override
    def verdict(self, sources: SourceManager | None) -> NumpyFault | None:
        findings = self._checker.findings()
        return self._fault_of(findings, [], sources) if findings else None

    @override
    def fault(self, fault: TaskFault, sources: SourceManager | None) -> NumpyFault:
        findings = self._checker.findings(is_certain=fault.kind == "barrier")
        if fault.kind == "deadlock" and not findings:
            if self._deadlock is not None:
                notes = fault.diagnostic.notes
                notes[:] = [each for each in notes if each.message != UNKNOWN_CAUSE]
                _hint(fault.diagnostic, self._deadlock, self._location)
                findings.append(self._deadlock)
            made = self._fault_of(findings, [fault.diagnostic], sources)
            made.kind = "deadlock"
            return made
        rest = f"execution after the fault in the schedule with seed {self._seed}"
        self._log.not_analysed[rest] = None
        if not findings:
            self._keep_timeline(replaces=True)
            return fault
        return self._fault_of(findings, [], sources, after=fault.diagnostic)

    def _fault_of(
        self,
        findings: Sequence[Finding],
        others: Sequence[Diagnostic],
        sources: SourceManager | None,
        after: Diagnostic | None = None,
    ) -> OrderingFault:
        reported = [each for each in findings if each is not self._deadlock]
        diagnostics = [self._diagnostic(each) for each in reported]
        if after is not None:
            text = f"execution stopped here: {after.message}"
            diagnostics[0].notes.append(Diagnostic(Severity.NOTE, text, after.location))
        if isinstance(self._events, TimelineEvents):
            self._events.builder.timeline.notes.extend(each.message for each in diagnostics)
            self._events.mark_findings(reported)
        self._keep_timeline(replaces=True)
        kind = _FAULT_KINDS[findings[0].kind] if findings else "deadlock"
        return OrderingFault(
            findings,
            [*diagnostics, *others],
            kind,
            self._program,
            sources,
            self._seed,
            self._source_sites,
        )

    def _location(self, source_id: int | None) -> Attribute | None:
        return None if source_id is None else self._source_sites[source_id].location

    def _diagnostic(self, finding: Finding) -> Diagnostic:
        made = Diagnostic(
            Severity.ERROR,
            finding.message,
            self._location(finding.site),
            ORDERING_CODES[finding.kind],
        )
        if finding.first is not None:
            text = f"the other access: {finding.first}"
            made.notes.append(self._note(text, finding.first.site))
        made.notes.extend(self._note(each.text, each.site) for each in finding.notes)
        _explain(made, finding, self._location)
        made.notes.extend(task_notes(made, self._bodies))
        program = f"program {self._program}, " if self._program is not None else ""
        made.notes.append(self._note(f"witness: {program}schedule with seed {self._seed}"))
        if finding.others:
            noun = "pair" if finding.others == 1 else "pairs"
            text = f"{finding.others} more {noun} of accesses for the same reason"
            made.notes.append(self._note(text))
        return made

    def _note(self, text: str, source_id: int | None = None) -> Diagnostic:
        return Diagnostic(Severity.NOTE, text, self._location(source_id))

    def _where(self, source_id: int) -> str:
        location = self._location(source_id)
        return "" if location is None else short_location(location)

    # -- events ------------------------------------------------------------------------------

    @property
    @override
    def receiver(self) -> ViewEvents:
        return self._events

    @override
    def picks(self, view: View, source_id: int) -> None:
        self._events.pick(view)
        where = self._where(source_id)
        self._checker.not_analysed[f"which elements of {view.name} are accessed at {where}"] = None


def _first_ids(source_sites: Sequence[SourceSite]) -> list[int]:
    first: dict[str, int] = {}
    return [first.setdefault(str(site.location), i) for i, site in enumerate(source_sites)]


def _explain(made: Diagnostic, finding: Finding, locate: Locate) -> None:
    cause = finding.cause
    made.notes.append(Diagnostic(Severity.NOTE, f"missing: {cause.missing}"))
    made.notes.extend(
        Diagnostic(Severity.NOTE, each.text, locate(each.site)) for each in cause.details
    )
    fix = f"smallest fix: {cause.fix.text}"
    made.notes.append(Diagnostic(Severity.NOTE, fix, locate(cause.fix.site)))


def _hint(made: Diagnostic, finding: Finding, locate: Locate) -> None:
    """Add the most likely cause to the report on a deadlock."""
    text = f"most likely: {finding.message}"
    where = locate(finding.site)
    made.notes.append(Diagnostic(Severity.NOTE, text, None if where == made.location else where))
    _explain(made, finding, locate)
