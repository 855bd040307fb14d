"""``tilewright compile`` for AMD GPUs: tile level, thread level, HIP C++, assembly, code object.

A Python file is run as a script; every `T` kernel it calls is compiled for the arguments it was
called with, and not run. IR text with `tile` kernels is compiled as it stands. Stages up to the
source need no compiler of AMD code. Nothing is taken from the cache on disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import UsageError
from tilewright.cli.compile_tile import Request, read_module, run_script
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.opt import SPLIT_MARKER
from tilewright.ir.text import print_module
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip.artefact import HipProgram
from tilewright.targets.hip.compile import (
    Lowered,
    compile_module,
    lower_module,
    pipeline_options,
)
from tilewright.targets.hip.errors import HipCompilerError, HipCompilerMissing
from tilewright.targets.hip.settings import HipSettings

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

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


@dataclass(frozen=True)
class _TimedPipeline(AmdPipeline):
    """The passes, and the seconds they took."""

    seconds: list[float] = field(default_factory=list[float], compare=False)

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        start = perf_counter()
        super().run(module, engine)
        self.seconds.append(perf_counter() - start)


def compile_file(request: Request, program: str, stage: str | None = None) -> list[Compiled]:
    """Compile what a file holds or calls, up to `stage`.

    `CompileError` describes what is wrong with a kernel.
    """
    from tilewright.runtime.tile.targets import checked_target, chip_of

    try:
        request = replace(request, target=f"hip:{chip_of(checked_target(request.target))}")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not request.file.endswith(".py"):
        module, engine = read_module(request)
        settings = HipSettings(request.target.partition(":")[2])
        return [_compiled(request.stem, module, settings, 0.0, engine, stage)]
    found: dict[tuple[str, HipSettings], Callable[[], Compiled]] = {}

    def record(kernel: CompiledTileKernel, seconds: float) -> None:
        module = kernel.prim_func.module.clone()
        gpu = kernel.gpu
        assert gpu is not None and isinstance(gpu.settings, HipSettings), "its target is hip"
        settings = gpu.settings
        found.setdefault(
            (print_module(module), settings),
            lambda: _compiled(kernel.name, module, settings, seconds, DiagnosticEngine(), stage),
        )

    run_script(request, program, record)
    return [compile() for compile in found.values()]


def _compiled(
    name: str,
    module: ModuleOp,
    settings: HipSettings,
    trace: float,
    engine: DiagnosticEngine,
    stage: str | None,
) -> Compiled:
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
    except (HipCompilerError, HipCompilerMissing) as error:
        raise UsageError(str(error).rstrip()) from None
    passes = sum(pipeline.seconds)
    rest = perf_counter() - start - passes
    return Compiled(name, tile, settings, engine, trace, passes, rest, program)


# -- what is shown and written ---------------------------------------------------------------------


def stage_text(done: Sequence[Compiled], stage: str) -> str:
    """One stage of everything; where that is several texts, each begins with its name."""
    texts = [named for suffix, each in _numbered(done) for named in _texts(each, suffix, stage)]
    if len(texts) == 1:
        return texts[0][1]
    return SPLIT_MARKER.join(f"// {name}\n{text.rstrip()}\n" for name, text in texts)


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


def _numbered(done: Sequence[Compiled]) -> Iterator[tuple[str, Compiled]]:
    """The suffix of a function that was compiled for several kinds of arguments."""
    count: dict[str, int] = {}
    for compiled in done:
        occurrence = count[compiled.name] = count.get(compiled.name, 0) + 1
        yield "" if occurrence == 1 else f"-{occurrence}", compiled


def write_files(directory: Path, done: Sequence[Compiled]) -> None:
    """Every stage, the code objects, and what a launch has to know."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for suffix, compiled in _numbered(done):
            path = directory / f"{compiled.name}{suffix}.tile.mlir"
            path.write_text(compiled.tile, encoding="utf-8")
            path = directory / f"{compiled.name}{suffix}.thread.mlir"
            path.write_text(print_module(compiled.module), encoding="utf-8")
            for name, source in compiled.sources.items():
                path = directory / f"{name}{suffix}.hip"
                path.write_text(source, encoding="utf-8")
            if compiled.program is None:
                continue
            for name, kernel in compiled.program.kernels.items():
                path = directory / f"{name}{suffix}.hsaco"
                path.write_bytes(kernel.code_object)
                if kernel.isa:
                    path.with_suffix(".s").write_text(kernel.isa, encoding="utf-8")
                metadata = json.dumps(asdict(kernel.metadata), indent=2)
                path.with_suffix(".json").write_text(f"{metadata}\n")
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}") from None


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        times = (compiled.trace_seconds, compiled.pass_seconds, compiled.clang_seconds)
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
                    *(f"{seconds * 1000:.0f} ms" for seconds in times),
                )
            )
    return found
