"""A compiled program: kernels, plan and sources, to be written to a directory or executed.

artefact = artefact_of(module)             after `tenstorrent-pipeline`
artefact.write(DIR)                        reader.cpp compute.cpp writer.cpp main.cpp tt.plan.json
artefact.run({"A": a, "B": b, "C": c})     arrays in, arrays out
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from errno import EISDIR
from pathlib import Path
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tensix.chips import ChipSpec, chip_named
from tilewright.dialects.tensix.plan import Plan, TensorPlan
from tilewright.dialects.tensix.program import HostPlanOp, KernelOp
from tilewright.memory.map import MemoryMap
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.arrays import array_of, pages_of
from tilewright.targets.tenstorrent.chain import chain_json, chained, tensors_of_chain
from tilewright.targets.tenstorrent.emit.emitter import Api
from tilewright.targets.tenstorrent.emit.host import emit_host
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import Array, TileFormat
from tilewright.targets.tenstorrent.launch import buffer_of, program_of
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.memory_map import l1_map
from tilewright.targets.tenstorrent.program import Buffer, Program
from tilewright.targets.tenstorrent.source.executor import run as run_sources
from tilewright.targets.tenstorrent.timing import TimedRun, timed_run

PLAN_FILE = "tt.plan.json"
HOST_FILE = "main.cpp"


class Executor(Enum):
    """What a program is executed from."""

    IR = "ir"
    """The kernels of the Tensix level, in Python."""
    SOURCE = "source"
    """The emitted sources, compiled with the host's compiler."""


@dataclass(frozen=True)
class Run:
    """The outcome of one run, in the caller's arrays."""

    arrays: Mapping[str, Array]
    """The outputs by name."""
    result: RunResult


@dataclass(frozen=True)
class Artefact:
    """One program."""

    plan: Plan
    kernels: Mapping[str, KernelOp]
    """By name."""
    chip: ChipSpec
    api: Api = Api.CURRENT
    scalars: Mapping[str, float] = field(default_factory=dict[str, float])
    """The values of scalar arguments, for a run; one that is missing is 0."""
    following: tuple[Artefact, ...] = ()
    """The launches after this one, on the same buffers."""

    @property
    def launches(self) -> tuple[Artefact, ...]:
        """All launches in order, this one first."""
        return (replace(self, following=()), *self.following)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all launches."""
        return tuple(each.plan for each in self.launches)

    @property
    def tensors(self) -> tuple[TensorPlan, ...]:
        """The tensors of all launches, with their roles for the caller."""
        return tensors_of_chain(self.plans)

    def sources(self, *, comments: bool = True) -> dict[str, str]:
        """The emitted files by name, without the plan."""
        texts = {
            kernel.file: emit_kernel(each.kernels[kernel.name], api=self.api, comments=comments)
            for each in self.launches
            for kernel in each.plan.kernels
        }
        return {**texts, HOST_FILE: emit_host(*self.plans)}

    def files(self) -> dict[str, str]:
        """All files by name."""
        return {**self.sources(), PLAN_FILE: chain_json(self.plans)}

    def write(self, directory: Path) -> tuple[Path, ...]:
        """Write all files, or none if one of them cannot be written."""
        files = self.files()
        directory.mkdir(parents=True, exist_ok=True)
        paths = [directory / name for name in files]
        for path in paths:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, f"'{path.name}' is a directory")
        asides = [directory / f".{name}.{os.getpid()}" for name in files]
        try:
            for aside, text in zip(asides, files.values(), strict=True):
                aside.write_text(text, encoding="utf-8")
            for aside, path in zip(asides, paths, strict=True):
                aside.replace(path)
        finally:
            for aside in asides:
                aside.unlink(missing_ok=True)
        return tuple(paths)

    def program(self, *, with_sources: bool = False) -> Program:
        """The first launch of the host program, as the executors take it."""
        found = program_of(self.plan, self.chip, scalars=self.scalars)
        own = {each.name: each for each in found.buffers}
        # Buffers of other launches exist while this one runs.
        buffers = tuple(
            own.get(each.name) or replace(buffer_of(each), output=False) for each in self.tensors
        )
        found = replace(found, buffers=buffers if self.following else found.buffers)
        if not with_sources:
            return found
        sources = self.sources()
        files = {kernel.name: kernel.file for kernel in self.plan.kernels}
        defines = {"TW_API_2025": "1"} if self.api is Api.OLDER else {}
        kernels = tuple(
            replace(each, text=sources[files[each.name]], defines=defines) for each in found.kernels
        )
        return replace(found, kernels=kernels)

    def memory_map(self) -> MemoryMap:
        """The L1 of a core."""
        names = {each.index: each.name for each in self.plan.cbs}
        return l1_map(allocate(self.program()), names)

    def execute(
        self,
        arrays: Mapping[str, Array],
        options: RunOptions | None = None,
        executor: Executor = Executor.IR,
    ) -> RunResult:
        """Execute the launches on the caller's arrays; the result may have findings.

        A launch finds in L1 and DRAM what those before it left there; one with findings is the
        last.

        Raises:
            KeyError: if the array of a tensor is missing.
        """
        contents = {
            each.name: pages_of(_contents(each, arrays), each).tobytes()
            for each in self.tensors
            if each.role != "output"
        }
        results: list[RunResult] = []
        launches = self.launches
        for position, each in enumerate(launches):
            others = (*launches[:position], *launches[position + 1 :])
            # The tensors of all launches, so that buffers have the same addresses in each.
            program = replace(each, following=others).program(
                with_sources=executor is Executor.SOURCE
            )
            program = replace(program, buffers=_ordered(program.buffers, self.tensors))
            names = {buffer.name for buffer in program.buffers}
            inputs = {
                name: pages
                for name, pages in contents.items()
                if name in names and not program.buffer(name).output
            }
            if executor is Executor.SOURCE:
                result = run_sources(program, inputs, options)
            else:
                result = run_kernels(program, each.kernels, inputs, options)
            results.append(result)
            if result.findings:
                break
            used = {tensor.name for tensor in each.plan.tensors}
            contents |= {name: data for name, data in result.buffers.items() if name in used}
        result = chained(results, contents)
        is_timed = options is not None and options.timed and not result.findings
        return replace(result, timing=self.timed()) if is_timed else result

    def timed(self) -> TimedRun:
        """An event-driven run of the program, without data."""
        return timed_run(self.program(), self.kernels, self.plan)

    def outputs(
        self, result: RunResult, arrays: Mapping[str, Array] = MappingProxyType({})
    ) -> Mapping[str, Array]:
        """The arrays that a run wrote, by name; `arrays` are those of before the run."""
        found = {
            each.name: array_of(result.buffers[each.name], each, arrays.get(each.name))
            for each in self.tensors
            if each.role != "input" and not each.workspace
        }
        return MappingProxyType(found)

    def run(
        self,
        arrays: Mapping[str, Array],
        options: RunOptions | None = None,
        executor: Executor = Executor.IR,
    ) -> Run:
        """Execute the program on the caller's arrays.

        Raises:
            KeyError: if the array of a tensor is missing.
            ExecutionError: if a sanitizer reports.
        """
        result = self.execute(arrays, options, executor).raise_for_findings()
        return Run(self.outputs(result, arrays), result)


def artefact_of(module: ModuleOp, chip: ChipSpec | None = None, api: Api = Api.CURRENT) -> Artefact:
    """The program of a module that `tenstorrent-pipeline` has lowered."""
    kernels = {op.sym_name.data: op for op in module.body.ops if isinstance(op, KernelOp)}
    plans = [op for op in module.body.ops if isinstance(op, HostPlanOp)]
    if not plans or not kernels:
        raise ValueError(
            f"expected a module with host plans and their kernels, got {len(plans)} plans and "
            f"{len(kernels)} kernels"
        )
    made: list[Artefact] = []
    for op in plans:
        plan = Plan.from_attr(op.plan)
        own = {each.name: kernels[each.name] for each in plan.kernels}
        used = chip_named(plan.arch.removesuffix("_b0")) if chip is None else chip
        made.append(Artefact(plan, MappingProxyType(own), used, api))
    return replace(made[0], following=tuple(made[1:]))


def _contents(tensor: TensorPlan, arrays: Mapping[str, Array]) -> Array:
    """What a tensor holds before the first launch; zeros in a workspace."""
    if tensor.workspace:
        return np.zeros(tensor.shape, TileFormat(tensor.format).dtype)
    return arrays[tensor.name]


def _ordered(buffers: tuple[Buffer, ...], tensors: tuple[TensorPlan, ...]) -> tuple[Buffer, ...]:
    """Buffers in the order of the chain's tensors, which is that of their addresses."""
    order = [each.name for each in tensors]
    return tuple(sorted(buffers, key=lambda each: order.index(each.name)))
