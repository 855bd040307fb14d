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

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tensix.chips import ChipSpec, chip_named
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.program import HostPlanOp, KernelOp
from tilewright.memory.map import MemoryMap
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.arrays import array_of, pages_of
from tilewright.targets.tenstorrent.emit.emitter import Api
from tilewright.targets.tenstorrent.emit.host import emit_host
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import Array
from tilewright.targets.tenstorrent.launch import program_of
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.memory_map import l1_map
from tilewright.targets.tenstorrent.program import Program
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

    def sources(self, *, comments: bool = True) -> dict[str, str]:
        """The emitted files by name, without the plan."""
        texts = {
            kernel.file: emit_kernel(self.kernels[kernel.name], api=self.api, comments=comments)
            for kernel in self.plan.kernels
        }
        return {**texts, HOST_FILE: emit_host(self.plan)}

    def files(self) -> dict[str, str]:
        """All files by name."""
        return {**self.sources(), PLAN_FILE: self.plan.to_json()}

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
        """The host program as the executors take it."""
        found = program_of(self.plan, self.chip, scalars=self.scalars)
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
        """Execute the program on the caller's arrays; the result may have findings.

        Raises:
            KeyError: if the array of a tensor is missing.
        """
        inputs = {
            each.name: pages_of(arrays[each.name], each).tobytes()
            for each in self.plan.tensors
            if each.role != "output"
        }
        if executor is Executor.SOURCE:
            result = run_sources(self.program(with_sources=True), inputs, options)
        else:
            result = run_kernels(self.program(), self.kernels, inputs, options)
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
            for each in self.plan.tensors
            if each.role != "input"
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
    if len(plans) != 1 or not kernels:
        raise ValueError(
            f"expected a module with one host plan and its kernels, got {len(plans)} plans and "
            f"{len(kernels)} kernels"
        )
    plan = Plan.from_attr(plans[0].plan)
    if chip is None:
        chip = chip_named(plan.arch.removesuffix("_b0"))
    return Artefact(plan, MappingProxyType(kernels), chip, api)
