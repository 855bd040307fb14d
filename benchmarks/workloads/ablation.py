"""What leaving out single passes makes of kernels: compiled on all cores, timed one at a time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.passes.gpu.choose_occupancy import ChooseOccupancy
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.tile.gpu import CudaKernel
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_as, pipeline_options
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.long_steps import SHORTEN_STEPS
from tilewright.targets.cuda.settings import Settings

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from benchmarks.workloads.switches import Switchboard
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_PASSES_PER_JOB = 6
"""So many that reading the kernel and lowering it as it is are a small part of a job."""


@dataclass
class Outcome:
    """What becomes of a kernel, by the pass that is left out."""

    changed: dict[str, Program] = field(default_factory=dict[str, Program])
    """Where the text of the kernel differs."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Where it does not compile."""


_AFTER_ASSEMBLY = (ChooseOccupancy.name, SHORTEN_STEPS)
"""What the first machine code decides: the text that the passes make does not show it."""


def outcome(
    text: str, settings: Settings, passes: Sequence[str], final: str | None = None
) -> Outcome:
    """Compile a kernel, given as text of the tile level, without each of the passes.

    `final` is the CUDA source of which it is made when nothing is left out.
    """
    engine = DiagnosticEngine()
    parsed = parse_source(make_context(), text, "kernel.mlir", engine)
    engine.raise_if_errors()
    assert parsed is not None, "a module without errors was parsed"
    whole = lowered_text(parsed.module, settings)
    found = Outcome()
    for name in passes:
        given = replace(settings, leave_out=(*settings.leave_out, name))
        try:
            differs = lowered_text(parsed.module, given) != whole
            if not differs and (name not in _AFTER_ASSEMBLY or final is None):
                continue
            program = compile_as(parsed.module, given)
            if differs or program.source != final:
                found.changed[name] = replace(program, module=None)
        except Exception as error:
            found.failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found


def lowered_text(module: ModuleOp, settings: Settings) -> str:
    """The CUDA source of a module, as the passes make it first."""
    copy, engine = module.clone(), DiagnosticEngine()
    GpuPipeline(**pipeline_options(settings)).run(copy, engine)
    engine.raise_if_errors()
    return "\n".join(emit_kernel(function).text for function in kernels_of(copy))


class Ablation:
    """Kernels that are compiled without single passes, in processes of their own."""

    def __init__(
        self, board: Switchboard, passes: Sequence[str], executor: ProcessPoolExecutor
    ) -> None:
        self._board = board
        self._passes = list(passes)
        self._executor = executor
        self._jobs: dict[CompiledTileKernel, list[tuple[list[str], Future[Outcome]]]] = {}

    def start(self, kernel: CompiledTileKernel) -> None:
        """Begin to compile a kernel, unless that was done."""
        if kernel in self._jobs:
            return
        gpu = _cuda(kernel)
        text = print_module(gpu.module, generic=True, locations=True)
        parts = [
            self._passes[first : first + _PASSES_PER_JOB]
            for first in range(0, len(self._passes), _PASSES_PER_JOB)
        ]
        final = gpu.program.source
        self._jobs[kernel] = [
            (names, self._executor.submit(outcome, text, gpu.settings, names, final))
            for names in parts
        ]

    def finish(self, kernels: Sequence[CompiledTileKernel]) -> Outcome:
        """What becomes of kernels that are called together; the board has the programs then."""
        found = Outcome()
        for kernel in kernels:
            for names, job in self._jobs[kernel]:
                done = job.result()
                found.failed |= done.failed
                found.changed |= done.changed
                for name in names:  # what a pass does not change is compiled already
                    _cuda(self._board.variant(kernel, name)).program = done.changed.get(
                        name, _cuda(kernel).program
                    )
        return found


def _cuda(kernel: CompiledTileKernel) -> CudaKernel:
    assert isinstance(kernel.gpu, CudaKernel), "these kernels are for an NVIDIA GPU"
    return kernel.gpu


@contextmanager
def ablation(
    board: Switchboard, passes: Sequence[str], workers: int | None = None
) -> Generator[Ablation]:
    """Processes are started, not forked: CUDA does not survive a fork."""
    count = workers or len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as executor:
        yield Ablation(board, passes, executor)
        executor.shutdown(cancel_futures=True)
