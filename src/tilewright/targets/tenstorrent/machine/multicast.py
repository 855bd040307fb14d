"""Multicast and semaphores: what data-movement kernels do to other cores.

A multicast writes the same L1 address on every core of a rectangle but the own. Semaphores are 4
bytes of L1: a local store, an atomic add at another core, and a multicast of the own value. Data
and flag multicasts arrive in the order of issue where the chip guarantees it; elsewhere a flag may
arrive before data that was not flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import override

from tilewright.analysis.concurrency import Steps, Wait
from tilewright.targets.tenstorrent.execution import Check
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer
from tilewright.targets.tenstorrent.machine.dataflow import DataThread
from tilewright.targets.tenstorrent.machine.memory import DramBuffer
from tilewright.targets.tenstorrent.machine.ordering import Event, KernelClock
from tilewright.targets.tenstorrent.machine.state import CoreState

Corners = tuple[int, int, int, int]
"""NoC coordinates of two opposite corners, x and y of one and of the other."""


class MulticastThread(DataThread):
    """A reader or writer kernel on one core, with the calls that reach other cores."""

    clock: KernelClock

    @override
    def start(self) -> None:
        super().start()
        self.clock = KernelClock(self.name)

    # -- pages -------------------------------------------------------------------------------

    @override
    def cb_reserve(self, cb: CircularBuffer, pages: int, site: int) -> Steps:
        yield from super().cb_reserve(cb, pages, site)
        self.core.reserves[cb.index] = self.clock.event("reserve")

    @override
    def cb_push(self, cb: CircularBuffer, pages: int, site: int) -> None:
        address, size = cb.window_address(cb.writer(self.kernel), 0), pages * cb.page_bytes
        pushed = [each for each in self.core.arrivals if each.overlaps(address, size)]
        unknown = next((each for each in pushed if not self.clock.follows(each.event)), None)
        if unknown is not None:
            self.report(
                Check.UNWRITTEN_PAGE,
                f"pushes {pages} pages of {cb.name} into which {_thread_of(unknown.event)} "
                "multicasts: no semaphore signals that they have arrived",
                site,
            )
        for each in pushed:
            self.core.arrivals.remove(each)
        super().cb_push(cb, pages, site)

    @override
    def noc_read_tile(self, page: int, buffer: DramBuffer, l1: int, site: int) -> None:
        if self.clock.overwrites(l1, buffer.buffer.page_bytes) is not None:
            self.report(
                Check.POP_BEFORE_WRITE,
                f"reads into L1 address {l1} while a multicast from there may be in flight: "
                "noc_barrier flush is missing before it",
                site,
            )
        super().noc_read_tile(page, buffer, l1, site)

    @override
    def noc_barrier(self, kind: str, site: int) -> Wait:
        if kind in ("flush", "write"):
            self.clock.flush()
        return super().noc_barrier(kind, site)

    # -- multicast ---------------------------------------------------------------------------

    def _rectangle(self, corners: Corners, dests: int, site: int) -> Sequence[CoreState]:
        """The cores of a rectangle but the own, either corner first."""
        (x0, x1), (y0, y1) = sorted(corners[::2]), sorted(corners[1::2])
        noc = self.run.program.chip.noc_coordinate
        found = [
            state
            for core, state in self.run.cores.items()
            if state is not self.core and x0 <= noc(*core)[0] <= x1 and y0 <= noc(*core)[1] <= y1
        ]
        if len(found) != dests:
            self.report(
                Check.MULTICAST_COUNT,
                f"multicast to ({x0},{y0})..({x1},{y1}) reaches {len(found)} cores, "
                f"num_dests is {dests}",
                site,
            )
        return found

    def mcast(self, l1: int, corners: Corners, size: int, dests: int, site: int) -> None:
        """Queue bytes of L1 to the same address of other cores."""
        self.source(l1, size, site)
        targets = self._rectangle(corners, dests, site)
        cb = self.core.cb_at(l1)
        pages = 0 if cb is None else size // cb.page_bytes
        self.run.count(multicast_pages=pages, noc_bytes=size * len(targets))
        self._check_order(targets, l1, site)
        arrival = self.clock.multicast(l1, size, tuple(each.core for each in targets))
        for target in targets:
            target.arrivals.append(arrival)

        def perform() -> None:
            data = self.core.l1.read(l1, size)
            for target in targets:
                self._check_reserved(target, l1, size, site)
                target.l1.write(l1, data)

        self.issue("writes", "writes", "multicast", perform, l1, size, site)

    def _check_order(self, targets: Sequence[CoreState], l1: int, site: int) -> None:
        """Whether the reserves of all destinations precede the multicast."""
        for target in targets:
            cb = target.cb_at(l1)
            reserve = None if cb is None else target.reserves.get(cb.index)
            if cb is not None and (reserve is None or not self.clock.follows(reserve)):
                self.report(
                    Check.OUTSIDE_WINDOW,
                    f"multicast to core ({target.core[0]},{target.core[1]}) into pages of "
                    f"{cb.name}: no semaphore signals that they are reserved there",
                    site,
                )

    def _check_reserved(self, target: CoreState, l1: int, size: int, site: int) -> None:
        """Whether a kernel of the destination has reserved the pages."""
        cb = target.cb_at(l1)
        if cb is None or not _is_reserved(cb, l1, size):
            name = "no circular buffer" if cb is None else cb.name
            self.report(
                Check.OUTSIDE_WINDOW,
                f"multicast to core ({target.core[0]},{target.core[1]}) writes pages of {name} "
                "that no kernel there has reserved",
                site,
            )

    # -- semaphores --------------------------------------------------------------------------

    def sem(self, index: int, site: int) -> int:
        if index not in self.core.semaphores:
            self.stop(Check.BAD_ADDRESS, f"semaphore {index} does not exist on this core", site)
        return index

    def sem_set(self, sem: int, value: int, site: int) -> None:
        """Store to the own semaphore."""
        waiting = self.core.waiting.get(sem)
        if waiting is not None and waiting != self.kernel:
            self.report(
                Check.SEMAPHORE_OWNER,
                f"stores to semaphore {sem} while {waiting} waits for it",
                site,
            )
        self.clock.store(self.core.words[sem], self._race(sem, site))
        self.core.semaphores[sem] = value

    def _race(self, sem: int, site: int) -> Callable[[Event], None]:
        def report(other: Event) -> None:
            self.report(
                Check.SEMAPHORE_OWNER,
                f"writes semaphore {sem} in no order with the {other.what} of "
                f"{_thread_of(other)}: one of them can be lost",
                site,
            )

        return report

    def sem_inc(self, sem: int, value: int, x: int, y: int, site: int) -> None:
        """Queue an atomic add at another core."""
        noc = self.run.program.chip.noc_coordinate
        target = next((s for c, s in self.run.cores.items() if noc(*c) == (x, y)), None)
        if target is None:
            self.stop(Check.BAD_ADDRESS, f"NoC coordinate ({x},{y}) is no core", site)
        performed = self.clock.remote_write(
            target.words[sem], "increment", carries_data=False, report=self._race(sem, site)
        )

        def perform() -> None:
            target.semaphores[sem] += value
            performed(self.core.core)

        self.issue("atomics", "atomics", f"semaphore {sem} increment", perform, 0, 0, site)

    def sem_wait(self, sem: int, value: int, at_least: bool, site: int) -> Steps:
        values = self.core.semaphores
        self.core.waiting[sem] = self.kernel
        yield Wait(
            f"semaphore {sem} {'>=' if at_least else '=='} {value}",
            lambda: values[sem] >= value if at_least else values[sem] == value,
            lambda: f"its value is {values[sem]}",
            sem,
            self.ops[site],
        )
        self.core.waiting.pop(sem, None)
        self.clock.wait_ended(self.core.words[sem])

    def sem_mcast(self, sem: int, corners: Corners, dests: int, site: int) -> None:
        """Queue the own value of a semaphore to other cores."""
        targets = self._rectangle(corners, dests, site)
        is_ordered = self.run.program.chip.ordered_multicast_flags
        performed = [
            self.clock.remote_write(
                each.words[sem], "multicast", carries_data=is_ordered, report=self._race(sem, site)
            )
            for each in targets
        ]

        def perform() -> None:
            for target, arrived in zip(targets, performed, strict=True):
                target.semaphores[sem] = self.core.semaphores[sem]
                arrived(self.core.core)

        engine = "writes" if is_ordered else "flags"
        self.issue("writes", engine, f"semaphore {sem} multicast", perform, 0, 0, site)


def _thread_of(event: Event) -> str:
    return event.thread.removesuffix(" data")


def _is_reserved(cb: CircularBuffer, l1: int, size: int) -> bool:
    return any(
        cb.window_address(window, 0) <= l1 and l1 + size <= cb.window_address(window, window.pages)
        for window in cb.writers.values()
    )
