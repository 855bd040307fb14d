"""Barriers that end phases, and barriers that count threads.

A wait with parity p returns when the phase of that parity has ended. Which phase that is depends on
how far the barrier has come, so a run in which a wait met a later phase than it had to proves
nothing. With `known` phases that the waiter knows to be over, the wait is sure of

    known        if that many may pass with p: it waits for nothing
    known + 1    otherwise

phases, and of no more; it lasts until so many are over, and learns what those tell.
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
    """A phase that is over."""

    signal: ClockSnapshot
    """What those who wait for it hear, of earlier phases, too."""
    is_own: bool
    """Whether whoever knows the signal knows that the phase is over; not so if others blocks
    arrived, of which nothing is known."""
    op: Operation | None
    """What ended it."""


@dataclass(frozen=True)
class Waited:
    """A wait that passed: who, when, and how many phases it is sure of."""

    op: Operation
    warps: Any
    times: Any
    sure: int


class PhaseBarrier:
    """A barrier in shared memory."""

    def __init__(self, name: str, count: int, agent: int, clocks: Clocks, op: Operation) -> None:
        self.name, self.count, self.agent, self.clocks = name, count, agent, clocks
        self.op = op
        """What set it up."""
        self.maker: tuple[int, int] = (0, 0)
        """The thread that did, and when."""
        self.is_known: Any = np.zeros(clocks.warps, np.bool_)
        """By warp, whether it knows that the barrier has been set up."""
        self.is_fenced = False
        """Whether engines can see that it has been set up."""
        self.phases: list[Phase] = []
        self.waits: list[Waited] = []
        self.came = self.extra = 0
        """Arrivals of the phase, and how many of them it did not count on."""
        self.expected = self.brought = 0
        """Bytes of the phase."""
        self.announced: Operation | None = None
        self.copied: Operation | None = None
        self._signal = clocks.nothing()
        self._is_own = True

    @property
    def missing(self) -> int:
        """Arrivals that the phase still needs."""
        return self.count + self.extra - self.came

    # -- arrivals ----------------------------------------------------------------------------

    def tell(self, signal: ClockSnapshot | None) -> None:
        """Something of the phase comes with what its sender knows; None from another block."""
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
                    f"{threads} threads arrive at {self.name} at once, but its phase, which counts "
                    f"{self.count} arrivals, has room for {self.missing}",
                    ((self.op, "set up here"),),
                )
            )
        self.came += threads
        self._advance(op)

    def expect(self, op: Operation, size: int) -> None:
        self.expected += size
        self.announced = op

    def bring(self, op: Operation, size: int) -> None:
        self.brought += size
        self.copied = op
        self._advance(op)

    def _advance(self, op: Operation) -> None:
        if self.missing or self.expected != self.brought:
            return
        self._signal.known[self.agent] = len(self.phases) + 1
        self.phases.append(Phase(self._signal.copy(), self._is_own, op))
        self.came = self.extra = self.expected = self.brought = 0
        self._is_own = True

    # -- waits -------------------------------------------------------------------------------

    def known_to(self, warps: Any) -> int:
        """How many phases all of these warps know to be over."""
        mine = self.clocks.known[warps].min(axis=0)
        count = int(mine[self.agent])
        while count < len(self.phases):
            phase = self.phases[count]
            heard = phase.signal.known.copy()
            heard[self.agent] = 0
            if not phase.is_own or (heard > mine).any():
                break
            count += 1
        return count

    def sure_of(self, warps: Any, parity: int) -> int:
        """How many phases have to be over for a wait to pass."""
        known = self.known_to(warps)
        return known if known & 1 != parity else known + 1

    def passed(self, op: Operation, warps: Any, sure: int) -> None:
        """A wait is over."""
        if sure:
            self.clocks.acquire(warps, self.phases[sure - 1].signal)
        self.clocks.known[warps, warps] += 1
        self.waits.append(Waited(op, warps, self.clocks.known[warps, warps], sure))

    # -- at the end --------------------------------------------------------------------------

    def check_bytes(self) -> None:
        """What was announced has come, and nothing else."""
        if self.expected == self.brought:
            return
        op = self.announced or self.copied
        others: list[tuple[Operation | None, str]] = []
        if self.copied is not None and self.copied is not op:
            others.append((self.copied, "the last of the copies"))
        raise FaultError(
            SyncFault(
                FaultKind.BYTES,
                op,
                f"{self.name} is told to expect {self.expected} bytes in a phase, but the copies "
                f"bring {self.brought}",
                tuple(others),
            )
        )

    def check_overrun(self) -> None:
        """Whoever waits for a phase has done so before the next one ends.

        If the next one could end first, its parity would be the wrong one again, and the wait would
        go on for ever.
        """
        for wait in self.waits:
            if wait.sure >= len(self.phases):
                continue
            phase = self.phases[wait.sure]
            if not phase.is_own or not (phase.signal.known[wait.warps] < wait.times).any():
                continue
            raise FaultError(
                SyncFault(
                    FaultKind.OVERRUN,
                    wait.op,
                    f"the phase of {self.name} after the one that is waited for may end before the "
                    "wait does, which then waits for one that never comes",
                    ((phase.op, "ends that phase, and knows nothing of the wait"),),
                )
            )


@dataclass(eq=False)
class NamedBarrier:
    """A barrier that counts threads."""

    name: str
    came: int = 0
    wanted: int = 0
    openings: int = 0
    op: Operation | None = None
    signals: list[ClockSnapshot] = field(default_factory=list[ClockSnapshot])
    """What those who came to the present opening know."""
    opened: ClockSnapshot | None = None

    def arrive(self, op: Operation, threads: int, wanted: int, signal: ClockSnapshot) -> int:
        """Threads come; the number of the opening they wait for."""
        if self.came and wanted != self.wanted:
            raise FaultError(
                SyncFault(
                    FaultKind.COUNT,
                    op,
                    f"{self.name} opens for {wanted} threads here, but others wait for "
                    f"{self.wanted} at it",
                    ((self.op, "the others came here"),),
                )
            )
        if self.came + threads > wanted:
            raise FaultError(
                SyncFault(
                    FaultKind.COUNT,
                    op,
                    f"{self.came + threads} threads come to {self.name}, which opens for {wanted}",
                    ((self.op, "others came here"),) if self.op is not op else (),
                )
            )
        self.wanted, self.op = wanted, op
        self.came += threads
        self.signals.append(signal)
        target = self.openings + 1
        if self.came == wanted:
            first, *others = self.signals
            self.opened = ClockSnapshot(np.copy(first.known), np.copy(first.fenced))
            for each in others:
                self.opened.join(each)
            self.signals, self.came, self.openings = [], 0, target
        return target
