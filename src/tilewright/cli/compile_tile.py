"""``tilewright compile`` for kernels on tiles: tile level, thread level, CUDA C++, machine code.

A Python file is run as a script; every `T` kernel it calls, and every `tl` kernel it launches,
raised to tiles, is compiled for the arguments it was called with, and not run. If it calls none,
`T` kernels that it compiles for sizes are taken. IR text with `tile` kernels is compiled as it
stands. Nothing is taken from the cache on disk, so the times are those of a first compilation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.cli.gpu_programs import (
    IR_STAGES,
    Described,
    Source,
    Sources,
    TimedPipeline,
    as_json,
    joined,
    milliseconds,
    numbered,
    sources_of,
    write_ir,
    writing,
)
from tilewright.cli.outputs import write_whole
from tilewright.cli.working import working_on
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module, pipeline_options
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.triton.sass import NoDisassembler, disassembled

_COLUMNS = (
    *("kernel", "target", "registers", "spilled", "shared", "threads", "cubin"),
    *("trace", "passes", "nvrtc"),
)


@dataclass(frozen=True)
class Compiled:
    """One function, compiled, and how long that took."""

    name: str
    tile: str
    """The IR as it was traced."""
    program: Program
    settings: Settings
    engine: DiagnosticEngine
    trace_seconds: float
    pass_seconds: float
    nvrtc_seconds: float

    @property
    def described(self) -> Described:
        return Described(f"cuda:{self.settings.arch}", self.program)


@dataclass(frozen=True)
class _TimedPipeline(TimedPipeline, GpuPipeline):
    """The passes, and the seconds they took."""


def compile_file(line: CommandLine, target: str, program: str) -> tuple[list[Compiled], Sources]:
    """Compile what a file holds or calls; `CompileError` describes what is wrong with a kernel."""
    sources = sources_of(line, target, program, Settings)
    return [_compiled(each) for each in working_on(sources.found, "compiling")], sources


def _compiled(source: Source) -> Compiled:
    module, settings, engine = source.module, source.settings, source.engine
    tile = print_module(module)
    pipeline = _TimedPipeline(**pipeline_options(settings))
    start = perf_counter()
    try:
        program = compile_module(
            module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
        )
    except (CudaCompilerError, NvrtcMissing) as error:
        raise UsageError(str(error).rstrip()) from None
    passes = sum(pipeline.seconds)
    rest = perf_counter() - start - passes
    return Compiled(source.name, tile, program, settings, engine, source.seconds, passes, rest)


# -- what is shown and written ---------------------------------------------------------------------


def stage_text(done: Sequence[Compiled], stage: str) -> str:
    """One stage of everything; where that is several texts, each begins with its name."""
    return joined(
        [named for suffix, each in numbered(done) for named in _texts(each, suffix, stage)]
    )


def _texts(compiled: Compiled, suffix: str, stage: str) -> Iterator[tuple[str, str]]:
    """A stage of one function, which is one text for all its kernels until they are printed."""
    if stage in IR_STAGES:
        yield f"{compiled.name}{suffix}", _ir_text(compiled, stage)
        return
    for name in compiled.program.kernels:
        yield f"{name}{suffix}", _kernel_text(compiled, name, stage)


def _ir_text(compiled: Compiled, stage: str) -> str:
    if stage == "tile":
        return compiled.tile
    assert compiled.program.module is not None
    return print_module(compiled.program.module)


def _kernel_text(compiled: Compiled, name: str, stage: str) -> str:
    kernel = compiled.program.kernels[name]
    settings = compiled.settings
    if stage == "cuda":
        return kernel.source
    if stage == "ptx":
        return compile_source(kernel.source, settings.arch, settings.options).ptx
    try:
        return disassembled(kernel.cubin)
    except NoDisassembler as error:
        raise UsageError(f"--stage sass: {error}") from None


def write_files(directory: Path, done: Sequence[Compiled]) -> None:
    """Every stage that is text, the cubins, and what a launch has to know."""
    with writing(directory):
        for suffix, compiled in numbered(done):
            texts = {stage: _ir_text(compiled, stage) for stage in IR_STAGES}
            write_ir(directory, f"{compiled.name}{suffix}", texts)
            for name, kernel in compiled.program.kernels.items():
                path = directory / f"{name}{suffix}.cu"
                write_whole(path, kernel.source)
                write_whole(path.with_suffix(".ptx"), _kernel_text(compiled, name, "ptx"))
                write_whole(path.with_suffix(".cubin"), kernel.cubin)
                write_whole(path.with_suffix(".json"), compiled.described.text(name))


def json_text(done: Sequence[Compiled]) -> str:
    """What a launch has to know of every kernel."""
    return as_json(each.described for each in done)


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        times = milliseconds(compiled.trace_seconds, compiled.pass_seconds, compiled.nvrtc_seconds)
        for name, kernel in compiled.program.kernels.items():
            metadata = kernel.metadata
            found.append(
                (
                    name,
                    compiled.settings.arch,
                    str(metadata.registers),
                    f"{metadata.spill_bytes} B",
                    f"{metadata.shared} B",
                    str(metadata.threads),
                    f"{len(kernel.cubin)} B",
                    *times,
                )
            )
    return found
