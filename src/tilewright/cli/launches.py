"""What was launched while a script ran, by kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright.cli.languages import has_specs, is_tlx
from tilewright.ir.diagnostics import Diagnostic
from tilewright.runtime.options import running
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, Launch, launches_to
from tilewright.runtime.tile.settings import changed, observed_by
from tilewright.targets.numpy.api import NumpyFault, RunReport

if TYPE_CHECKING:
    from tilewright.targets.numpy.tile import TileReport


@dataclass
class KernelTotals:
    """All launches of one kernel."""

    launches: int = 0
    programs: int = 0
    batches: int = 0
    serial_programs: int = 0
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter[str])

    def add(self, report: RunReport) -> None:
        self.launches += 1
        self.programs += report.programs
        self.batches += report.batches
        self.serial_programs += report.serial_programs
        self.seconds += report.seconds
        self.reasons.update(report.serial_reasons)

    def add_tile(self, report: TileReport, schedules: int = 1) -> None:
        """A launch of a `T` kernel, whose blocks run one at a time; once under each schedule."""
        self.launches += 1
        self.programs += report.programs * schedules
        self.batches += report.programs * schedules
        self.seconds += report.seconds


@dataclass
class LaunchLog:
    """Every launch so far."""

    kernels: dict[str, KernelTotals] = field(default_factory=dict[str, KernelTotals])
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    fault: NumpyFault | None = None
    """The first one, whether the script caught it or not."""
    faulty_kernel: str = ""
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What ended the script before a kernel ran: it does not compile, or cannot be launched so."""
    schedules_elsewhere: int = 0
    """Schedules that were run in other processes, whose blocks are counted as these."""
    has_choice: bool = False
    """Whether a launch has several orders of events."""
    not_analysed: list[str] = field(default_factory=list[str])
    """What the checks of `T` kernels could not follow, and why; each once."""
    launched: dict[str, str] = field(default_factory=dict[str, str])
    """The language of every kernel that was launched, logged or not."""

    def note(self, kernel: CompiledKernel) -> None:
        """Take down what a kernel is written in."""
        if kernel.name not in self.launched:
            self.launched[kernel.name] = "tlx" if is_tlx(kernel.module) else "tl"

    @property
    def launches(self) -> int:
        """How many ended without a fault."""
        return sum(totals.launches for totals in self.kernels.values())

    @property
    def programs(self) -> int:
        return sum(totals.programs for totals in self.kernels.values())

    def add(self, kernel: str, report: RunReport) -> None:
        self.kernels.setdefault(kernel, KernelTotals()).add(report)
        self.has_choice = self.has_choice or report.has_choice
        self.warnings.extend(report.warnings)

    def record(self, kernel: str, outcome: TileReport | NumpyFault) -> None:
        """Take down a launch of a `T` kernel."""
        if isinstance(outcome, NumpyFault):
            self.failed(kernel, outcome)
        else:
            self.has_choice = self.has_choice or outcome.is_concurrent
            every = 1 + self.schedules_elsewhere if outcome.is_concurrent else 1
            self.kernels.setdefault(kernel, KernelTotals()).add_tile(outcome, every)
            for text in outcome.not_analysed:
                if text not in self.not_analysed:
                    self.not_analysed.append(text)

    def failed(self, kernel: str, fault: NumpyFault) -> None:
        if self.fault is None:
            self.fault, self.faulty_kernel = fault, kernel

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """What the fault reports."""
        if self.fault is None:
            return ()
        found: tuple[Diagnostic, ...] = getattr(self.fault, "diagnostics", ())
        return found or (self.fault.diagnostic,)

    def counts(self) -> str:
        """``3 launches of 2 kernels, 640 programs``."""
        kernels = counted(len(self.kernels), "kernel")
        return (
            f"{counted(self.launches, 'launch')} of {kernels}, {counted(self.programs, 'program')}"
        )

    def described(self) -> dict[str, Any]:
        """The same and more, for JSON."""
        return {
            "launches": self.launches,
            "programs": self.programs,
            "kernels": [
                {
                    "name": name,
                    "language": self.launched.get(name, ""),
                    "launches": totals.launches,
                    "programs": totals.programs,
                    "batches": totals.batches,
                    "seconds": round(totals.seconds, 6),
                    "not_batched": dict(totals.reasons),
                }
                for name, totals in self.kernels.items()
            ],
            "fault": self.faulty_kernel or None,
        }

    def table(self) -> str:
        """One line a kernel, and one for every reason not to batch programs."""
        rows = [
            (
                name,
                counted(totals.launches, "launch"),
                counted(totals.programs, "program"),
                counted(totals.batches, "batch"),
                f"{totals.seconds:.3f} s",
            )
            for name, totals in self.kernels.items()
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines: list[str] = []
        for row, totals in zip(rows, self.kernels.values(), strict=True):
            lines.append("  " + _aligned(row, widths))
            lines.extend(
                f"    {counted(programs, 'program')} not batched: {reason}"
                for reason, programs in totals.reasons.items()
            )
        return "".join(line + "\n" for line in lines)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """The name to the left, the numbers to the right."""
    name, *cells = row
    rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
    return "  ".join((name.ljust(widths[0]), *rest))


_PLURALS = {"launch": "launches", "batch": "batches"}


def counted(count: int, noun: str) -> str:
    """``1 launch``, ``2 launches``."""
    return f"{count} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"


CHECKS = {"check_bounds": True, "check_races": True, "check_uninitialised": True, "debug": True}
"""What `check` sets of the options of a run."""


@contextmanager
def logged(log: LaunchLog, only: str | None = None) -> Generator[None]:
    """Write every launch inside the ``with`` into `log`; `only` those of one kernel.

    Others run, and are not checked: the script may need what they compute.
    """

    def logging(
        kernel: CompiledKernel, _grid: Grid, _values: object, launch: Launch
    ) -> RunReport | None:
        log.note(kernel)
        if only not in (None, kernel.name):
            with running(check_races=False, check_uninitialised=False, debug=False):
                return launch()
        try:
            report = launch()
        except NumpyFault as fault:
            log.failed(kernel.name, fault)
            raise
        if report is not None:  # a launch on a GPU has none
            log.add(kernel.name, report)
        return report

    def record(name: str, outcome: TileReport | NumpyFault) -> None:
        log.launched.setdefault(name, "T")
        if only in (None, name):
            log.record(name, outcome)

    with launches_to(logging), observed_by(record), _unchecked_but(only):
        yield


@contextmanager
def _unchecked_but(only: str | None) -> Generator[None]:
    """Run the other `T` kernels without checks."""
    if only is None:
        yield
        return
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    launch = CompiledTileKernel.launch

    def launched(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        if self.name == only:
            launch(self, values)
            return
        with changed(check_races=False, check_capacity=False, schedules=1, seeds=None):
            launch(self, values)

    CompiledTileKernel.launch = launched
    try:
        yield
    finally:
        CompiledTileKernel.launch = launch


@contextmanager
def warning_about_storage(log: LaunchLog) -> Generator[None]:
    """Warn about shared storage that kernels waste, once for each."""
    seen: set[int] = set()

    def looking(
        kernel: CompiledKernel, _grid: Grid, _values: object, launch: Launch
    ) -> RunReport | None:
        if id(kernel) not in seen and has_specs(kernel.module):
            # Only kernels with aliased storage need the planner.
            from tilewright.cli.storage_warnings import storage_warnings

            known = set(log.warnings)
            log.warnings.extend(each for each in storage_warnings(kernel) if each not in known)
        seen.add(id(kernel))
        return launch()

    with launches_to(looking):
        yield
