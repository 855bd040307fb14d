"""What was launched while a script ran, by kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.ir.diagnostics import Diagnostic
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, Launch, launches_to
from tilewright.runtime.tile.settings import observed_by
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
    not_analysed: list[str] = field(default_factory=list[str])
    """What the checks of `T` kernels could not follow, and why; each once."""

    @property
    def launches(self) -> int:
        """How many ended without a fault."""
        return sum(totals.launches for totals in self.kernels.values())

    @property
    def programs(self) -> int:
        return sum(totals.programs for totals in self.kernels.values())

    def add(self, kernel: str, report: RunReport) -> None:
        self.kernels.setdefault(kernel, KernelTotals()).add(report)
        self.warnings.extend(report.warnings)

    def record(self, kernel: str, outcome: TileReport | NumpyFault) -> None:
        """Take down a launch of a `T` kernel."""
        if isinstance(outcome, NumpyFault):
            self.failed(kernel, outcome)
        else:
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


@contextmanager
def logged(log: LaunchLog) -> Generator[None]:
    """Write every launch inside the ``with`` into `log`."""

    def logging(
        kernel: CompiledKernel, _grid: Grid, _values: object, launch: Launch
    ) -> RunReport | None:
        try:
            report = launch()
        except NumpyFault as fault:
            log.failed(kernel.name, fault)
            raise
        if report is not None:  # a launch on a GPU has none
            log.add(kernel.name, report)
        return report

    with launches_to(logging), observed_by(log.record):
        yield
