"""Cycles of a program, from its plan alone: a bill by kernel and core.

    reader, writer   latency of every barrier, bytes / rate, multicasts, calls
    compute          matrix + max(FPU and SFPU, unpackers, packer) + calls; intermediate results are
                     packed and unpacked again before the next op, which does not overlap, nor does
                     the reload and packing of spilled partial sums
    core             max(reader, compute + startup, writer): circular buffers of two or more blocks
                     overlap the three; what goes through a buffer of a single block is added, and
                     so is the first fill and the last drain where they exceed the startup; both
                     take longer where all cores contend for DRAM
    total            the slowest core, where cores that together move more bytes per cycle than
                     DRAM has progress more slowly; for equal cores max(core, bytes / rate of DRAM)

A model, not a measurement; see `parameters` for how far each number can be relied on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tilewright.analysis.tensix_cost import NOTICE
from tilewright.analysis.tensix_cost.formulas import dram_cycles, pack_cycles, unpack_cycles
from tilewright.analysis.tensix_cost.op_cost import OpCycles, op_cycles
from tilewright.analysis.tensix_cost.parameters import CostTable, cost_table
from tilewright.dialects.tensix.chips import CHIPS, ChipSpec
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.shards import DRAM_LAYOUT
from tilewright.dialects.tensix.work import ROLES, CoreWork, OpWork

SPILL = "spill"


@dataclass(frozen=True)
class KernelCost:
    """Cycles of one kernel on one core."""

    role: str
    parts: tuple[tuple[str, Fraction], ...]
    """What it is busy with; unpackers and packer count where they are the slowest unit."""

    @property
    def busy(self) -> Fraction:
        return sum((cycles for _, cycles in self.parts), Fraction(0))


@dataclass(frozen=True)
class CoreCost:
    """Cycles of the kernels of some cores, the same on each of them."""

    cores: tuple[int, ...]
    kernels: tuple[KernelCost, ...]
    serial: Fraction
    """Transfers that cannot overlap with compute: their circular buffer holds one block."""
    fill: Fraction
    """The transfers before the first block can be computed."""
    drain: Fraction
    """The transfers after the last block was computed."""
    last: Fraction
    """Compute cycles after the last transfer of the reader."""
    first: Fraction
    """Compute cycles before the first transfer of the writer."""
    sender: Fraction
    """Reader cycles of the cores that this core receives operands from."""
    startup: Fraction
    dram_bytes: int
    """Bytes that one core reads and writes."""
    contention: Fraction
    """How much longer transfers take because all cores share DRAM; at least 1."""

    def busy(self, role: str) -> Fraction:
        """Busy cycles of one kernel."""
        return next(each.busy for each in self.kernels if each.role == role)

    @property
    def elapsed(self) -> Fraction:
        """Cycles from launch to the end."""
        return max(self.occupied, self.moving)

    @property
    def ends(self) -> Fraction:
        """The first fill and the last drain."""
        return self.contention * (self.fill + self.drain)

    @property
    def moving(self) -> Fraction:
        """Cycles of reader and writer, each with what the other kernels do before or after it."""
        reader = max(self.busy("reader"), self.sender) + self.last + self.drain
        return max(reader, self.fill + self.first + self.busy("writer"))

    @property
    def steady(self) -> Fraction:
        """The same without what a launch costs beside its work."""
        launch = max(Fraction(0), self.startup - self.ends)
        return max(self.occupied - launch, self.moving)

    @property
    def occupied(self) -> Fraction:
        """Cycles of the compute kernel with what does not overlap with it."""
        ends = max(self.startup, self.ends)
        return self.busy("compute") + self.contention * self.serial + ends


@dataclass(frozen=True)
class Cost:
    """Cycles of a launch."""

    cores: tuple[CoreCost, ...]
    dram: Fraction
    """All bytes at the rate of DRAM."""
    dram_rate: Fraction
    clock_ghz: float

    @property
    def slowest(self) -> CoreCost:
        """The core that finishes last."""
        return max(self.cores, key=lambda each: each.elapsed)

    @property
    def compute(self) -> Fraction:
        """Busy cycles of the compute kernel of the slowest core."""
        return max(each.busy("compute") for each in self.cores)

    @property
    def dm(self) -> Fraction:
        """Busy cycles of the slowest data-movement kernel."""
        return max(max(each.busy("reader"), each.busy("writer")) for each in self.cores)

    @property
    def total(self) -> Fraction:
        return self._shared([each.elapsed for each in self.cores])

    @property
    def cycles(self) -> int:
        """The total, in whole cycles."""
        return ceil(self.total)

    @property
    def steady(self) -> Fraction:
        """The total without what a launch costs beside its work."""
        return self._shared([each.steady for each in self.cores])

    def _shared(self, alone: Sequence[Fraction]) -> Fraction:
        """Cycles until all cores have finished, which take `alone` if DRAM is fast enough.

        Between the ends of two cores the same ones are active; their bytes per cycle are at most
        what DRAM has.
        """
        total = before = Fraction(0)
        for end in sorted(set(alone)):
            active = [
                (len(core.cores) * core.dram_bytes, cycles)
                for core, cycles in zip(self.cores, alone, strict=True)
                if cycles >= end
            ]
            demand = sum(size / cycles for size, cycles in active)
            total += (end - before) * max(Fraction(1), demand / self.dram_rate)
            before = end
        return total

    @property
    def limit(self) -> str:
        """What the total is determined by: a kernel, or DRAM."""
        slowest = self.slowest
        if self.total > slowest.elapsed:
            return "DRAM"
        busy = {role: slowest.busy(role) for role in ROLES}
        busy["compute"] = slowest.occupied
        busy["reader"] = max(busy["reader"], slowest.sender)
        return max(busy, key=lambda role: busy[role])

    def __str__(self) -> str:
        return f"{self.cycles} cycles, limited by {self.limit} ({NOTICE})"


def tt_cost(plan: Plan, target: ChipSpec | None = None) -> Cost:
    """The cost of one launch of `plan`, on `target` if it is not the plan's own.

    Raises:
        ValueError: if the plan has no counted work.
    """
    table = cost_table(plan.arch if target is None else target.arch)
    if not plan.work:
        raise ValueError(
            f"the plan of '{plan.kernel}' has no counted work: it was made without count-tt-work"
        )
    kernels = {work.cores: _kernels(table, plan, work) for work in plan.work}
    senders = _senders(plan, kernels)
    reads, writes = (dram_cycles(table, _dram_bytes(plan, each)) for each in ("read", "write"))
    moved = max(each.busy for found in kernels.values() for each in found if each.role == "reader")
    contention = max(Fraction(1), reads / moved) if moved else Fraction(1)
    cores: list[CoreCost] = []
    for work in plan.work:
        own = kernels[work.cores]
        sender = max((senders.get(core, Fraction(0)) for core in work.cores), default=Fraction(0))
        busy = {each.role: each.busy for each in own}
        moved = {**busy, "reader": max(busy["reader"], sender)}
        exposed = _exposed(plan, work, moved)
        last = busy["compute"] / _blocks(plan, work, "reader", "pop")
        first = busy["compute"] / _blocks(plan, work, "writer", "push")
        size = _core_bytes(plan, work, "read") + _core_bytes(plan, work, "write")
        startup = table.startup.value
        cores.append(
            CoreCost(work.cores, own, *exposed, last, first, sender, startup, size, contention)
        )
    return Cost(tuple(cores), reads + writes, table.dram_rate.value, _clock(plan, target))


def _clock(plan: Plan, target: ChipSpec | None) -> float:
    own = next((each for each in CHIPS.values() if each.arch == plan.arch), None)
    found = target or own
    return 1.0 if found is None else found.clock_ghz


def _dram_bytes(plan: Plan, direction: str) -> int:
    return sum(len(work.cores) * _core_bytes(plan, work, direction) for work in plan.work)


def _core_bytes(plan: Plan, work: CoreWork, direction: str) -> int:
    """Bytes of tensors in DRAM; those in the L1 of other cores do not contend for it."""
    in_l1 = {each.name for each in plan.tensors if each.layout != DRAM_LAYOUT}
    return sum(
        each.count * sum(each.tile_bytes)
        for role in ("reader", "writer")
        for each in work.of(role)
        if each.kind == f"noc_{direction}" and each.detail not in in_l1
    )


def _kernels(table: CostTable, plan: Plan, work: CoreWork) -> tuple[KernelCost, ...]:
    found: list[KernelCost] = []
    for role in ROLES:
        ops = [(each, op_cycles(table, plan.compute.math_fidelity, each)) for each in work.of(role)]
        parts = _issue_parts(ops)
        if role == "compute":
            is_spilled = plan.compute.strategy == SPILL
            round_trips = () if is_spilled else _round_trips(table, plan, work)
            parts = _compute_parts(parts, ops, round_trips)
        found.append(KernelCost(role, tuple((name, each) for name, each in parts.items() if each)))
    return tuple(found)


def _issue_parts(ops: Sequence[tuple[OpWork, OpCycles]]) -> dict[str, Fraction]:
    parts: dict[str, Fraction] = {}
    for work, cycles in ops:
        parts[cycles.part] = parts.get(cycles.part, Fraction(0)) + work.count * cycles.issue
    return parts


def _compute_parts(
    parts: dict[str, Fraction],
    ops: Sequence[tuple[OpWork, OpCycles]],
    round_trips: tuple[Fraction, Fraction] | tuple[()],
) -> dict[str, Fraction]:
    """The parts of a compute kernel, of which only the slowest unit of the three counts.

    Without `round_trips` the accumulator is spilled, and nothing of that overlaps.
    """
    unpack = sum((work.count * cycles.unpack for work, cycles in ops), Fraction(0))
    pack = sum((work.count * cycles.pack for work, cycles in ops), Fraction(0))
    math = parts.get("vector FPU", Fraction(0)) + parts.get("SFPU", Fraction(0))
    if not round_trips:
        return {**parts, "reload": max(Fraction(0), unpack - math), "pack": pack}
    packed, unpacked = round_trips
    unpack, pack = unpack - unpacked, pack - packed
    slowest = max(math, unpack, pack)
    found = {name: each for name, each in parts.items() if name != "pack"}
    if slowest > math:
        name = "unpack" if unpack >= pack else "pack"
        found[name] = slowest - math
    return {**found, "round trips": packed + unpacked}


def _round_trips(table: CostTable, plan: Plan, work: CoreWork) -> tuple[Fraction, Fraction]:
    """Packing and unpacking of intermediate results that the next op waits for.

    Of a block, that is one tile: the others are packed while the next one is computed.
    """
    size = sum(
        min(_calls(work, cb.index, "push"), _calls(work, cb.index, "pop")) * cb.page_bytes
        for cb in plan.cbs
        if cb.producer == cb.consumer == "compute"
    )
    return pack_cycles(table, size), unpack_cycles(table, size)


def _calls(work: CoreWork, index: int, call: str) -> int:
    return sum(each.count for each in work.buffers if each.index == index and each.call == call)


def _blocks(plan: Plan, work: CoreWork, role: str, call: str) -> int:
    """How many times the compute kernel exchanges a block with reader or writer."""
    shared = {cb.index for cb in plan.cbs if role in (cb.producer, cb.consumer)}
    counts = [each.count for each in work.buffers if each.index in shared and each.call == call]
    return max(counts, default=1)


def _exposed(
    plan: Plan, work: CoreWork, busy: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction, Fraction]:
    """Transfers that do not overlap with compute: of single blocks, at the start and at the end.

    `busy` is how long reader and writer take for all their pages.
    """
    serial = Fraction(0)
    ends = {"reader": Fraction(0), "writer": Fraction(0)}
    for role in ("reader", "writer"):
        moved = [
            cb for cb in plan.cbs if (cb.producer if role == "reader" else cb.consumer) == role
        ]
        sizes = {cb.index: _pushed_pages(work, cb.index) * cb.page_bytes for cb in moved}
        for cb in moved:
            if not sizes[cb.index]:
                continue
            calls = [each for each in work.buffers if each.index == cb.index]
            block, total = max(each.pages for each in calls), _pushed_pages(work, cb.index)
            cycles = busy[role] * sizes[cb.index] / sum(sizes.values())
            if cb.pages < 2 * block and total > cb.pages:
                serial += cycles
            else:
                ends[role] += cycles * min(block, total) / total
    return serial, ends["reader"], ends["writer"]


def _pushed_pages(work: CoreWork, index: int) -> int:
    return sum(
        each.count * each.pages
        for each in work.buffers
        if each.index == index and each.call == "push"
    )


def _senders(
    plan: Plan, kernels: Mapping[tuple[int, ...], tuple[KernelCost, ...]]
) -> Mapping[int, Fraction]:
    """For every core that receives operands, the reader cycles of its slowest sender."""
    if plan.multicast is None:
        return {}
    ids = {(each.x, each.y): each.core_id for each in plan.cores.assignments}
    reader = {
        core: next(each.busy for each in found if each.role == "reader")
        for cores, found in kernels.items()
        for core in cores
    }
    found: dict[int, Fraction] = {}
    for group in plan.multicast.groups:
        sent = reader.get(ids[group.sender], Fraction(0))
        for core in group.receivers:
            found[ids[core]] = max(found.get(ids[core], Fraction(0)), sent)
    return found
