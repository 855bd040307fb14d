"""A compiled kernel as a host program: a plan in the form that executors take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.multicast import NocWord
from tilewright.dialects.tensix.plan import ADDRESS_SUFFIX, KernelPlan, Plan
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    ComputeConfig,
    Core,
    KernelSource,
    NocX,
    NocY,
    Processor,
    Program,
    RuntimeWord,
    Semaphore,
    circular_buffer,
    core_set,
)

_PROCESSORS = {
    "reader": Processor.RISCV_1,
    "compute": Processor.COMPUTE,
    "writer": Processor.RISCV_0,
}


def program_of(plan: Plan, chip: ChipSpec, directory: Path | None = None) -> Program:
    """The host program of a plan; `directory` holds the sources of its kernels, if they exist."""
    active = plan.cores.active
    cores = core_set([(each.x, each.y) for each in active])
    buffers = tuple(
        Buffer(each.name, each.page_bytes, each.pages, output=each.role == "output")
        for each in plan.tensors
    )
    configs = tuple(
        circular_buffer(each.index, TileFormat(each.format), pages=each.pages, cores=cores)
        for each in plan.cbs
    )
    return Program(
        plan.kernel,
        chip.with_grid(*plan.cores.grid),
        buffers,
        tuple(_kernel(plan, each, directory) for each in plan.kernels),
        configs,
        semaphores=tuple(
            Semaphore(each.id, each.initial, cores)
            for each in (() if plan.multicast is None else plan.multicast.semaphores)
        ),
    )


def _kernel(plan: Plan, kernel: KernelPlan, directory: Path | None) -> KernelSource:
    return KernelSource(
        kernel.name,
        _PROCESSORS[kernel.role],
        core_set([(each.x, each.y) for each in plan.cores_of(kernel)]),
        path=None if directory is None else directory / kernel.file,
        compile_args=tuple(Accessor(name) for name in plan.accessor_tensors(kernel)),
        runtime_args=_runtime_args(plan, kernel),
        compute=ComputeConfig(
            fp32_dest_acc=plan.compute.fp32_dest_acc, math_fidelity=plan.compute.math_fidelity
        ),
    )


def _runtime_args(plan: Plan, kernel: KernelPlan) -> Mapping[Core, tuple[RuntimeWord, ...]]:
    return MappingProxyType(
        {
            (core.x, core.y): tuple(_word(word) for word in plan.runtime_words(kernel, core))
            for core in plan.cores_of(kernel)
        }
    )


def _word(word: int | str | NocWord) -> RuntimeWord:
    if isinstance(word, NocWord):
        return NocX(word.core) if word.axis == "x" else NocY(word.core)
    return Address(word) if isinstance(word, str) else word


__all__ = ["ADDRESS_SUFFIX", "program_of"]
