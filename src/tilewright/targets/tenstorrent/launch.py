"""A compiled kernel as a host program: a plan in the form that executors take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.plan import ADDRESS_SUFFIX, KernelPlan, Plan
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    ComputeConfig,
    Core,
    CoreSet,
    KernelSource,
    Processor,
    Program,
    RuntimeWord,
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
        tuple(_kernel(plan, each, cores, directory) for each in plan.kernels),
        configs,
    )


def _kernel(plan: Plan, kernel: KernelPlan, cores: CoreSet, directory: Path | None) -> KernelSource:
    return KernelSource(
        kernel.role,
        _PROCESSORS[kernel.role],
        cores,
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
            (core.x, core.y): tuple(
                Address(word) if isinstance(word, str) else word
                for word in plan.runtime_words(kernel, core)
            )
            for core in plan.cores.active
        }
    )


__all__ = ["ADDRESS_SUFFIX", "program_of"]
