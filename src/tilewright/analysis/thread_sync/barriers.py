"""Barriers with phases (`mbarrier`), and barriers that count threads (`bar.sync`).

A wait with parity p returns when the phase of that parity has completed. Which phase that is
depends on how far the barrier has advanced, so a run in which a wait saw a later phase than it had
to proves nothing. With `observed` phases that the waiter has observed to be complete, the wait
guarantees

    observed        if p passes with that many: it waits for nothing
    observed + 1    otherwise

completed phases, and no more; it lasts until so many are complete, and joins their clocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

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


class PhaseBarrier:
    """A barrier in shared memory."""

    def __init__(self, name: str, count: int, agent: int, clocks: Clocks, op: Operation) -> None:
        self.name, self.count, self.agent, self.clocks = name, count, agent, clocks
        self.op = op
        """The op that initialised it."""
        self.maker: tuple[int, int] = (0, 0)
        """The agent that did, and its time."""
        self.is_known: Any = np.zeros(clocks.warps, np.bool_)
        """By warp, whether it is ordered after the initialisation."""
        self.is_fenced = False
        """Whether the initialisation is visible to the async proxy."""
        self.phases: list[Phase] = []
        self.waits: list[Waited] = []
        self.came = self.extra = 0
        """Arrivals of the phase, and how many of them exceed its arrive count."""
        self.expected = self.completed = 0
        """Bytes of the phase."""
        self.expect_op: Operation | None = None
        self.copied: Operation | None = None
        self._signal = clocks.nothing()
        self._is_own = True

    @property
    def missing(self) -> int:
        """Arrivals that the phase still needs."""
        return self.count + self.extra - self.came

    # -- arrivals ----------------------------------------------------------------------------

    def add_signal(self, signal: ClockSnapshot | None) -> None:
        """A signal of the phase, with the clock of its sender; None from another block."""
        if signal is None:
            self._is_own = False
        else:
            self._signal.join(signal)

    def arrive(self, op: Operation, threads: int) -> None:
        if threads > self.missing:
            raise FaultError(
                SyncFault(
                    FaultKind.COUNT,
                    op,
                    f"{threads} threads arrive on {self.name}, but only {self.missing} of its "
                    f"{self.count} arrivals are pending in the phase",
                    ((self.op, "initialised here"),),
                )
            )
        self.came += threads
        self._advance(op)

    def expect(self, op: Operation, size: int) -> None:
        self.expected += size
        self.expect_op = op

    def complete(self, op: Operation, size: int) -> None:
        self.completed += size
        self.copied = op
        self._advance(op)

    def _advance(self, op: Operation) -> None:
        if self.missing or self.expected != self.completed:
            return
        self._signal.observed[self.agent] = len(self.phases) + 1
        self.phases.append(Phase(self._signal.copy(), self._is_own, op))
        self.came = self.extra = self.expected = self.completed = 0
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
        known = self.observed_by(warps)
        return known if known & 1 != parity else known + 1

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
class NamedBarrier:
    """A barrier that counts threads (`bar.sync`)."""

    name: str
    came: int = 0
    thread_count: int = 0
    openings: int = 0
    op: Operation | None = None
    signals: list[ClockSnapshot] = field(default_factory=list[ClockSnapshot])
    """The joined clocks of the threads that arrived in the current phase."""
    opened: ClockSnapshot | None = None

    def arrive(self, op: Operation, threads: int, thread_count: int, signal: ClockSnapshot) -> int:
        """Threads arrive; the index of the phase they wait for."""
        if self.came and thread_count != self.thread_count:
            raise FaultError(
                SyncFault(
                    FaultKind.COUNT,
                    op,
                    f"{self.name} has thread count {thread_count} here, but other threads wait on "
                    f"it with thread count {self.thread_count}",
                    ((self.op, "the other threads arrived here"),),
                )
            )
        if self.came + threads > thread_count:
            raise FaultError(
                SyncFault(
                    FaultKind.COUNT,
                    op,
                    f"{self.came + threads} threads arrive on {self.name}, expected {thread_count}",
                    ((self.op, "other threads arrived here"),) if self.op is not op else (),
                )
            )
        self.thread_count, self.op = thread_count, op
        self.came += threads
        self.signals.append(signal)
        target = self.openings + 1
        if self.came == thread_count:
            first, *others = self.signals
            self.opened = ClockSnapshot(np.copy(first.observed), np.copy(first.fenced))
            for each in others:
                self.opened.join(each)
            self.signals, self.came, self.openings = [], 0, target
        return target
