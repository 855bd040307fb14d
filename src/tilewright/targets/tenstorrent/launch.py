"""A compiled kernel as a host program: a plan in the form that executors take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.multicast import NocWord
from tilewright.dialects.tensix.plan import (
    ADDRESS_SUFFIX,
    KernelPlan,
    Plan,
    RuntimeValue,
    ScalarPlan,
    ScalarWord,
    TensorPlan,
)
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
    Sharded,
    Space,
    circular_buffer,
    core_set,
)

_PROCESSORS = {
    "reader": Processor.RISCV_1,
    "compute": Processor.COMPUTE,
    "writer": Processor.RISCV_0,
}


def program_of(
    plan: Plan,
    chip: ChipSpec,
    directory: Path | None = None,
    scalars: Mapping[str, float] = MappingProxyType({}),
) -> Program:
    """The host program of a plan; `directory` holds the sources of its kernels, if they exist.

    `scalars` are the values of scalar arguments; one that is missing is 0.
    """
    words = {each.name: word_of_scalar(each, scalars.get(each.name, 0)) for each in plan.scalars}
    active = plan.cores.active
    cores = core_set([(each.x, each.y) for each in active])
    buffers = tuple(buffer_of(each) for each in plan.tensors)
    configs = tuple(
        replace(
            circular_buffer(each.index, TileFormat(each.format), pages=each.pages, cores=cores),
            buffer=each.tensor,
        )
        for each in plan.cbs
    )
    return Program(
        plan.kernel,
        chip.with_grid(*plan.cores.grid),
        buffers,
        tuple(_kernel(plan, each, directory, words) for each in plan.kernels),
        configs,
        semaphores=tuple(
            Semaphore(each.id, each.initial, cores)
            for each in (() if plan.multicast is None else plan.multicast.semaphores)
        ),
    )


def buffer_of(tensor: TensorPlan) -> Buffer:
    """The device buffer of a tensor."""
    made = Buffer(tensor.name, tensor.page_bytes, tensor.pages, output=tensor.role == "output")
    if tensor.shards is None:
        return made
    shards = tensor.shards
    layout = Sharded.cut(shards.tensor, shards.shape, shards.cores)
    return replace(made, space=Space.L1, layout=layout)


def word_of_scalar(plan: ScalarPlan, value: float) -> int:
    """The word of a scalar argument.

    Raises:
        OverflowError: if an integer needs more than 32 bits.
    """
    if Format(plan.format) is Format.F32:
        return int(np.float32(value).view(np.uint32))
    return int(np.array([int(value)], np.int32).view(np.uint32)[0])


def _kernel(
    plan: Plan,
    kernel: KernelPlan,
    directory: Path | None,
    words: Mapping[str, int],
) -> KernelSource:
    return KernelSource(
        kernel.name,
        _PROCESSORS[kernel.role],
        core_set([(each.x, each.y) for each in plan.cores_of(kernel)]),
        path=None if directory is None else directory / kernel.file,
        compile_args=tuple(Accessor(name) for name in plan.accessor_tensors(kernel)),
        runtime_args=_runtime_args(plan, kernel, words),
        compute=ComputeConfig(
            fp32_dest_acc=plan.compute.fp32_dest_acc, math_fidelity=plan.compute.math_fidelity
        ),
    )


def _runtime_args(
    plan: Plan, kernel: KernelPlan, words: Mapping[str, int]
) -> Mapping[Core, tuple[RuntimeWord, ...]]:
    return MappingProxyType(
        {
            (core.x, core.y): tuple(_word(each, words) for each in plan.runtime_words(kernel, core))
            for core in plan.cores_of(kernel)
        }
    )


def _word(word: RuntimeValue, words: Mapping[str, int]) -> RuntimeWord:
    if isinstance(word, ScalarWord):
        return words[word.scalar]
    if isinstance(word, NocWord):
        return NocX(word.core) if word.axis == "x" else NocY(word.core)
    return Address(word) if isinstance(word, str) else word


__all__ = ["ADDRESS_SUFFIX", "buffer_of", "program_of"]
