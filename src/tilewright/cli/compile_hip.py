"""``tilewright compile`` for AMD GPUs: tile level, thread level, HIP C++, assembly, code object.

A Python file is run as a script; every `T` kernel it calls is compiled for the arguments it was
called with, and not run. IR text with `tile` kernels is compiled as it stands. Stages up to the
source need no compiler of AMD code. Nothing is taken from the cache on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.cli.gpu_programs import (
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
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.errors import HipCompilerError
from tilewright.targets.hip.artefact import HipProgram
from tilewright.targets.hip.compile import (
    Lowered,
    compile_module,
    lower_module,
    pipeline_options,
)
from tilewright.targets.hip.settings import HipSettings

STAGES = ("tile", "thread", "hip", "isa")
_UNCOMPILED = STAGES[:3]
"""Stages that clang is not needed for."""
_COLUMNS = (
    *("kernel", "target", "VGPRs", "AGPRs", "SGPRs", "spilled", "scratch", "LDS", "threads"),
    *("waves/SIMD", "hsaco", "trace", "passes", "clang"),
)


@dataclass(frozen=True)
class Compiled:
    """One function, compiled as far as was requested, and how long that took."""

    name: str
    tile: str
    """The IR as it was traced."""
    settings: HipSettings
    engine: DiagnosticEngine
    trace_seconds: float
    pass_seconds: float
    clang_seconds: float = 0.0
    program: HipProgram | None = None
    lowered: Lowered | None = None
    """Without code objects, if they were not requested."""

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
        return Described(f"hip:{self.settings.arch}", self.program)


@dataclass(frozen=True)
class _TimedPipeline(TimedPipeline, AmdPipeline):
    """The passes, and the seconds they took."""


def compile_file(
    line: CommandLine, target: str, program: str, stage: str | None = None
) -> tuple[list[Compiled], Sources]:
    """Compile what a file holds or calls, up to `stage`.

    `CompileError` describes what is wrong with a kernel.
    """
    sources = sources_of(line, target, program, HipSettings)
    found = working_on(sources.found, "compiling")
    return [_compiled(each, stage) for each in found], sources


def _compiled(source: Source, stage: str | None) -> Compiled:
    name, module, settings = source.name, source.module, source.settings
    engine, trace = source.engine, source.seconds
    tile = print_module(module)
    pipeline = _TimedPipeline(**pipeline_options(settings))
    start = perf_counter()
    if stage in _UNCOMPILED:
        lowered = lower_module(module, pipeline, engine)
        for each in lowered.diagnostics:
            engine.emit(each)
        passes = sum(pipeline.seconds)
        return Compiled(name, tile, settings, engine, trace, passes, lowered=lowered)
    try:
        program = compile_module(
            module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
        )
    except HipCompilerError as error:
        raise UsageError(str(error).rstrip()) from None
    passes = sum(pipeline.seconds)
    rest = perf_counter() - start - passes
    return Compiled(name, tile, settings, engine, trace, passes, rest, program)


# -- what is shown and written ---------------------------------------------------------------------


def stage_text(done: Sequence[Compiled], stage: str) -> str:
    """One stage of everything; where that is several texts, each begins with its name."""
    return joined(
        [named for suffix, each in numbered(done) for named in _texts(each, suffix, stage)]
    )


def _texts(compiled: Compiled, suffix: str, stage: str) -> Iterator[tuple[str, str]]:
    if stage == "tile":
        yield f"{compiled.name}{suffix}", compiled.tile
    elif stage == "thread":
        yield f"{compiled.name}{suffix}", print_module(compiled.module)
    elif stage == "hip":
        for name, text in compiled.sources.items():
            yield f"{name}{suffix}", text
    else:
        assert compiled.program is not None
        for name, kernel in compiled.program.kernels.items():
            if not kernel.isa:
                raise UsageError(
                    "--stage isa: hiprtc prints no assembly: set TILEWRIGHT_HIP_COMPILER=clang"
                )
            yield f"{name}{suffix}", kernel.isa


def write_files(directory: Path, done: Sequence[Compiled]) -> None:
    """Every stage, the code objects, and what a launch has to know."""
    with writing(directory):
        for suffix, compiled in numbered(done):
            texts = {"tile": compiled.tile, "thread": print_module(compiled.module)}
            write_ir(directory, f"{compiled.name}{suffix}", texts)
            for name, source in compiled.sources.items():
                path = directory / f"{name}{suffix}.hip"
                write_whole(path, source)
            if compiled.program is None:
                continue
            for name, kernel in compiled.program.kernels.items():
                path = directory / f"{name}{suffix}.hsaco"
                write_whole(path, kernel.code_object)
                if kernel.isa:
                    write_whole(path.with_suffix(".s"), kernel.isa)
                write_whole(path.with_suffix(".json"), compiled.described.text(name))


def json_text(done: Sequence[Compiled]) -> str:
    """What a launch has to know of every kernel."""
    return as_json(each.described for each in done)


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        times = milliseconds(compiled.trace_seconds, compiled.pass_seconds, compiled.clang_seconds)
        assert compiled.program is not None
        for name, kernel in compiled.program.kernels.items():
            metadata = kernel.metadata
            found.append(
                (
                    name,
                    metadata.chip,
                    str(metadata.vgprs),
                    str(metadata.agprs),
                    str(metadata.sgprs),
                    f"{metadata.spill_bytes} B",
                    f"{metadata.scratch_bytes} B",
                    f"{metadata.shared} B",
                    str(metadata.threads),
                    str(metadata.occupancy),
                    f"{len(kernel.code_object)} B",
                    *times,
                )
            )
    return found
