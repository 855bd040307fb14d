"""``tilewright compile`` for `T` kernels: tile level, thread level, CUDA C++, machine code.

A Python file is run as a script; every `T` kernel it calls is compiled for the arguments it was
called with, and not run. If it calls none, those that it compiles for sizes are taken. IR text with
`tile` kernels is compiled as it stands. Nothing is taken from the cache on disk, so the times are
those of a first compilation.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import UsageError, require_file, text_of
from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.opt import SPLIT_MARKER
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module, pipeline_options
from tilewright.targets.cuda.errors import CudaCompilerError
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.cuda.settings import DEFAULT_ARCH, Settings
from tilewright.targets.triton.sass import NoDisassembler, disassembled

if TYPE_CHECKING:
    from tilewright.runtime.tile.jit import TileJIT
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_COLUMNS = (
    *("kernel", "target", "registers", "spilled", "shared", "threads", "cubin"),
    *("trace", "passes", "nvrtc"),
)
_IR_STAGES = ("tile", "thread")


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


@dataclass(frozen=True)
class _TimedPipeline(GpuPipeline):
    """The passes, and the seconds they took."""

    seconds: list[float] = field(default_factory=list[float], compare=False)

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        start = perf_counter()
        super().run(module, engine)
        self.seconds.append(perf_counter() - start)


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
    arch = request.target.partition(":")[2] or DEFAULT_ARCH
    return _compiled(request.stem, module, Settings(arch), 0.0, engine)


def _script(request: Request, program: str) -> list[Compiled]:
    found: dict[tuple[str, Settings], Callable[[], Compiled]] = {}

    def record(kernel: CompiledTileKernel, seconds: float) -> None:
        module = kernel.prim_func.module.clone()
        gpu = kernel.gpu
        assert gpu is not None and isinstance(gpu.settings, Settings), "its target is cuda"
        settings = gpu.settings
        found.setdefault(
            (print_module(module), settings),
            lambda: _compiled(kernel.name, module, settings, seconds, DiagnosticEngine()),
        )

    run_script(request, program, record)
    return [compile() for compile in found.values()]


def run_script(
    request: Request, program: str, record: Callable[[CompiledTileKernel, float], None]
) -> None:
    """Run a script and record each kernel it calls, with the seconds that tracing took.

    Raises:
        UsageError: if it called no kernel, or not the requested one.
    """
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.tile.compile_only import compiling_for

    require_file(request.file)
    called: set[str] = set()
    recorded: set[str] = set()

    def notice(kernel: CompiledTileKernel, seconds: float) -> None:
        called.add(kernel.name)
        if request.kernel in (None, kernel.name):
            recorded.add(kernel.name)
            record(kernel, seconds)

    with compiling_for(request.target, notice):
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
        f"{request.file} called no T kernel, so nothing was compiled{_suggestion(request.target)}"
    )


def _made() -> list[CompiledTileKernel]:
    """What the script has compiled itself, for sizes that it gave."""
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    functions = [kernel for each in _functions().values() for kernel in each.cache.values()]
    others = [each for each in _names().values() if isinstance(each, CompiledTileKernel)]
    return [*functions, *others]


def _suggestion(target: str) -> str:
    """How kernels that the script only defines get their sizes."""
    functions = _functions()
    shown = [f"{name}{each.signature}" for name, each in functions.items()]
    if not shown:
        others = _pointer_kernels()
        arch = re.search(r"gfx\w+", target)
        triton = f"triton:{arch[0] if arch else 'sm_90'}"
        return f"; for its tl kernel {others} pass --target {triton}" if others else ""
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
    from tilewright.runtime.jit import JITFunction

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
    """One stage of everything; where that is several texts, each begins with its name.

    The lines between them are those at which ``tilewright opt --split-input-file`` splits IR.
    """
    texts = [named for suffix, each in _numbered(done) for named in _texts(each, suffix, stage)]
    if len(texts) == 1:
        return texts[0][1]
    return SPLIT_MARKER.join(f"// {name}\n{_ended(text)}" for name, text in texts)


def _texts(compiled: Compiled, suffix: str, stage: str) -> Iterator[tuple[str, str]]:
    """A stage of one function, which is one text for all its kernels until they are printed."""
    if stage in _IR_STAGES:
        yield f"{compiled.name}{suffix}", _ir_text(compiled, stage)
        return
    for name in compiled.program.kernels:
        yield f"{name}{suffix}", _kernel_text(compiled, name, stage)


def _numbered(done: Sequence[Compiled]) -> Iterator[tuple[str, Compiled]]:
    """The suffix of a function that was compiled for several kinds of arguments."""
    count: dict[str, int] = {}
    for compiled in done:
        occurrence = count[compiled.name] = count.get(compiled.name, 0) + 1
        yield "" if occurrence == 1 else f"-{occurrence}", compiled


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


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
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for suffix, compiled in _numbered(done):
            for stage in _IR_STAGES:
                path = directory / f"{compiled.name}{suffix}.{stage}.mlir"
                path.write_text(_ir_text(compiled, stage), encoding="utf-8")
            for name, kernel in compiled.program.kernels.items():
                path = directory / f"{name}{suffix}.cu"
                path.write_text(kernel.source, encoding="utf-8")
                path.with_suffix(".ptx").write_text(_kernel_text(compiled, name, "ptx"))
                path.with_suffix(".cubin").write_bytes(kernel.cubin)
                metadata = json.dumps(asdict(kernel.metadata), indent=2)
                path.with_suffix(".json").write_text(f"{metadata}\n")
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}") from None


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row a kernel, under a row of titles; times are those of its function."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for compiled in done:
        times = (compiled.trace_seconds, compiled.pass_seconds, compiled.nvrtc_seconds)
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
                    *(f"{seconds * 1000:.0f} ms" for seconds in times),
                )
            )
    return found
