"""``tilewright compile`` for `T` kernels: tile level, thread level, CUDA C++, machine code.

A Python file is run as a script; every `T` kernel it calls is compiled for the arguments it was
called with, and not run. IR text with `tile` kernels is compiled as it stands. Nothing is taken
from the cache on disk, so the times are those of a first compilation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import UsageError, text_of
from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.settings import DEFAULT_ARCH, Settings
from tilewright.targets.triton.sass import NoDisassembler, disassembled

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_COLUMNS = (
    *("kernel", "chip", "registers", "spilled", "shared", "threads", "cubin"),
    *("trace", "passes", "nvrtc"),
)


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    file: str
    kernel: str | None
    target: str
    script_arguments: Sequence[str] = ()


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


@dataclass(frozen=True)
class _TimedPipeline(GpuPipeline):
    """The passes, and the seconds they took."""

    seconds: list[float] = field(default_factory=list[float])

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        start = perf_counter()
        super().run(module, engine)
        self.seconds.append(perf_counter() - start)


def compile_file(request: Request, program: str) -> list[Compiled]:
    """Compile what a file holds or calls; `CompileError` says what is wrong with a kernel."""
    if request.file.endswith(".py"):
        return _script(request, program)
    return [_text(request)]


# -- where kernels come from -----------------------------------------------------------------------


def _text(request: Request) -> Compiled:
    name = "<stdin>" if request.file == "-" else request.file
    text = text_of(request.file)
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine, keep_names=True)
    if source is not None:
        verify(source.module, engine)
    engine.raise_if_errors()
    assert source is not None
    if not any(isinstance(op, KernelOp) for op in walk(source.module)):
        raise UsageError(f"{name} has no tile.kernel: {request.target} is the target of T kernels")
    arch = request.target.partition(":")[2] or DEFAULT_ARCH
    return _compiled(Path(name).stem, source.module, Settings(arch), 0.0, engine)


def _script(request: Request, program: str) -> list[Compiled]:
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.tile.compile_only import compiling_for

    if not Path(request.file).is_file():
        raise UsageError(f"cannot read '{request.file}': no such file")
    found: dict[str, Callable[[], Compiled]] = {}
    called: set[str] = set()

    def tell(kernel: CompiledTileKernel, seconds: float) -> None:
        called.add(kernel.name)
        if request.kernel in (None, kernel.name):
            module = kernel.prim_func.module.clone()
            gpu = kernel.gpu
            assert gpu is not None, "the kernel was made for a GPU"
            found.setdefault(
                print_module(module),
                lambda: _compiled(kernel.name, module, gpu.settings, seconds, DiagnosticEngine()),
            )

    with compiling_for(request.target, tell):
        run_quietly(
            request.file,
            request.script_arguments,
            program=program,
            done="compiled",
            found=lambda: bool(called),
        )
    if found:
        return [compile() for compile in found.values()]
    names = ", ".join(sorted(called))
    raise UsageError(
        f"{request.file} called no kernel '{request.kernel}'; it called {names}"
        if request.kernel and called
        else f"{request.file} called no T kernel, so nothing was compiled"
    )


def _compiled(
    name: str, module: ModuleOp, settings: Settings, trace: float, engine: DiagnosticEngine
) -> Compiled:
    tile = print_module(module)
    pipeline = _TimedPipeline(
        target=f"cuda:{settings.arch}",
        wgmma=settings.wgmma,
        roles=settings.roles,
        index_bits=settings.index_bits,
        leave_out=settings.leave_out,
    )
    start = perf_counter()
    program = compile_module(
        module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
    )
    passes = sum(pipeline.seconds)
    rest = perf_counter() - start - passes
    return Compiled(name, tile, program, settings, engine, trace, passes, rest)


# -- what is shown and written ---------------------------------------------------------------------


def stage_text(compiled: Compiled, stage: str) -> str:
    """One stage of all kernels of a function."""
    if stage == "tile":
        return compiled.tile
    if stage == "thread":
        assert compiled.program.module is not None
        return print_module(compiled.program.module)
    return "\n".join(_kernel_text(compiled, name, stage) for name in compiled.program.kernels)


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


def write_files(folder: Path, done: Sequence[Compiled]) -> None:
    """Every stage that is text, the cubins, and what a launch has to know."""
    count: dict[str, int] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for compiled in done:
            number = count[compiled.name] = count.get(compiled.name, 0) + 1
            suffix = "" if number == 1 else f"-{number}"
            for stage in ("tile", "thread"):
                path = folder / f"{compiled.name}{suffix}.{stage}.mlir"
                path.write_text(stage_text(compiled, stage), encoding="utf-8")
            for name, kernel in compiled.program.kernels.items():
                path = folder / f"{name}{suffix}.cu"
                path.write_text(kernel.source, encoding="utf-8")
                path.with_suffix(".ptx").write_text(_kernel_text(compiled, name, "ptx"))
                path.with_suffix(".cubin").write_bytes(kernel.cubin)
                facts = json.dumps(asdict(kernel.facts), indent=2)
                path.with_suffix(".json").write_text(f"{facts}\n")
    except OSError as error:
        raise UsageError(f"cannot write to '{folder}': {error.strerror}") from None


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        times = (compiled.trace_seconds, compiled.pass_seconds, compiled.nvrtc_seconds)
        for name, kernel in compiled.program.kernels.items():
            facts = kernel.facts
            found.append(
                (
                    name,
                    compiled.settings.arch,
                    str(facts.registers),
                    f"{facts.spill_bytes} B",
                    f"{facts.shared} B",
                    str(facts.threads),
                    f"{len(kernel.cubin)} B",
                    *(f"{seconds * 1000:.0f} ms" for seconds in times),
                )
            )
    return found
