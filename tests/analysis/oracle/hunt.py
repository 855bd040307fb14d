"""Lets mutants of the analysis loose on recorded kernels, and sees which are caught.

Every mutant has one of five fates::

    caught      some claim contradicts an execution, or cannot be evaluated at all
    crashes     the analysis raises, or does not come to an end: whoever asks it sees an error
    weaker      reports change, and say less
    unchanged   no report changes: nobody can tell it from the original
    survives    some report says something else, and no execution contradicts it

Of mutants that change what is claimed, caught, crashed and surviving ones count; a weaker one
claims nothing wrong, an unchanged one nothing at all. Both are listed all the same.

A mutant meets only kernels whose analysis runs the line it is on, the cheapest first, until it is
caught or has had its share of work. Work is counted in lines of the analysis that run, so that the
outcome is the same on every machine.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from types import FrameType
from typing import Any

from tests.analysis.oracle.binding import Subject, examine
from tests.analysis.oracle.mutants import Line, Mutant, applied, source_files
from tests.analysis.oracle.recording import Recording
from tests.analysis.oracle.strength import fingerprint, is_weaker, is_weaker_axis
from tests.analysis.oracle.trials import Examined, Trial
from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.analysis.pid_address import AccessProperties

_SHARE = 200_000
"""A mutant that is not caught in so many lines of work is not pursued further."""

MODES = ("open", "rules", "axis", "strict", "given")
"""``rules``: axis facts by their own rules alone."""

_SECONDS = 3.0
"""Longer than this, in processor time, an analysis of a small kernel does not come to an end."""


class Fate(StrEnum):
    CAUGHT = "caught"
    CRASHES = "crashes"
    WEAKER = "weaker"
    UNCHANGED = "unchanged"
    SURVIVES = "survives"


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    fate: Fate
    where: str
    """The kernel that showed it."""
    claim: str
    """What was refuted, or how it crashed."""

    def __str__(self) -> str:
        found = f" by {self.claim} in {self.where}" if self.where else ""
        return f"{self.fate:9} {self.mutant}{found}"


class Probe:
    """One analysis of one kernel, and how to judge its outcome."""

    def __init__(self, trial: Trial, mode: str) -> None:
        self.trial = trial
        self.mode = mode
        self.name = f"{trial.name} ({mode})"
        with _seen() as lines:
            self.known = self._made()
        self.lines = frozenset(lines)
        self.work = lines.total()
        self.text = self._text(self.known)

    def _made(self) -> Subject | AxisFacts:
        if self.mode == "axis":
            return self.trial.axis_facts()
        if self.mode == "rules":
            return solve_axis_info(self.trial.module)
        if self.mode == "given":
            return self.trial.given_subject(self._runs()[0])
        if self.mode == "strict":
            return examine(self.trial.module, AccessProperties(strict_overflow=True))
        return examine(self.trial.module)

    def _runs(self) -> list[Recording]:
        return self.trial.honest[:1] if self.mode == "given" else self.trial.honest

    def _text(self, made: Subject | AxisFacts) -> str:
        if isinstance(made, Subject):
            return fingerprint(made.report)
        return "\n".join(f"{made[v]} {len(made[v].assumes)}" for v in self._values())

    def _values(self) -> list[Any]:
        return [value for value, _ in self.trial.honest[0].values]

    def judge(self) -> tuple[Fate, str]:
        """The fate of the analysis as it is now."""
        try:
            with _limited(_SECONDS):
                made = self._made()
                text = self._text(made)
        except Exception as error:
            return Fate.CRASHES, type(error).__name__
        if text == self.text:
            return Fate.UNCHANGED, ""
        try:
            with _limited(_SECONDS):
                refuted = next(self._refuted(made), None)
        except Exception as error:
            return Fate.CAUGHT, f"malformed ({type(error).__name__})"
        if refuted is not None:
            return Fate.CAUGHT, refuted
        return (Fate.WEAKER if self._is_weaker(made) else Fate.SURVIVES), ""

    def _refuted(self, made: Subject | AxisFacts) -> Iterator[str]:
        if isinstance(made, Subject):
            examined = Examined(self.mode, made, (), tuple(self._runs()))
            found = self.trial.refuted(examined)
        else:
            found = self.trial.refuted_axis(made)
        for one in found:
            yield one.claim

    def _is_weaker(self, made: Subject | AxisFacts) -> bool:
        if isinstance(made, Subject):
            assert isinstance(self.known, Subject)
            return is_weaker(made.report, self.known.report)
        assert not isinstance(self.known, Subject)
        return all(is_weaker_axis(made[value], self.known[value]) for value in self._values())


def probes(trials: Iterable[Trial], modes: Sequence[str] = MODES) -> tuple[Probe, ...]:
    """Kernels in every mode, the cheapest first."""
    made = [Probe(trial, mode) for trial in trials if trial.honest for mode in modes]
    return tuple(sorted(made, key=lambda probe: (probe.work, probe.name)))


def hunt(mutant: Mutant, among: Sequence[Probe]) -> Outcome:
    """The fate of a mutant; the search ends when it is caught."""
    worst, where, work = Fate.UNCHANGED, "", 0
    order = [Fate.UNCHANGED, Fate.WEAKER, Fate.SURVIVES]
    touched = {(mutant.path, line) for line in range(mutant.line, mutant.last + 1)}
    with applied(mutant):
        for probe in among:
            if touched.isdisjoint(probe.lines):
                continue
            fate, claim = probe.judge()
            if fate in (Fate.CAUGHT, Fate.CRASHES):
                return Outcome(mutant, fate, probe.name, claim)
            if order.index(fate) > order.index(worst):
                worst, where = fate, probe.name
            work += probe.work
            if work > _SHARE:
                break
    return Outcome(mutant, worst, where, "a changed report" if where else "")


def hunt_all(mutants: Iterable[Mutant], among: Sequence[Probe], workers: int) -> Iterator[Outcome]:
    """The fates of mutants, in their order; several are hunted at a time."""
    _shared[:] = among
    # Probes are handed down to forked processes as they are: they could not be sent.
    with get_context("fork").Pool(workers) as pool:
        yield from pool.imap(_hunt_shared, mutants)


_shared: list[Probe] = []
"""The probes of a hunt, for the processes that take part in it."""


def _hunt_shared(mutant: Mutant) -> Outcome:
    return hunt(mutant, _shared)


def first_counted(outcomes: Iterable[Outcome], wanted: int) -> list[Outcome]:
    """Outcomes until so many of them count."""
    seen: list[Outcome] = []
    for outcome in outcomes:
        seen.append(outcome)
        if len(counted(seen)) == wanted:
            break
    return seen


def counted(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those that claim something else than the original."""
    return [one for one in outcomes if one.fate not in (Fate.WEAKER, Fate.UNCHANGED)]


def table(outcomes: Sequence[Outcome]) -> str:
    """Fates by module, what showed them, and every mutant by its fate."""
    modules = sorted({one.mutant.module for one in outcomes})
    lines = [f"{'module':34}" + "".join(f"{fate:>11}" for fate in Fate)]
    for module in [*modules, "all"]:
        own = [one for one in outcomes if module in ("all", one.mutant.module)]
        counts = [sum(one.fate is fate for one in own) for fate in Fate]
        lines.append(f"{module:34}" + "".join(f"{count:>11}" for count in counts))
    for fate, words in _HEADINGS.items():
        own = [one for one in outcomes if one.fate is fate]
        lines.append(f"\n{fate} ({words}): {len(own)}")
        claims = Counter(one.claim for one in own if one.where)
        if fate in (Fate.CAUGHT, Fate.CRASHES):
            lines.append("by " + ", ".join(f"{k} {v}" for k, v in sorted(claims.items())))
        lines += [f"  {one}" for one in own]
    return "\n".join(lines)


_HEADINGS = {
    Fate.SURVIVES: "counted, not noticed",
    Fate.CAUGHT: "counted, a claim is refuted by a run",
    Fate.CRASHES: "counted, whoever asks the analysis sees an error",
    Fate.WEAKER: "not counted, says less",
    Fate.UNCHANGED: "not counted, no report differs",
}


# Helpers.


@contextmanager
def _seen() -> Iterator[Counter[Line]]:
    """The lines of the analysis that run inside, and how often."""
    lines = Counter[Line]()
    files = source_files()

    def note(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if code.co_filename not in files:
            return None
        lines[code.co_filename, frame.f_lineno] += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield lines
    finally:
        sys.settrace(before)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in what takes longer."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
