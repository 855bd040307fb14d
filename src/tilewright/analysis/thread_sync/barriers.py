"""Barriers of the core (`analysis.concurrency`), with the clocks that they forward.

A wait lasts until the phases that the parity rule guarantees are complete, and joins their clocks,
no more: a run in which it saw a later phase than it had to proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from tilewright.analysis.concurrency import (
    BarrierMisuse,
    MBarrier,
    NamedBarrier,
    guaranteed_phases,
)
from tilewright.analysis.thread_sync.clocks import Clocks, ClockSnapshot
from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault


@dataclass(frozen=True)
class Phase:
    """A completed phase."""

    signal: ClockSnapshot
    """The clock that its waiters observe, of earlier phases, too."""
    is_own: bool
    """Whether an agent that observes the signal observes the completion of the phase; not so if
    other blocks arrived, which are not tracked."""
    op: Operation | None
    """The op that completed it."""


@dataclass(frozen=True)
class Waited:
    """A wait that passed: its warps, its time, and how many phases it guarantees."""

    op: Operation
    warps: Any
    times: Any
    guaranteed: int


@dataclass(eq=False)
class PhaseBarrier(MBarrier):
    """A barrier in shared memory."""

    agent: int = field(kw_only=True)
    clocks: Clocks = field(kw_only=True)
    op: Operation = field(kw_only=True)
    """The op that initialised it."""
    maker: tuple[int, int] = (0, 0)
    """The agent that did, and its time."""
    is_fenced: bool = False
    """Whether the initialisation is visible to the async proxy."""
    extra: int = 0
    """Arrivals of the phase that exceed its arrive count."""
    phases: list[Phase] = field(default_factory=list[Phase])
    waits: list[Waited] = field(default_factory=list[Waited])
    expect_op: Operation | None = None
    copied: Operation | None = None

    @override
    def __post_init__(self) -> None:
        self.is_known: Any = np.zeros(self.clocks.warps, np.bool_)
        """By warp, whether it is ordered after the initialisation."""
        self._signal = self.clocks.nothing()
        self._is_own = True

    @property
    def pending(self) -> int:
        """Arrivals that the phase still needs."""
        return self.count - self.arrived

    @property
    def came(self) -> int:
        """Arrivals in the phase."""
        return self.arrived + self.extra

    # -- arrivals ----------------------------------------------------------------------------

    def add_signal(self, signal: ClockSnapshot | None) -> None:
        """A signal of the phase, with the clock of its sender; None from another block."""
        if signal is None:
            self._is_own = False
        else:
            self._signal.join(signal)

    @override
    def expect_arrivals(self, count: int) -> None:
        super().expect_arrivals(count)
        self.extra += count

    def arrive_by(self, op: Operation, threads: int) -> None:
        """An op arrives."""
        try:
            completes = self.arrive(threads)
        except BarrierMisuse:
            text = (
                f"{threads} threads arrive on {self.name}, but only {self.pending} of its "
                f"{self.count} arrivals are pending in the phase"
            )
            note = (self.op, "initialised here")
            raise FaultError(SyncFault(FaultKind.COUNT, op, text, (note,))) from None
        if completes:
            self._release(op)

    def expect_by(self, op: Operation, size: int) -> None:
        self.expected += size
        self.expect_op = op

    def complete_by(self, op: Operation, size: int) -> None:
        self.copied = op
        if self.complete_tx(size):
            self._release(op)

    def _release(self, op: Operation) -> None:
        """A phase has completed: the clock that its waiters observe."""
        self._signal.observed[self.agent] = self.phase
        self.phases.append(Phase(self._signal.copy(), self._is_own, op))
        self.extra = 0
        self._is_own = True

    # -- waits -------------------------------------------------------------------------------

    def observed_by(self, warps: Any) -> int:
        """How many completed phases all of these warps have observed."""
        observed_here = self.clocks.observed[warps].min(axis=0)
        count = int(observed_here[self.agent])
        while count < len(self.phases):
            phase = self.phases[count]
            heard = phase.signal.observed.copy()
            heard[self.agent] = 0
            if not phase.is_own or (heard > observed_here).any():
                break
            count += 1
        return count

    def guaranteed_by(self, warps: Any, parity: int) -> int:
        """How many phases have to be complete for a wait to pass."""
        return guaranteed_phases(self.observed_by(warps), parity)

    def passed(self, op: Operation, warps: Any, guaranteed: int) -> None:
        """A wait has passed."""
        if guaranteed:
            self.clocks.acquire(warps, self.phases[guaranteed - 1].signal)
        self.clocks.observed[warps, warps] += 1
        self.waits.append(Waited(op, warps, self.clocks.observed[warps, warps], guaranteed))

    # -- at the end --------------------------------------------------------------------------

    def check_bytes(self) -> None:
        """The expected bytes were completed, and no others."""
        if self.expected == self.completed:
            return
        op = self.expect_op or self.copied
        others: list[tuple[Operation | None, str]] = []
        if self.copied is not None and self.copied is not op:
            others.append((self.copied, "the last of the copies"))
        raise FaultError(
            SyncFault(
                FaultKind.BYTES,
                op,
                f"transaction count mismatch on {self.name}: {self.expected} B expected in this "
                f"phase, {self.completed} B completed",
                tuple(others),
            )
        )

    def check_overrun(self) -> None:
        """A wait for a phase must pass before the next phase completes.

        If the next phase could complete first, the parity would be the wrong one again, and the
        wait would last forever.
        """
        for wait in self.waits:
            if wait.guaranteed >= len(self.phases):
                continue
            phase = self.phases[wait.guaranteed]
            if not phase.is_own or not (phase.signal.observed[wait.warps] < wait.times).any():
                continue
            raise FaultError(
                SyncFault(
                    FaultKind.OVERRUN,
                    wait.op,
                    f"overrun of {self.name}: the phase after the one that is waited for may "
                    "complete before the wait passes, which then waits forever",
                    ((phase.op, "completes that phase, and is not ordered after the wait"),),
                )
            )


@dataclass(eq=False)
class ThreadBarrier(NamedBarrier):
    """A barrier that counts threads (`bar.sync`)."""

    op: Operation | None = None
    """The last op that arrived."""
    signals: list[ClockSnapshot] = field(default_factory=list[ClockSnapshot])
    """The joined clocks of the threads that arrived in the current phase."""
    opened: ClockSnapshot | None = None

    def arrive_by(
        self, op: Operation, threads: int, thread_count: int, signal: ClockSnapshot
    ) -> int:
        """Threads arrive; the generation that they wait for."""
        try:
            target = self.arrive(threads, thread_count)
        except BarrierMisuse:
            raise FaultError(self._misuse(op, threads, thread_count)) from None
        self.op = op
        self.signals.append(signal)
        if self.has_opened(target):
            first, *others = self.signals
            self.opened = ClockSnapshot(np.copy(first.observed), np.copy(first.fenced))
            for each in others:
                self.opened.join(each)
            self.signals = []
        return target

    def _misuse(self, op: Operation, threads: int, thread_count: int) -> SyncFault:
        if self.arrived and thread_count != self.threads:
            text = (
                f"{self.name} has thread count {thread_count} here, but other threads wait on it "
                f"with thread count {self.threads}"
            )
            return SyncFault(
                FaultKind.COUNT, op, text, ((self.op, "the other threads arrived here"),)
            )
        arrived = self.arrived + threads
        text = f"{arrived} threads arrive on {self.name}, expected {thread_count}"
        notes = ((self.op, "other threads arrived here"),) if self.op is not op else ()
        return SyncFault(FaultKind.COUNT, op, text, notes)
