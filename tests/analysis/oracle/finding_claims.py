"""Verdicts of checks, held against runs: proofs against everything that ran, witnesses one by one.

A proof is refuted by a run of the launch it was given for. A refutation must show: the access ran at
the witness's program, iterations and lanes, and met there what the witness says. A witness for
arguments that the caller left open is run with those arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation

from tests.analysis.oracle.arithmetic import UndefinedBehaviour
from tests.analysis.oracle.binding import Subject
from tests.analysis.oracle.cases import Refuted
from tests.analysis.oracle.claims import broken_assumptions
from tests.analysis.oracle.interpreter import run
from tests.analysis.oracle.recording import Launch, Program, Recording, Touch, When
from tests.analysis.oracle.witnessed import first_meeting, owners
from tilewright.analysis.pid_address import MemoryOp
from tilewright.analysis.pid_address.checks import Check, CheckResult, Finding, Point

_HOLDS = re.compile(r"holds at least (\d+) (?:elements of (\d+) )?bytes$")
_BOX_BYTES = 16


def finding_claims(
    module: Operation, subject: Subject, recording: Recording, findings: Sequence[Finding]
) -> Iterator[Refuted]:
    """The refuted verdicts; `recording` is a run of the launch that the report was given."""
    judge = _Judge(module, subject, recording)
    for finding in findings:
        for what in judge.judge(finding):
            yield Refuted(finding.check.value, finding.message, what)


def named_accesses(subject: Subject, finding: Finding) -> list[MemoryOp]:
    """The accesses of a finding: on call paths an index repeats, the name does not."""
    chosen: list[MemoryOp] = []
    for place, index in enumerate(finding.accesses):
        options = [a for a in subject.report.accesses if a.index == index]
        named = [a for a in options if a.name in finding.message]
        if len(named) > 1:
            named.sort(key=lambda access: finding.message.index(access.name))
        chosen.append((named or options)[min(place, len(named or options) - 1)])
    return chosen


class _Judge:
    def __init__(self, module: Operation, subject: Subject, recording: Recording) -> None:
        self.module = module
        self.subject = subject
        self.recording = recording
        self.broken = broken_assumptions(subject, recording)
        self.is_given = _is_given(subject, recording)

    def judge(self, finding: Finding) -> Iterator[str]:
        if finding.check is Check.OVERFLOW:
            yield from self._overflow(finding)
            return
        accesses = named_accesses(self.subject, finding)
        if any(self.broken.intersection(access.assumptions) for access in accesses):
            return
        if finding.check is Check.BOUNDS:
            yield from self._bounds(finding, accesses[0])
        elif finding.check is Check.RACE:
            yield from self._race(finding, accesses)
        elif finding.check is Check.LANES:
            yield from self._lanes(finding, accesses[0])
        elif finding.check is Check.PREFETCH:
            yield from self._prefetch(finding, accesses[0])

    # Where to look.

    def _touches(self, access: MemoryOp, recording: Recording | None = None) -> list[Touch]:
        key = (access.operation, self.subject.paths[access.call])
        return (recording or self.recording).touches.get(key, [])

    def _base(self, access: MemoryOp, recording: Recording | None = None) -> int | None:
        launch = (recording or self.recording).launch
        return launch.addresses.get(access.base.removeprefix("%"))

    def _run_of(self, finding: Finding) -> Recording | None:
        """The run in which a witness is to be found: this one, or one with its arguments."""
        witness = finding.witness
        assert witness is not None
        if not witness.args and self.is_given:
            return self.recording
        launch = _chosen(self.recording.launch, witness.args, [p.program for p in witness.points])
        programs = [point.program for point in witness.points]
        try:
            found = run(self.module, launch, list(dict.fromkeys(programs)))
        except (UndefinedBehaviour, OverflowError, MemoryError):
            return None
        return None if broken_assumptions(self.subject, found) else found

    def _at(self, access: MemoryOp, recording: Recording, point: Point) -> tuple[int, bool] | None:
        """(address, whether it counts) of one lane; None if the access did not run there."""
        when = When(point.program, tuple(count for _, count in point.counters))
        for touch in self._touches(access, recording):
            if touch.when == when:
                return int(touch.addresses[point.lanes]), bool(touch.mask[point.lanes])
        return None

    # Verdicts.

    def _bounds(self, finding: Finding, access: MemoryOp) -> Iterator[str]:
        base = self._base(access)
        if base is None or finding.verdict is CheckResult.UNKNOWN:
            return
        size = self.subject.report.facts.buffers.get(access.base.removeprefix("%"))
        if finding.verdict is CheckResult.PROVED:
            if not self.is_given:
                return
            if finding.condition is not None:
                size = _held(finding.condition)
            if size is None:
                return
            for touch in self._touches(access):
                offsets = touch.addresses[touch.mask] - base
                if np.any((offsets < 0) | (offsets + access.elem_bytes > size)):
                    yield f"proved, but {touch.when} touches {offsets.min()} to {offsets.max()}"
                    return
            return
        yield from self._outside(finding, access, size)

    def _outside(self, finding: Finding, access: MemoryOp, size: int | None) -> Iterator[str]:
        recording = self._run_of(finding)
        witness = finding.witness
        assert witness is not None and witness.address is not None
        if recording is None:
            return
        base = self._base(access, recording)
        found = self._at(access, recording, witness.points[0])
        if found is None or base is None:
            yield "the witness did not run"
            return
        address, counts = found
        if not counts or address - base != witness.address:
            yield f"the witness is at {address - base}, masked {not counts}"
        elif witness.address >= 0 and (size is None or witness.address + access.elem_bytes <= size):
            yield f"the witness is inside {size} bytes"

    def _race(self, finding: Finding, accesses: Sequence[MemoryOp]) -> Iterator[str]:
        if finding.verdict is CheckResult.PROVED and finding.condition is None:
            if self.is_given:
                meeting = self._meeting(accesses[0], accesses[-1])
                if meeting is not None:
                    yield f"proved, but {meeting}"
        elif finding.verdict is CheckResult.REFUTED:
            yield from self._meets(finding, accesses)

    def _meets(self, finding: Finding, accesses: Sequence[MemoryOp]) -> Iterator[str]:
        recording = self._run_of(finding)
        witness = finding.witness
        assert witness is not None and witness.address is not None
        if recording is None:
            return
        first, second = witness.points
        if first.program == second.program:
            yield "the witness is one program"
        for access, point in zip((accesses[0], accesses[-1]), witness.points, strict=True):
            base = self._base(access, recording)
            found = self._at(access, recording, point)
            if found is None or base is None:
                yield f"the witness did not run: {point}"
                continue
            offset = found[0] - base
            if not found[1] or not offset <= witness.address < offset + access.elem_bytes:
                yield f"the witness touches {offset}, not {witness.address}"

    def _meeting(self, left: MemoryOp, right: MemoryOp) -> str | None:
        """Two programs that touch one byte."""
        owned = [
            owners(self.recording, one.operation, self.subject.paths[one.call])
            for one in (left, right)
        ]
        found = first_meeting(owned[0], owned[1])
        if found is None:
            return None
        programs = self.recording.programs
        return f"programs {programs[found[1]]} and {programs[found[2]]} meet at {found[0]}"

    def _overflow(self, finding: Finding) -> Iterator[str]:
        assert finding.assumption is not None
        assumption = self.subject.report.assumptions[finding.assumption]
        if finding.verdict is CheckResult.PROVED and finding.condition is None:
            earlier = self.broken - {finding.assumption}
            if self.is_given and finding.assumption in self.broken and not earlier:
                yield f"proved, but {assumption.value} does not fit"
        elif finding.verdict is CheckResult.REFUTED:
            witness = finding.witness
            assert witness is not None
            if any(name.startswith("addr(") for name in witness.args):
                return  # an address that no machine gives out
            programs = [point.program for point in witness.points]
            launch = self.recording.launch
            if witness.args or not self.is_given:
                launch = _chosen(launch, witness.args, programs)
            try:
                found = run(self.module, launch, programs, keep_values=False)
            except (UndefinedBehaviour, OverflowError, MemoryError):
                return
            if not broken_assumptions(self.subject, found):
                yield f"refuted, but {assumption.value} fits in {programs[0]} of {launch.args}"

    def _lanes(self, finding: Finding, access: MemoryOp) -> Iterator[str]:
        assert finding.witness is not None
        first, second = (point.lanes for point in finding.witness.points)
        for touch in self._touches(access):
            if touch.addresses[first] != touch.addresses[second]:
                yield f"lanes {first} and {second} do not meet"
                return

    def _prefetch(self, finding: Finding, access: MemoryOp) -> Iterator[str]:
        hint = finding.hint
        assert hint is not None
        touches = self._touches(access)
        if hint.disjoint:
            groups: dict[object, list[Touch]] = {}
            for touch in touches:
                key = (touch.when.program, touch.when.counters[:-1])
                groups.setdefault(key, []).append(touch)
            for group in groups.values():
                starts = [np.unique(touch.addresses) for touch in group]
                whole = [(s[:, None] + np.arange(access.elem_bytes)).ravel() for s in starts]
                if np.unique(np.concatenate(whole)).size != sum(np.unique(w).size for w in whole):
                    yield "iterations meet"
                    return
        if hint.tma:
            yield from self._is_box(access, touches)

    def _is_box(self, access: MemoryOp, touches: Sequence[Touch]) -> Iterator[str]:
        """Rows are contiguous, and multiples of 16 bytes apart."""
        fast = access.order[0]
        for touch in touches:
            for dim, extent in enumerate(access.shape):
                steps = np.diff(touch.addresses, axis=dim)
                wrong = steps != access.elem_bytes if dim == fast else steps % _BOX_BYTES != 0
                if extent > 1 and bool(np.any(wrong)):
                    yield f"dimension {dim} is not that of a box"
                    return


def _held(condition: str) -> int | None:
    found = _HOLDS.search(condition)
    if found is None:
        return None
    return int(found[1]) * int(found[2] or 1)


def _is_given(subject: Subject, recording: Recording) -> bool:
    """Whether the report was made for the launch of the run, nothing left open."""
    report, launch = subject.report, recording.launch
    symbols = [param for param in report.params if param.symbol is not None]
    whole = len(recording.programs) == int(np.prod(launch.grid))
    return whole and not symbols and tuple(report.grid) == tuple(launch.grid)


def _chosen(launch: Launch, args: Mapping[str, int], programs: Sequence[Program]) -> Launch:
    """The launch with what a witness chose."""
    numbers = dict(launch.args)
    grid = [max(1 + program[axis] for program in programs) for axis in range(3)]
    for name, value in args.items():
        if re.fullmatch(r"np[012]", name):
            grid[int(name[2])] = value
        elif name.removeprefix("%") in numbers:
            numbers[name.removeprefix("%")] = value
    return replace(launch, grid=(grid[0], grid[1], grid[2]), args=numbers)
