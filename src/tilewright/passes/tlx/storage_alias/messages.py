"""Findings as diagnostics: the op they belong to, their code, and notes with a fix.

The texts are those of ``memory.rules``. Codes are in the range of memory planning; an invariant
that the compiler itself violated is in the range of internal errors. Notes name what works, and a
size in a note was planned before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity, locate
from tilewright.memory import RULES, Finding, Options, fitting_changes, plan_region
from tilewright.memory import Severity as FindingSeverity
from tilewright.memory.tree import leaves as _leaves
from tilewright.passes.tlx.storage_alias.collect import Spec, SpecError
from tilewright.passes.tlx.storage_alias.planning import Planned, Settings

_FIRST_CODE = {"E": 5020, "W": 5050, "R": 5060, "V": 5070}
"""``E7`` is TW5027, ``W3`` is TW5053 and so on."""

GENERAL_CODE = "TW5019"
"""Errors without a number of their own."""

INTERNAL_CODE = "TW9060"
"""The module violates its guarantees: an internal compiler error."""

_SEVERITIES = {
    FindingSeverity.ERROR: Severity.ERROR,
    FindingSeverity.WARNING: Severity.WARNING,
    FindingSeverity.REMARK: Severity.REMARK,
}

ALWAYS_REPORTED = ("W1", "W5", "R1")
"""What is not an error and reported even without `report`: upstream reports it too, or it needs
an option that upstream does not have."""

BARE = frozenset({"W1", "E1", "E2", "E3", "E4", "E5", "E6", "E8", "E14", "E15"})
"""Diagnostics of upstream, whose tests expect them without a note: notes come with a report."""


def code_of(rule: str) -> str:
    """The error code of a rule."""
    return f"TW{_FIRST_CODE[rule[0]] + int(rule[1:])}"


@dataclass(frozen=True)
class Note:
    """An explanation, at the position of the diagnostic unless it has its own."""

    text: str
    op: Operation | None = None


class Messenger:
    """Reports findings to an engine."""

    def __init__(self, engine: DiagnosticEngine, settings: Settings, report: bool) -> None:
        self._engine = engine
        self._settings = settings
        self._report = report

    def about_spec(self, planned: Planned, findings: Iterable[Finding]) -> None:
        """Report what planning found, on the ops it is about."""
        for found in findings:
            op = subject_op(found, planned.spec)
            notes = [*_NOTES.get(found.rule, _no_notes)(planned, found, self._settings)]
            texts = [found.message, *found.notes, *(note.text for note in notes)]
            self.at(op, found, [*notes, *_introductions(planned.spec, texts)])

    def at(self, op: Operation, found: Finding, notes: Iterable[Note] = ()) -> None:
        """Report one finding on `op`."""
        if not found.is_error and not self._is_reported(found):
            return
        severity = _SEVERITIES[found.severity]
        code = code_of(found.rule)
        diagnostic = Diagnostic(severity, found.message, locate(op), code)
        # All notes are attached first: an engine hands a diagnostic over when the next arrives.
        self._annotate(diagnostic, found.rule, (*map(Note, found.notes), *notes))
        self._engine.emit(diagnostic)

    def _is_reported(self, found: Finding) -> bool:
        return self._report or found.rule in ALWAYS_REPORTED

    def _annotate(self, diagnostic: Diagnostic, rule: str, notes: Iterable[Note]) -> None:
        if not self._report and rule in BARE:
            return
        for note in (*notes, *map(Note, _SUGGESTIONS.get(rule, ()))):
            diagnostic.note(note.op, note.text)

    def problem(self, problem: SpecError) -> None:
        """Report what could not even be planned."""
        code = GENERAL_CODE if problem.rule is None else code_of(problem.rule)
        diagnostic = self._engine.error(problem.op, problem.message, code)
        self._annotate(diagnostic, problem.rule or "", ())


def subject_op(found: Finding, spec: Spec) -> Operation:
    """The op that a finding of `spec` is about."""
    subject = RULES[found.rule].subject
    if subject == "leaf":
        return spec.allocations.get(found.subject, spec.op)
    if subject == "group":
        return spec.group_at(found.path or (), found.subject)
    if subject == "overlap":
        return _overlap(found, spec)
    return spec.op


def _overlap(found: Finding, spec: Spec) -> Operation:
    if found.rule == "E3":
        return spec.overlaps[1]
    if found.subject in spec.allocations:
        return spec.overlap_of(found.subject)
    return spec.overlaps[0] if spec.overlaps else spec.op


# -- notes ---------------------------------------------------------------------------------------

_SUGGESTIONS: Mapping[str, Sequence[str]] = {
    "W1": ("remove it, or allocate from it with reuse=",),
    "W5": ("tlx.local_alias of an allocation becomes a second allocation from its spec",),
    "E1": ("tensor memory has rows and columns; give the buffer two dimensions",),
    "E9": ("index the array first, then take the view of the one buffer",),
    "E10": ("index the arrays before control flow joins, or pass the same array on all paths",),
    "E12": ("index the array first; a single buffer may be used anywhere",),
}
"""What always helps."""


def _introductions(spec: Spec, texts: Sequence[str]) -> Iterator[Note]:
    """The allocations of buffers that have a generated name, for readers of the message."""
    for name, op in spec.allocations.items():
        is_named = op.result.name_hint is not None
        if not is_named and any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts):
            yield Note(f"'{name}' is allocated here", op)


_NoteMaker = Callable[[Planned, Finding, Settings], Iterator[Note]]


def _no_notes(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    return iter(())


def _too_small(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    region = replace(planned.spec.region, size_bytes=None)
    for mode in settings.modes:
        plan = plan_region(region, Options(mode, live=planned.live)).plan
        if plan is not None:
            yield Note(f"without a size the region gets {plan.backing.size_bytes} bytes")
            return


def _second_overlap(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    yield Note("the first definition is here", planned.spec.overlaps[0])
    yield Note("put both into one tree, or name phases and set multi-overlap=true")


def _uneven(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    buffers = {buffer.name: buffer for buffer in planned.spec.region.buffers}
    count = buffers[found.subject].count
    for phase in planned.spec.region.phases:
        for leaf in _leaves(phase.tree):
            if leaf.buffer.name == found.subject and leaf.group_size > 1:
                low = count // leaf.group_size * leaf.group_size
                fits = f"{low} or {low + leaf.group_size}" if low else f"{leaf.group_size}"
                yield Note(f"{fits} buffers fill whole groups of {leaf.group_size}")
                return


def _too_large(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    region = planned.spec.region
    capacity = settings.capacity(region.memory)
    if capacity is None:
        return
    for mode in settings.modes:
        options = Options(mode, live=planned.live)
        changes = fitting_changes((region,), region.memory, capacity, options)
        yield from (Note(str(change)) for change in changes)
        if changes:
            return


def _outside(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    if planned.spec.overlaps:
        yield Note("this definition does not name the buffer", planned.spec.overlaps[0])


def _unsaid(planned: Planned, found: Finding, settings: Settings) -> Iterator[Note]:
    for group in planned.spec.groups:
        yield Note("this reuse_group is not used: no set_buffer_overlap names it", group)
    if planned.spec.groups:
        yield Note("add a set_buffer_overlap, or set infer-overlap=true")


_NOTES: Mapping[str, _NoteMaker] = {
    "E2": _too_small,
    "E3": _second_overlap,
    "E16": _uneven,
    "E17": _too_large,
    "W3": _outside,
    "W6": _unsaid,
}
