"""Runs a program from its IR: kernels of all cores under one seeded schedule.

    result = run_kernels(program, {"reader": kernel, ...}, {"A": pages, "B": pages})

Cores without semaphores and multicasts do not observe each other, so each is run by itself; with
them, all cores advance together. Results must not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tilewright.analysis.concurrency import Deadlock, Machine, Steps
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.types import Role
from tilewright.targets.tenstorrent.allocation import Allocation, allocate
from tilewright.targets.tenstorrent.execution import Check, RunOptions, RunResult
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer
from tilewright.targets.tenstorrent.machine.compute import ComputeThread
from tilewright.targets.tenstorrent.machine.memory import L1, DramBuffer, ShardedBuffer
from tilewright.targets.tenstorrent.machine.multicast import MulticastThread
from tilewright.targets.tenstorrent.machine.recorder import Recorder
from tilewright.targets.tenstorrent.machine.state import CoreState, RunState, StopRun
from tilewright.targets.tenstorrent.machine.thread import task_name
from tilewright.targets.tenstorrent.machine.translate import Translation, translate
from tilewright.targets.tenstorrent.program import (
    Buffer,
    Core,
    KernelSource,
    Program,
    ProgramError,
    Sharded,
    Space,
)

_BETWEEN_CORES = ("tensix.mcast", "tensix.sem_inc", "tensix.sem_mcast")


def run_kernels(
    program: Program,
    kernels: Mapping[str, KernelOp],
    inputs: Mapping[str, NDArray[Any] | bytes],
    options: RunOptions | None = None,
) -> RunResult:
    """Run `program`, whose kernels are `kernels` by name.

    `inputs` are the pages of buffers in page order; buffers that are not listed are poisoned.

    Raises:
        ProgramError: if a kernel of the program has no IR, or inputs have the wrong size.
    """
    options = options or RunOptions()
    allocation = allocate(program)
    cores = {core: _core(allocation, core) for core in _cores_of(program)}
    state = RunState(
        program,
        allocation,
        options,
        cores,
        _buffers(allocation, inputs, cores),
        recorder=Recorder(_task_cores(program)) if options.trace else None,
    )
    translated = {name: translate(kernel) for name, kernel in kernels.items()}
    for each in program.kernels:
        if each.name not in kernels:
            raise ProgramError(f"program '{program.name}': kernel '{each.name}' has no IR")
    groups = _groups(program, kernels)
    steps = 0
    try:
        # The hardware has no floating-point exceptions.
        with np.errstate(all="ignore"):
            for cores in groups:
                steps += _run_together(state, cores, kernels, translated)
        _check_outputs(state)
    except StopRun:
        pass
    pages = {
        each.buffer.name: b"".join(each.load(page).tobytes() for page in range(each.buffer.pages))
        for each in state.dram.values()
    }
    return RunResult(
        MappingProxyType(pages),
        tuple(state.findings),
        state.traffic,
        MappingProxyType({each.buffer.name: each.page_reads for each in state.dram.values()}),
        switches=steps,
        events=() if state.recorder is None else tuple(state.recorder.events),
    )


def _groups(program: Program, kernels: Mapping[str, KernelOp]) -> Sequence[Sequence[Core]]:
    """Cores that have to run together."""
    together = any(op.name in _BETWEEN_CORES for kernel in kernels.values() for op in kernel.walk())
    return [program.cores] if together else [[core] for core in program.cores]


def _run_together(
    state: RunState,
    cores: Sequence[Core],
    kernels: Mapping[str, KernelOp],
    translated: Mapping[str, Translation],
) -> int:
    """Run the kernels of `cores`; how many steps the schedule took."""
    listener = None if state.recorder is None else state.recorder.step
    state.machine = Machine(state.options.seed, listener)
    for core in cores:
        for source in state.program.kernels:
            if core in source.cores:
                steps, name = _thread(state, core, source, kernels, translated)
                state.machine.spawn(name, steps, context=core)
    try:
        state.machine.run()
    except Deadlock as deadlock:
        _report_deadlock(state, deadlock)
    for core in cores:
        _check_exit(state, state.cores[core])
    return state.machine.steps


def _thread(
    state: RunState,
    core: Core,
    source: KernelSource,
    kernels: Mapping[str, KernelOp],
    translated: Mapping[str, Translation],
) -> tuple[Steps, str]:
    kernel, translation = kernels[source.name], translated[source.name]
    allocation = state.allocation
    words = [allocation.runtime_word(each) for each in source.runtime_args.get(core, ())]
    arguments = (
        state,
        state.cores[core],
        source.name,
        translation.ops,
        words,
        allocation.compile_time_words(source.compile_args),
    )
    if kernel.role is Role.COMPUTE:
        thread = ComputeThread(*arguments)
        thread.start(kernel.dst_tiles, kernel.fp32_dest_acc is not None)
    else:
        thread = MulticastThread(*arguments)
        thread.start()
    return translation.function(thread), thread.name


def _core(allocation: Allocation, core: Core) -> CoreState:
    program = allocation.program
    state = CoreState(core, L1.of_size(program.chip.l1_bytes))
    for config, address in zip(program.circular_buffers, allocation.cb_addresses, strict=True):
        if core not in config.cores:
            continue
        for cb in config.circular_buffers:
            state.cbs[cb.index] = CircularBuffer(
                cb.index,
                address,
                config.pages(cb),
                cb.page_bytes,
                Format(cb.format.value),
                on_buffer=config.buffer is not None,
            )
    for semaphore in program.semaphores:
        if core in semaphore.cores:
            state.semaphores[semaphore.id] = semaphore.initial
    return state


def _cores_of(program: Program) -> Sequence[Core]:
    """The cores that run kernels or hold shards, row by row."""
    found = set(program.cores)
    for buffer in program.buffers:
        if isinstance(buffer.layout, Sharded):
            found.update(buffer.layout.cores)
    return sorted(found, key=lambda core: (core[1], core[0]))


def _buffers(
    allocation: Allocation,
    inputs: Mapping[str, NDArray[Any] | bytes],
    cores: Mapping[Core, CoreState],
) -> dict[tuple[bool, int], DramBuffer]:
    """The buffers with their contents, by space and address."""
    found: dict[tuple[bool, int], DramBuffer] = {}
    for buffer, address in zip(
        allocation.program.buffers, allocation.buffer_addresses, strict=True
    ):
        pages = np.full((buffer.pages, buffer.page_bytes), 0xFF, np.uint8)
        if buffer.name in inputs:
            data = np.frombuffer(bytes(inputs[buffer.name]), np.uint8)
            if data.size != pages.size:
                raise ProgramError(
                    f"buffer '{buffer.name}' has {pages.size} B, its contents have {data.size} B"
                )
            pages[:] = data.reshape(pages.shape)
        writes = np.zeros(buffer.pages, np.int32)
        if not isinstance(buffer.layout, Sharded):
            in_dram = buffer.space is Space.DRAM
            found[in_dram, address] = DramBuffer(buffer, address, pages, writes)
            continue
        made = ShardedBuffer(
            buffer, address, pages[:0], writes, locations=_locations(allocation, buffer, cores)
        )
        if buffer.name in inputs:
            for page in range(buffer.pages):
                made.store(page, pages[page])
        found[False, address] = made
    return found


def _locations(
    allocation: Allocation, buffer: Buffer, cores: Mapping[Core, CoreState]
) -> Sequence[tuple[L1, int]]:
    """The L1 and the address of each page of a sharded buffer."""
    assert isinstance(buffer.layout, Sharded)
    address, stride = allocation.address(buffer.name), allocation.page_stride(buffer)
    found: dict[int, tuple[L1, int]] = {}
    for core, ids in zip(buffer.layout.cores, buffer.layout.pages, strict=True):
        for position, page in enumerate(ids):
            found[page] = cores[core].l1, address + position * stride
    return [found[page] for page in range(buffer.pages)]


# -- the end of a run ------------------------------------------------------------------------------


def _task_cores(program: Program) -> dict[str, Core]:
    """The core of each task, by the name of the task."""
    return {
        task_name(kernel.name, core): core for kernel in program.kernels for core in program.cores
    }


def _report_deadlock(state: RunState, deadlock: Deadlock) -> None:
    """One finding a blocked kernel, with the state of all circular buffers."""
    by_name = _task_cores(state.program)
    for blocked in deadlock.blocked:
        site = blocked.wait.site
        core = by_name[blocked.task]
        cbs = "; ".join(cb.describe() for cb in state.cores[core].cbs.values())
        state.report(
            Check.DEADLOCK,
            f"waits forever for {blocked.wait.what} ({blocked.missing}); {cbs}",
            core,
            blocked.task.split(" on ")[0],
            site if isinstance(site, Operation) else None,
        )
    raise StopRun


def _check_exit(state: RunState, core: CoreState) -> None:
    for cb in core.cbs.values():
        if cb.ready:
            state.report(
                Check.UNPOPPED_PAGES,
                f"{cb.name}: {cb.received} pages pushed, {cb.acked} popped at the end of the run",
                core.core,
            )


def _check_outputs(state: RunState) -> None:
    for each in state.dram.values():
        missing = [page for page in range(each.buffer.pages) if not each.is_written(page)]
        if each.buffer.output and missing:
            state.report(
                Check.UNWRITTEN_OUTPUT,
                f"{len(missing)} of {each.buffer.pages} pages of '{each.buffer.name}' were never "
                f"written, the first is page {missing[0]}",
            )
