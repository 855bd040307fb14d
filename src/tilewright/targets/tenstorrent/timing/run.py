"""Runs all kernels of a program on clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.analysis.tensix_cost import NOTICE
from tilewright.analysis.tensix_cost.op_cost import op_cycles
from tilewright.analysis.tensix_cost.parameters import cost_table
from tilewright.dialects.tensix.op_work import work_of
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.shards import DRAM_LAYOUT
from tilewright.dialects.tensix.types import Role
from tilewright.targets.tenstorrent.allocation import Allocation, allocate
from tilewright.targets.tenstorrent.machine.translate import translate
from tilewright.targets.tenstorrent.program import Core, Program
from tilewright.targets.tenstorrent.timing.clock import Clock, Rate, Task
from tilewright.targets.tenstorrent.timing.threads import (
    Chip,
    DataThread,
    MathThread,
    PackThread,
    Semaphore,
    TimedBuffer,
    TimedCore,
    TimedThread,
)


@dataclass(frozen=True)
class KernelTime:
    """Cycles of one kernel, or of the math or pack half of a compute kernel, on one core."""

    role: str
    core: Core
    end: float
    """When it finished."""
    stalls: Mapping[str, float]
    """Cycles in which it waited for another kernel, by reason."""
    parts: Mapping[str, float]
    """Cycles in which it was busy, by part."""

    @property
    def stalled(self) -> float:
        return sum(self.stalls.values())

    @property
    def busy(self) -> float:
        return self.end - self.stalled


@dataclass(frozen=True)
class TimedRun:
    """The outcome of an event-driven run."""

    kernels: tuple[KernelTime, ...]
    dram_bytes: int
    dram_page_reads: int
    dram_page_writes: int
    multicast_pages: int

    @property
    def cycles(self) -> float:
        """From the start of the kernels to the end of the last one."""
        return max(each.end for each in self.kernels)

    def of(self, role: str) -> tuple[KernelTime, ...]:
        """The kernels of one role (``reader``, ``math``, ``pack``, ``writer``), core by core."""
        return tuple(each for each in self.kernels if each.role == role)

    def __str__(self) -> str:
        return f"{self.cycles:.0f} cycles in an event-driven run ({NOTICE})"


def timed_run(program: Program, kernels: Mapping[str, KernelOp], plan: Plan) -> TimedRun:
    """Run the kernels of `program` on clocks, without data.

    Raises:
        Deadlocked: if kernels wait for each other.
    """
    table = cost_table(plan.arch)
    allocation = allocate(program)
    cores = {core: _core(allocation, core) for core in program.cores}
    chip = Chip(program.chip, Clock(), Rate(float(table.dram_rate.value)), cores)
    translated = {name: translate(each, blocking_sections=True) for name, each in kernels.items()}
    in_l1 = {each.name for each in plan.tensors if each.layout != DRAM_LAYOUT}
    threads: list[tuple[str, TimedThread]] = []
    for source in program.kernels:
        kernel, translation = kernels[source.name], translated[source.name]
        work = [work_of(op) for op in translation.ops]
        fidelity = plan.compute.math_fidelity
        costs = [None if each is None else op_cycles(table, fidelity, each) for each in work]
        sizes = [
            0 if each is None or each.detail in in_l1 else sum(each.tile_bytes) for each in work
        ]
        for core in program.cores:
            if core not in source.cores:
                continue
            arguments = (
                [allocation.runtime_word(each) for each in source.runtime_args.get(core, ())],
                allocation.compile_time_words(source.compile_args),
            )
            is_compute = kernel.role is Role.COMPUTE
            for role in ("math", "pack") if is_compute else (kernel.role.value,):
                task = Task(f"{role} on core ({core[0]},{core[1]})")
                given = (chip, cores[core], task, costs, translation.ops, arguments)
                if role == "math":
                    thread: TimedThread = MathThread(*given)
                elif role == "pack":
                    thread = PackThread(*given)
                else:
                    thread = DataThread(*given, page_bytes=sizes)
                task.steps = translation.function(thread)  # pyright: ignore[reportAttributeAccessIssue]
                chip.clock.start(task)
                threads.append((role, thread))
    chip.clock.run()
    return TimedRun(
        tuple(_time(role, thread) for role, thread in threads),
        chip.dram.served,
        chip.reads,
        chip.writes,
        chip.multicast_pages,
    )


def _time(role: str, thread: TimedThread) -> KernelTime:
    task = thread.task
    return KernelTime(
        role,
        thread.core.core,
        task.now,
        MappingProxyType(dict(task.stalls)),
        MappingProxyType(dict(thread.parts)),
    )


def _core(allocation: Allocation, core: Core) -> TimedCore:
    program = allocation.program
    buffers = {
        cb.index: TimedBuffer(config.pages(cb), address, cb.page_bytes)
        for config, address in zip(program.circular_buffers, allocation.cb_addresses, strict=True)
        if core in config.cores
        for cb in config.circular_buffers
    }
    semaphores = {
        each.id: Semaphore(value=each.initial) for each in program.semaphores if core in each.cores
    }
    return TimedCore(core, buffers, semaphores)
