"""``tilewright layout``: which thread holds what, how shared memory is swizzled, as a picture.

A Python file is run as a script: the `T` kernels it calls are traced with the arguments they get,
the `tl` kernels it launches are raised to tiles, and neither are run. They go through the passes
for a GPU up to `infer-layouts`; what that decided is drawn. IR text with `tile` kernels goes the
same way. No GPU is needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import (
    CommandLine,
    Flags,
    UsageError,
    positive,
    require_file,
    show_diagnostics,
    text_of,
)
from tilewright.cli.outputs import write_whole
from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.layouts.hardware.amd_chips import DEFAULT_CHIP
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.report import layout_html, layout_svg, layout_text
from tilewright.report.layout_document import KernelLayouts, Limits, layouts_of, selected
from tilewright.runtime.tile.targets import checked_target
from tilewright.targets.cuda.compile import pipeline_options
from tilewright.targets.cuda.settings import DEFAULT_ARCH
from tilewright.targets.hip.compile import pipeline_options as hip_options

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_USAGE = """\
usage: {program} [flags] FILE.py[:KERNEL] [arguments of the script]
       {program} [flags] FILE.mlir[:KERNEL]       ('-' is standard input)

Draws the layouts of `T` kernels, and of `tl` kernels raised to tiles: for fragments the thread and
register of each element, for shared memory the bytes and banks under a swizzle, for parallel loops
the thread of each iteration. A Python file is run like a script; its kernels are traced for their
call arguments, and not run; its output is not shown. No GPU is needed.

  --buffer NAME         only this buffer
  --line N              only the buffer, loop or tile operation in this line
  --target TARGET       cuda:sm_90a (the default), cuda:sm_80, hip:gfx942, ...
  --svg, --html         SVG, or a self-contained HTML page, instead of text
  -o FILE               write there instead of standard output; .svg and .html set the format
  --rows N, --columns N rows and columns of each tile (text: 16 and 12; SVG, HTML: 32 and 32)
  --full                draw the whole tile
  --remarks             print remarks, for example why wgmma is not used

examples:
  {program} examples/tile/gemm_relu.py --buffer C_local
  {program} examples/tile/attention.py:main -o layouts.html

Exit code: 0, or 1 if the command line, the file or a layout is wrong.
"""

_FLAGS = Flags(
    with_value=("buffer", "line", "target", "o", "rows", "columns"),
    switches=("svg", "html", "full", "remarks"),
)
_EVERYTHING = 1 << 30
_DEFAULT_TARGET = f"cuda:{DEFAULT_ARCH}"
_KINDS = ("cuda", "hip")

_Pipeline: TypeAlias = GpuPipeline | AmdPipeline
_Traced = tuple[ModuleOp, _Pipeline]
"""A function, and how its user wants it compiled."""

Renderer = Callable[[Sequence[KernelLayouts]], str]
_FORMATS: dict[str, tuple[Renderer, Limits]] = {
    "text": (layout_text.render, Limits(16, 12)),
    "svg": (layout_svg.render, Limits(32, 32)),
    "html": (layout_html.render, Limits(32, 32)),
}


class _Request:
    """What a command line requests."""

    def __init__(self, line: CommandLine) -> None:
        self.line = line
        self.values, self.switches = line.values, line.switches

    @property
    def target(self) -> str:
        return self.values.get("target", _DEFAULT_TARGET)

    @property
    def is_hip(self) -> bool:
        return self.target.partition(":")[0] == "hip"

    @property
    def format(self) -> str:
        for name in ("svg", "html"):
            if name in self.switches or self.values.get("o", "").endswith(f".{name}"):
                return name
        return "text"

    @property
    def limits(self) -> Limits:
        usual = _FORMATS[self.format][1]
        if "full" in self.switches:
            usual = Limits(_EVERYTHING, _EVERYTHING)
        rows, columns = self.values.get("rows"), self.values.get("columns")
        return Limits(int(rows or usual.rows), int(columns or usual.columns))


# -- the command line ----------------------------------------------------------------------------


def _parse(arguments: Sequence[str]) -> _Request:
    request = _Request(_FLAGS.parse(arguments))
    positive(request.line, ("line", "rows", "columns"))
    if {"svg", "html"} <= request.switches:
        raise UsageError("--svg and --html are mutually exclusive")
    if request.target.partition(":")[0] not in _KINDS:
        raise UsageError(
            f"--target: '{request.target}' has no layouts; pass one like cuda:sm_90a or hip:gfx942"
        )
    try:
        checked_target(request.target)
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None
    return request


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help", "-help") for argument in arguments):
        sys.stdout.write(_USAGE.format(program=program))
        return 0
    engine = DiagnosticEngine()
    try:
        request = _parse(arguments)
        line = request.line
        traced = _of_script(request, program) if line.is_script else _of_text(request, engine)
        layouts = [each for one in traced for each in _layouts(*one, request, engine)]
        if engine.has_errors:
            show_diagnostics(engine.diagnostics, engine)
            return 1
        line_index = line.values.get("line")
        selection = selected(
            layouts, line.values.get("buffer"), int(line_index) if line_index else None
        )
        _write(line, _printable(_FORMATS[request.format][0](selection)))
    except (UsageError, LookupError) as error:
        sys.stderr.write(f"{program}: {error.args[0]}\n")
        return 1
    except CompileError as error:
        show_diagnostics(error.diagnostics, DiagnosticEngine())
        return 1
    if "remarks" in line.switches:
        sys.stdout.flush()
        show_diagnostics(engine.diagnostics, engine)
    return 0


# -- kernels -------------------------------------------------------------------------------------


def _of_text(request: _Request, engine: DiagnosticEngine) -> list[_Traced]:
    line, name = request.line, request.line.name
    source = parse_source(make_context(), text_of(line.file), name, engine, keep_names=True)
    if source is None or not verify(source.module, engine):
        return []
    if not any(isinstance(op, KernelOp) for op in walk(source.module)):
        raise UsageError(f"{name} has no tile.kernel: only T kernels have layouts")
    if request.is_hip:
        return [(source.module, AmdPipeline(target=request.target))]
    return [(source.module, GpuPipeline(target=request.target))]


def _of_script(request: _Request, program: str) -> list[_Traced]:
    """What the script calls, each kernel once for every set of sizes and settings."""
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.compile_only import raising_for
    from tilewright.runtime.tile.trace_only import tracing_only

    line = request.line
    require_file(line.file)
    found: dict[tuple[str, object], _Traced] = {}
    called: set[str] = set()

    def is_requested(name: str) -> bool:
        called.add(name)
        return line.kernel in (None, name)

    def record(kernel: CompiledTileKernel, _: float = 0.0) -> None:
        if is_requested(kernel.name):
            module = kernel.prim_func.module
            settings, pipeline = _chosen(kernel, request)
            found.setdefault((print_module(module), settings), (module.clone(), pipeline))

    target = request.target if ":" in request.target else f"{request.target}:{_arch(request)}"
    with tracing_only(record), raising_for(target, is_requested, record):
        run_quietly(
            line.file,
            line.script_arguments,
            program=program,
            done="traced",
            found=lambda: bool(called),
        )
    if found:
        return list(found.values())
    if line.kernel and called:
        names = ", ".join(sorted(called))
        raise UsageError(f"{line.file} called no kernel '{line.kernel}'; it called {names}")
    raise UsageError(
        f"{line.file} called no T kernel and launched no tl kernel, so there is no layout to draw"
    )


def _arch(request: _Request) -> str:
    return request.target.partition(":")[2] or (DEFAULT_CHIP if request.is_hip else DEFAULT_ARCH)


def _chosen(kernel: CompiledTileKernel, request: _Request) -> tuple[object, _Pipeline]:
    """How the user wants a kernel compiled for the target."""
    if request.is_hip:
        amd = kernel.hip_settings_for(_arch(request))
        return amd, AmdPipeline(**hip_options(amd))
    settings = kernel.settings_for(_arch(request))
    return settings, GpuPipeline(**pipeline_options(settings))


def _layouts(
    module: ModuleOp, pipeline: _Pipeline, request: _Request, engine: DiagnosticEngine
) -> list[KernelLayouts]:
    """The module's kernels after the passes that decide layouts; none if something is wrong."""
    line = request.line
    for each in pipeline.passes():
        each.run(module, engine)
        if engine.has_errors:
            return []
        if isinstance(each, InferLayouts):
            break
    kernels = [op for op in walk(module) if isinstance(op, KernelOp)]
    drawn = [layouts_of(kernel, request.target, request.limits) for kernel in kernels]
    return [each for each in drawn if line.is_script or line.kernel in (None, each.kernel)]


# -- output --------------------------------------------------------------------------------------

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def _printable(rendered: str) -> str:
    """`picture` without what names may contain but XML, UTF-8 and terminals cannot."""
    return _UNPRINTABLE.sub("\ufffd", rendered)


def _write(line: CommandLine, rendered: str) -> None:
    output = line.values.get("o", "-")
    if output == "-":
        sys.stdout.write(rendered)
        sys.stdout.flush()
        return
    if line.file != "-" and Path(line.file).resolve() == Path(output).resolve():
        raise UsageError(f"the output would overwrite its input '{line.file}'")
    try:
        write_whole(output, rendered)
    except OSError as error:
        raise UsageError(f"cannot write '{output}': {error.strerror}") from None
