"""``tilewright compile`` for kernels on tiles: tile level, thread level, CUDA C++, machine code.

A Python file is run as a script; every `T` kernel it calls, and every `tl` kernel it launches,
raised to tiles, is compiled for the arguments it was called with, and not run. If it calls none,
`T` kernels that it compiles for sizes are taken. IR text with `tile` kernels is compiled as it
stands. Nothing is taken from the cache on disk, so the times are those of a first compilation.
Without NVRTC there are the stages before machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

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
from tilewright.targets.cuda.compile import compile_module, lower_module, pipeline_options
from tilewright.targets.cuda.nvrtc import compile_source, is_installed
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.cxx.kernel import Lowered
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.triton.sass import NoDisassembler, disassembled

_UNCOMPILED = (*IR_STAGES, "cuda")
"""Stages that NVRTC is not needed for."""
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
    settings: Settings
    engine: DiagnosticEngine
    trace_seconds: float
    pass_seconds: float
    nvrtc_seconds: float = 0.0
    program: Program | None = None
    lowered: Lowered | None = None
    """Without machine code, if NVRTC is not installed."""

    @property
    def module(self) -> ModuleOp:
        """The IR that was printed."""
        if self.lowered is not None:
            return self.lowered.module
        assert self.program is not None and self.program.module is not None
        return self.program.module

    @property
    def sources(self) -> dict[str, str]:
        """The text of each kernel."""
        if self.program is not None:
            return {name: each.source for name, each in self.program.kernels.items()}
        assert self.lowered is not None
        return {each.name: each.text for each in self.lowered.sources}

    @property
    def described(self) -> Described:
        assert self.program is not None
        return Described(f"cuda:{self.settings.arch}", self.program)


@dataclass(frozen=True)
class _TimedPipeline(TimedPipeline, GpuPipeline):
    """The passes, and the seconds they took."""


def compile_file(
    line: CommandLine, target: str, program: str, stage: str | None = None
) -> tuple[list[Compiled], Sources]:
    """Compile what a file holds or calls; `CompileError` describes what is wrong with a kernel.

    Raises:
        NvrtcMissing: if `stage` needs machine code.
    """
    sources = sources_of(line, target, program, Settings)
    return [_compiled(each, stage) for each in working_on(sources.found, "compiling")], sources


def _compiled(source: Source, stage: str | None) -> Compiled:
    name, module, settings, engine = source.name, source.module, source.settings, source.engine
    tile = print_module(module)
    pipeline = _TimedPipeline(**pipeline_options(settings))
    start = perf_counter()
    if stage in _UNCOMPILED and not is_installed():
        lowered = lower_module(module, pipeline, engine)
        for each in lowered.diagnostics:
            engine.emit(each)
        passes = sum(pipeline.seconds)
        return Compiled(name, tile, settings, engine, source.seconds, passes, lowered=lowered)
    try:
        program = compile_module(
            module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
        )
    except CudaCompilerError as error:
        raise UsageError(str(error).rstrip()) from None
    passes = sum(pipeline.seconds)
    rest = perf_counter() - start - passes
    return Compiled(name, tile, settings, engine, source.seconds, passes, rest, program)


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
    for name in compiled.sources:
        yield f"{name}{suffix}", _kernel_text(compiled, name, stage)


def _ir_text(compiled: Compiled, stage: str) -> str:
    return compiled.tile if stage == "tile" else print_module(compiled.module)


def _kernel_text(compiled: Compiled, name: str, stage: str) -> str:
    if stage == "cuda":
        return compiled.sources[name]
    assert compiled.program is not None
    kernel, settings = compiled.program.kernels[name], compiled.settings
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
            for name, source in compiled.sources.items():
                write_whole(directory / f"{name}{suffix}.cu", source)
            if compiled.program is None:
                continue
            for name, kernel in compiled.program.kernels.items():
                path = directory / f"{name}{suffix}.cu"
                write_whole(path.with_suffix(".ptx"), _kernel_text(compiled, name, "ptx"))
                write_whole(path.with_suffix(".cubin"), kernel.cubin)
                write_whole(path.with_suffix(".json"), compiled.described.text(name))


def json_text(done: Sequence[Compiled]) -> str:
    """What a launch has to know of every kernel."""
    return as_json(each.described for each in done)


def is_source_only(done: Sequence[Compiled]) -> bool:
    """Whether something was not compiled, so that the form of its source was not chosen."""
    return any(each.program is None for each in done)


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        assert compiled.program is not None
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
