"""Kernels of a core with clocks: what every call costs, and what it waits for.

A compute kernel is two tasks, as on the hardware, where one source is compiled for several
processors: `math` executes waits, pops and arithmetic, `pack` executes packs, reserves and pushes.
Each of them skips the calls of the other. DST has two sections: `math` may fill one while `pack`
empties the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from tilewright.analysis.tensix_cost.op_cost import OpCycles
from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.targets.tenstorrent.program import Core
from tilewright.targets.tenstorrent.timing.clock import Blocked, Clock, Counter, Rate, Signal, Task

DST_SECTIONS = 2


@dataclass(eq=False)
class TimedBuffer:
    """A circular buffer: pages pushed and popped, with times."""

    pages: int
    address: int
    """Any address by which a multicast finds its buffer."""
    page_bytes: int
    pushed: Counter = field(default_factory=Counter)
    popped: Counter = field(default_factory=Counter)


@dataclass(eq=False)
class Semaphore(Signal):
    """A value and when it changed last."""

    value: int = 0
    time: float = 0.0


@dataclass(eq=False)
class TimedCore:
    """One core."""

    core: Core
    buffers: dict[int, TimedBuffer]
    semaphores: dict[int, Semaphore]
    committed: Counter = field(default_factory=Counter)
    released: Counter = field(default_factory=Counter)


@dataclass(eq=False)
class Chip:
    """What all cores share."""

    spec: ChipSpec
    clock: Clock
    dram: Rate
    cores: dict[Core, TimedCore]
    reads: int = 0
    writes: int = 0
    multicast_pages: int = 0

    def in_rectangle(self, corners: Sequence[int]) -> list[TimedCore]:
        """Cores by NoC coordinates of two corners."""
        (x0, x1), (y0, y1) = sorted(corners[::2]), sorted(corners[1::2])
        noc = self.spec.noc_coordinate
        return [
            state
            for core, state in self.cores.items()
            if x0 <= noc(*core)[0] <= x1 and y0 <= noc(*core)[1] <= y1
        ]


class TimedThread:
    """One kernel on one core; calls of translated kernels are its methods."""

    def __init__(
        self,
        chip: Chip,
        core: TimedCore,
        task: Task,
        costs: Sequence[OpCycles | None],
        ops: Sequence[Operation],
        arguments: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        self.chip = chip
        self.core = core
        self.task = task
        self.costs = costs
        self.ops = ops
        self.runtime_args, self.compile_args = arguments
        self.parts: dict[str, float] = {}
        """Busy cycles by part."""

    def charge(self, site: int) -> None:
        """The cycles of a call."""
        cost = self.costs[site]
        if cost is not None:
            self.spend(cost.part, self.cycles(cost))

    def cycles(self, cost: OpCycles) -> float:
        return float(max(cost.issue, cost.unpack, cost.pack))

    def spend(self, part: str, cycles: float) -> None:
        self.task.now += cycles
        self.parts[part] = self.parts.get(part, 0.0) + cycles

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Any other call costs its cycles and waits for nothing."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: self.charge(arguments[-1])

    # -- arguments ---------------------------------------------------------------------------

    def arg(self, position: int, site: int) -> int:
        del site
        return self.runtime_args[position]

    def arg_at(self, position: int, index: int, site: int) -> int:
        del site
        return self.runtime_args[position + index]

    def ct_arg(self, position: int, site: int) -> int:
        del site
        return self.compile_args[position]

    # -- circular buffers --------------------------------------------------------------------

    def cb(self, index: int, site: int) -> TimedBuffer:
        del site
        return self.core.buffers[index]

    def cb_write_ptr(self, cb: TimedBuffer, site: int) -> int:
        del site
        return cb.address

    def cb_read_ptr(self, cb: TimedBuffer, site: int) -> int:
        del site
        return cb.address

    def cb_reserve(self, cb: TimedBuffer, pages: int, site: int) -> Generator[Blocked, None, None]:
        self.charge(site)
        pushed = cb.pushed.totals[-1] if cb.pushed.totals else 0
        needed = pushed + pages - cb.pages
        yield Blocked("full CB", cb.popped, lambda: cb.popped.reached(needed))

    def cb_push(self, cb: TimedBuffer, pages: int, site: int) -> None:
        self.charge(site)
        cb.pushed.add(pages, self.task.now)
        self.chip.clock.changed(cb.pushed)

    def cb_wait(self, cb: TimedBuffer, pages: int, site: int) -> Blocked:
        self.charge(site)
        popped = cb.popped.totals[-1] if cb.popped.totals else 0
        return Blocked("empty CB", cb.pushed, lambda: cb.pushed.reached(popped + pages))

    def cb_pop(self, cb: TimedBuffer, pages: int, site: int) -> None:
        self.charge(site)
        cb.popped.add(pages, self.task.now)
        self.chip.clock.changed(cb.popped)


class DataThread(TimedThread):
    """A reader or writer."""

    def __init__(self, *arguments: Any, page_bytes: Sequence[int]) -> None:
        super().__init__(*arguments)
        self.page_bytes = page_bytes
        """Bytes of the DRAM page of each call, by its position; 0 for a tensor in L1."""
        self.queued = 0
        self.is_pending = False
        self.first = 0.0
        """When the first transfer since the last barrier was issued."""
        self.port = 0.0
        """When the NoC port of the core is free."""

    def accessor(self, address: int, offset: int, format: object, site: int) -> None:
        del address, offset, format, site

    def noc_read_tile(self, page: int, buffer: None, l1: int, site: int) -> None:
        self.chip.reads += bool(self.page_bytes[site])
        self._queue(site)

    def noc_write_tile(self, page: int, buffer: None, l1: int, site: int) -> None:
        self.chip.writes += bool(self.page_bytes[site])
        self._queue(site)

    def _queue(self, site: int) -> None:
        cost = self.costs[site]
        assert cost is not None, "a transfer has a cost"
        if not self.is_pending:
            self.first = self.task.now
        self.is_pending = True
        self.queued += self.page_bytes[site]
        self.port = max(self.port, self.task.now) + float(cost.issue)

    def noc_barrier(self, kind: str, site: int) -> Blocked:
        """Wait for the port, for DRAM and for the latency of the last transfer."""
        cost = self.costs[site]
        assert cost is not None, "a barrier has a cost"
        start = self.task.now

        def done() -> float:
            served = self.chip.dram.serve(self.queued, self.first) if self.queued else 0.0
            end = max(self.port, served) + float(cost.issue) if self.is_pending else start
            self.queued, self.is_pending = 0, False
            self.parts["NoC"] = self.parts.get("NoC", 0.0) + max(0.0, end - start)
            return end

        return Blocked("", Signal(), done)

    def mcast(self, l1: int, corners: Sequence[int], size: int, dests: int, site: int) -> None:
        cb = max(
            (each for each in self.core.buffers.values() if each.address <= l1),
            key=lambda each: each.address,
        )
        self.chip.multicast_pages += size // cb.page_bytes
        self.charge(site)

    # -- semaphores --------------------------------------------------------------------------

    def sem(self, index: int, site: int) -> int:
        del site
        return index

    def _store(self, semaphore: Semaphore, value: int) -> None:
        semaphore.value = value
        semaphore.time = max(semaphore.time, self.task.now)
        self.chip.clock.changed(semaphore)

    def sem_set(self, sem: int, value: int, site: int) -> None:
        self.charge(site)
        self._store(self.core.semaphores[sem], value)

    def sem_inc(self, sem: int, value: int, x: int, y: int, site: int) -> None:
        self.charge(site)
        for target in self.chip.in_rectangle((x, y, x, y)):
            self._store(target.semaphores[sem], target.semaphores[sem].value + value)

    def sem_mcast(self, sem: int, corners: Sequence[int], dests: int, site: int) -> None:
        self.charge(site)
        for target in self.chip.in_rectangle(corners):
            if target is not self.core:
                self._store(target.semaphores[sem], self.core.semaphores[sem].value)

    def sem_wait(
        self, sem: int, value: int, at_least: bool, site: int
    ) -> Generator[Blocked, None, None]:
        self.charge(site)
        semaphore = self.core.semaphores[sem]

        def ready() -> float | None:
            holds = semaphore.value >= value if at_least else semaphore.value == value
            return semaphore.time if holds else None

        yield Blocked("semaphore", semaphore, ready)


class MathThread(TimedThread):
    """Unpackers, FPU and SFPU of a compute kernel.

    The unpackers are one tile ahead of FPU and SFPU at most, and no further than the pages that the
    kernel has waited for.
    """

    unpacked = 0.0
    """When the unpackers have finished the last tile."""
    available = 0.0
    """When the pages of the last wait were there."""
    previous = 0.0
    """When FPU or SFPU took the tile before."""

    def charge(self, site: int) -> None:
        cost = self.costs[site]
        if cost is None or cost.pack:
            return
        if cost.unpack:
            start = max(self.unpacked, self.available, self.previous)
            self.unpacked = start + float(cost.unpack)
            self.spend("unpack", max(0.0, self.unpacked - self.task.now))
            self.previous = self.task.now
        self.spend(cost.part, float(cost.issue))

    def cb_wait(self, cb: TimedBuffer, pages: int, site: int) -> Blocked:
        blocked = super().cb_wait(cb, pages, site)
        ready = blocked.ready

        def available() -> float | None:
            time = ready()
            self.available = max(self.available, time or 0.0)
            return time

        blocked.ready = available
        return blocked

    def section_step(self, step: str, site: int) -> Generator[Blocked, None, None]:
        released, committed = self.core.released, self.core.committed
        if step == "acquire":
            needed = (committed.totals[-1] if committed.totals else 0) + 1 - DST_SECTIONS
            yield Blocked("DST", released, lambda: released.reached(needed))
        elif step == "commit":
            committed.add(1, self.task.now)
            self.chip.clock.changed(committed)

    def cb_reserve(self, cb: TimedBuffer, pages: int, site: int) -> Generator[Blocked, None, None]:
        yield from ()

    def cb_push(self, cb: TimedBuffer, pages: int, site: int) -> None:
        """The packer's."""


class PackThread(TimedThread):
    """The packer of a compute kernel."""

    def charge(self, site: int) -> None:
        cost = self.costs[site]
        if cost is not None and (cost.pack or cost.part == "CB calls"):
            self.spend(cost.part, float(max(cost.pack, cost.issue)))

    def section_step(self, step: str, site: int) -> Generator[Blocked, None, None]:
        released, committed = self.core.released, self.core.committed
        if step == "wait":
            needed = (released.totals[-1] if released.totals else 0) + 1
            yield Blocked("DST", committed, lambda: committed.reached(needed))
        elif step == "release":
            released.add(1, self.task.now)
            self.chip.clock.changed(released)

    def cb_wait(self, cb: TimedBuffer, pages: int, site: int) -> Blocked:
        return Blocked("", cb.pushed, lambda: 0.0)

    def cb_pop(self, cb: TimedBuffer, pages: int, site: int) -> None:
        """The unpackers'."""
