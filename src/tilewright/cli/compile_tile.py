"""``tilewright compile`` for kernels on tiles: tile level, thread level, CUDA C++, machine code.

A Python file is run as a script; every `T` kernel it calls, and every `tl` kernel it launches,
raised to tiles, is compiled for the arguments it was called with, and not run. If it calls none,
`T` kernels that it compiles for sizes are taken. IR text with `tile` kernels is compiled as it
stands. Nothing is taken from the cache on disk, so the times are those of a first compilation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import UsageError, require_file, text_of
from tilewright.cli.gpu_programs import (
    IR_STAGES,
    Described,
    TimedPipeline,
    as_json,
    compiled_calls,
    joined,
    milliseconds,
    numbered,
    write_ir,
    writing,
)
from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.tile.targets import default_arch
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module, pipeline_options
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.triton.sass import NoDisassembler, disassembled

if TYPE_CHECKING:
    from tilewright.runtime.tile.jit import TileJIT
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_COLUMNS = (
    *("kernel", "target", "registers", "spilled", "shared", "threads", "cubin"),
    *("trace", "passes", "nvrtc"),
)


@dataclass(frozen=True)
class Request:
    """What the command line requests."""

    file: str
    kernel: str | None
    target: str
    script_arguments: Sequence[str] = ()

    @property
    def stem(self) -> str:
        """The name of what a file with IR text holds."""
        return Path("<stdin>" if self.file == "-" else self.file).stem


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


def compile_file(request: Request, program: str) -> list[Compiled]:
    """Compile what a file holds or calls; `CompileError` describes what is wrong with a kernel."""
    if request.file.endswith(".py"):
        return _script(request, program)
    return [_text(request)]


# -- where kernels come from -----------------------------------------------------------------------


def read_module(request: Request) -> tuple[ModuleOp, DiagnosticEngine]:
    """The module of a file with IR text, which holds a tile kernel."""
    name = "<stdin>" if request.file == "-" else request.file
    text = text_of(request.file)
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine, keep_names=True)
    if source is not None:
        verify(source.module, engine)
    engine.raise_if_errors()
    assert source is not None
    if not any(isinstance(op, KernelOp) for op in walk(source.module)):
        raise UsageError(
            f"{name} has no tile.kernel: the target {request.target} compiles T kernels only"
        )
    return source.module, engine


def _text(request: Request) -> Compiled:
    module, engine = read_module(request)
    arch = request.target.partition(":")[2] or default_arch(module)
    return _compiled(request.stem, module, Settings(arch), 0.0, engine)


def _script(request: Request, program: str) -> list[Compiled]:
    def compile(name: str, module: ModuleOp, settings: Settings, seconds: float) -> Compiled:
        return _compiled(name, module, settings, seconds, DiagnosticEngine())

    return compiled_calls(lambda record: run_script(request, program, record), Settings, compile)


def run_script(
    request: Request, program: str, record: Callable[[CompiledTileKernel, float], None]
) -> None:
    """Run a script and record each kernel it calls, with the seconds that tracing took.

    Raises:
        UsageError: if it called no kernel, or not the requested one.
    """
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.compile_only import raising_for
    from tilewright.runtime.tile.compile_only import compiling_for

    require_file(request.file)
    called: set[str] = set()
    recorded: set[str] = set()

    def is_requested(name: str) -> bool:
        called.add(name)
        return request.kernel in (None, name)

    def notice(kernel: CompiledTileKernel, seconds: float) -> None:
        if is_requested(kernel.name):
            recorded.add(kernel.name)
            record(kernel, seconds)

    with (
        compiling_for(request.target, notice),
        raising_for(request.target, is_requested, notice),
    ):
        run_quietly(
            request.file,
            request.script_arguments,
            program=program,
            done="compiled",
            found=lambda: bool(called),
        )
        if not called:
            for kernel in _made():
                kernel.launch(())  # recorded, as a call is
    if recorded:
        return
    if request.kernel and called:
        names = ", ".join(sorted(called))
        raise UsageError(f"{request.file} called no kernel '{request.kernel}'; it called {names}")
    raise UsageError(
        f"{request.file} called no T kernel and launched no tl kernel, so nothing was compiled"
        f"{_suggestion()}"
    )


def _made() -> list[CompiledTileKernel]:
    """What the script has compiled itself, for sizes that it gave."""
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    functions = [kernel for each in _functions().values() for kernel in each.cache.values()]
    others = [each for each in _names().values() if isinstance(each, CompiledTileKernel)]
    return [*functions, *others]


def _suggestion() -> str:
    """How kernels that the script only defines get their sizes."""
    functions = _functions()
    shown = [f"{name}{each.signature}" for name, each in functions.items()]
    if not shown:
        other = _pointer_kernels()
        return f": it defines {other} and never launches it: add a launch" if other else ""
    first = next(iter(functions))
    rest = "calls none of them" if len(shown) > 1 else "never calls it"
    return (
        f": it defines {', '.join(shown)} and {rest}: add a call, {first}(...) or "
        f"{first}.compile(...), which sets the sizes"
    )


def _functions() -> dict[str, TileJIT]:
    from tilewright.runtime.tile.jit import TileJIT

    return {name: each for name, each in _names().items() if isinstance(each, TileJIT)}


def _pointer_kernels() -> str:
    """The first `tl` or `tlx` kernel of the script; empty if there is none."""
    from tilewright.runtime.pointer.jit import JITFunction

    return next((name for name, each in _names().items() if isinstance(each, JITFunction)), "")


def _names() -> dict[str, object]:
    """The names of the script, which has become ``__main__``."""
    return dict(vars(sys.modules["__main__"]))


def _compiled(
    name: str, module: ModuleOp, settings: Settings, trace: float, engine: DiagnosticEngine
) -> Compiled:
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
    return Compiled(name, tile, program, settings, engine, trace, passes, rest)


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
                path.write_text(kernel.source, encoding="utf-8")
                path.with_suffix(".ptx").write_text(_kernel_text(compiled, name, "ptx"))
                path.with_suffix(".cubin").write_bytes(kernel.cubin)
                path.with_suffix(".json").write_text(compiled.described.text(name))


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
