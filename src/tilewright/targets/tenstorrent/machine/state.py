"""The state that all kernels of a run share: cores, DRAM, findings, traffic."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation

from tilewright.analysis.concurrency import Machine
from tilewright.ir.diagnostics import resolve
from tilewright.targets.tenstorrent.allocation import Allocation
from tilewright.targets.tenstorrent.execution import Check, Finding, RunOptions, Traffic
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer
from tilewright.targets.tenstorrent.machine.memory import L1, DramBuffer
from tilewright.targets.tenstorrent.machine.ordering import Arrival, Event, Word
from tilewright.targets.tenstorrent.machine.recorder import Recorder
from tilewright.targets.tenstorrent.program import Core, Program


class StopRun(Exception):
    """A run that cannot continue after the last finding."""


@dataclass(eq=False)
class CoreState:
    """One Tensix core."""

    core: Core
    l1: L1
    cbs: dict[int, CircularBuffer] = field(default_factory=dict[int, CircularBuffer])
    semaphores: dict[int, int] = field(default_factory=dict[int, int])
    waiting: dict[int, str] = field(default_factory=dict[int, str])
    """The kernel that waits for a semaphore."""
    words: dict[int, Word] = field(default_factory=lambda: defaultdict(Word))
    """The writes to a semaphore."""
    reserves: dict[int, Event] = field(default_factory=dict[int, Event])
    """The last reserve of a circular buffer by data movement."""
    arrivals: list[Arrival] = field(default_factory=list[Arrival])
    """Multicasts into pages that have not been pushed."""

    def cb_at(self, address: int) -> CircularBuffer | None:
        """The circular buffer that holds an L1 address."""
        for cb in self.cbs.values():
            if cb.address <= address < cb.address + cb.size_bytes:
                return cb
        return None


@dataclass(eq=False)
class RunState:
    """One run of a program."""

    program: Program
    allocation: Allocation
    options: RunOptions
    cores: dict[Core, CoreState]
    dram: dict[tuple[bool, int], DramBuffer]
    """Buffers by space, true for DRAM, and address."""
    machine: Machine = field(default_factory=Machine)
    """The machine that runs at present: one a core, or one for all."""
    recorder: Recorder | None = None
    findings: list[Finding] = field(default_factory=list[Finding])
    traffic: Traffic = field(default_factory=Traffic)

    def count(self, **changes: int) -> None:
        """Add to the counted traffic."""
        totals = {name: getattr(self.traffic, name) + more for name, more in changes.items()}
        self.traffic = replace(self.traffic, **totals)

    def report(
        self,
        check: Check,
        message: str,
        core: Core | None = None,
        kernel: str | None = None,
        op: Operation | None = None,
    ) -> None:
        """Record a finding unless its check is switched off or it is known already."""
        if check in self.options.off:
            return
        position = None if op is None else resolve(op.location).primary
        if position is None:
            finding = Finding(check, message, core, kernel)
        else:
            line, column = position.line, position.column
            finding = Finding(check, message, core, kernel, line, position.file, column)
        if finding not in self.findings:
            self.findings.append(finding)
        if len(self.findings) >= self.options.max_findings:
            raise StopRun
