"""A kernel, what its launches did, and every claim of the analysis about it.

The same runs are held against reports made with different knowledge:

    open      nothing is known of arguments and grid; holds for every launch
    partly    some arguments are given
    given     everything is given, and all checks are asked
    strict    nothing is known, and nothing may be assumed about overflow
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from xdsl.ir import Operation

from tests.analysis.oracle.arithmetic import UndefinedBehaviour
from tests.analysis.oracle.binding import Subject, examine
from tests.analysis.oracle.cases import Refuted
from tests.analysis.oracle.claims import access_claims, broken_assumptions, unreported
from tests.analysis.oracle.finding_claims import finding_claims
from tests.analysis.oracle.interpreter import run
from tests.analysis.oracle.kernels import Kernel
from tests.analysis.oracle.recording import Launch, Recording
from tests.analysis.oracle.value_claims import assumption_claims, axis_claims, value_claims
from tests.analysis.pid_address.support import parse
from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.analysis.pid_address import AccessProperties, axis_facts
from tilewright.analysis.pid_address.checks import Finding, Settings, run_checks

MODES = ("open", "partly", "given", "strict")
CHECKS = ("bounds", "race", "overflow", "prefetch")


@dataclass(frozen=True)
class Examined:
    """One report, its findings, and the runs it speaks of."""

    mode: str
    subject: Subject
    findings: tuple[Finding, ...]
    recordings: tuple[Recording, ...]


class Trial:
    """A kernel with recorded runs, to be examined as often as one likes."""

    def __init__(
        self,
        name: str,
        module: Operation,
        launches: Sequence[Launch],
        buffers: Mapping[str, int],
        *,
        honours_hints: Sequence[bool] | None = None,
    ) -> None:
        """`honours_hints`: by launch, whether arguments are as divisible as the kernel says."""
        self.name = name
        self.module = module
        self.launches = launches
        self.buffers = dict(buffers)
        self._honours = list(honours_hints or [True] * len(launches))

    @staticmethod
    def of(kernel: Kernel) -> Trial:
        module = parse(kernel.text)
        return Trial(kernel.name, module, kernel.launches, dict(kernel.buffers))

    @cached_property
    def recordings(self) -> list[Recording | None]:
        """The runs; None where the kernel has no meaning for the arguments."""
        return [self._run(launch) for launch in self.launches]

    def _run(self, launch: Launch) -> Recording | None:
        try:
            return run(self.module, launch)
        except UndefinedBehaviour:
            return None

    @property
    def honest(self) -> list[Recording]:
        pairs = zip(self.recordings, self._honours, strict=True)
        return [run for run, honours in pairs if run is not None and honours]

    # Reports.

    def examined(
        self,
        *,
        modes: Sequence[str] = MODES,
        given: int | None = None,
    ) -> Iterator[Examined]:
        """Reports by mode; `given`: for how many launches at most one of their own is made."""
        if "open" in modes and self.honest:
            yield Examined("open", examine(self.module), (), tuple(self.honest))
        if "partly" in modes and self.honest:
            yield self._partly(self.honest[0])
        if "given" in modes:
            for recording in [run for run in self.recordings if run is not None][:given]:
                yield self._given(recording)
        if "strict" in modes and self.honest:
            subject = examine(self.module, AccessProperties(strict_overflow=True))
            yield Examined("strict", subject, (), tuple(self.honest))

    def _partly(self, recording: Recording) -> Examined:
        pick = Random(self.name)
        launch = recording.launch
        args = {name: value for name, value in launch.args.items() if pick.random() < 0.5}
        grid = launch.grid if pick.random() < 0.5 else None
        subject = examine(self.module, AccessProperties(grid=grid, args=args))
        return Examined("partly", subject, (), (recording,))

    def _given(self, recording: Recording) -> Examined:
        subject = self.given_subject(recording)
        launch = recording.launch
        memory = {name: list(data) for name, data in launch.memory.items()}
        findings = run_checks(subject.report, CHECKS, Settings(timeout=0.5, memory=memory))
        return Examined("given", subject, findings, (recording,))

    def given_subject(self, recording: Recording) -> Subject:
        """The report for one launch, all of it given."""
        launch = recording.launch
        facts = AccessProperties(grid=launch.grid, args=launch.args, buffers=self.buffers)
        return examine(self.module, facts)

    def axis_facts(self) -> AxisFacts:
        return axis_facts(self.module)

    # Claims.

    def refuted(self, examined: Examined) -> Iterator[Refuted]:
        for recording in examined.recordings:
            subject = examined.subject
            broken = broken_assumptions(subject, recording)
            yield from unreported(subject, recording)
            for access in subject.report.accesses:
                yield from access_claims(subject, recording, access, broken)
            if not broken:
                yield from value_claims(subject, recording)
                yield from assumption_claims(subject, recording)
            yield from finding_claims(self.module, subject, recording, examined.findings)

    def refuted_rules(self) -> Iterator[Refuted]:
        """The same for what the rules of axis facts say by themselves."""
        yield from self.refuted_axis(solve_axis_info(self.module))

    def refuted_axis(self, facts: AxisFacts) -> Iterator[Refuted]:
        for recording in self.honest:
            yield from axis_claims(facts, recording)

    def all_refuted(
        self, *, modes: Sequence[str] = MODES, given: int | None = None
    ) -> Iterator[Refuted]:
        """Every claim, in every mode."""
        for examined in self.examined(modes=modes, given=given):
            for refuted in self.refuted(examined):
                yield Refuted(f"[{examined.mode}] {refuted.claim}", refuted.subject, refuted.what)
        yield from self.refuted_axis(self.axis_facts())
        yield from self.refuted_rules()
