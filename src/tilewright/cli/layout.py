"""``tilewright layout``: which thread holds what, how shared memory is swizzled, as a picture.

A Python file is run as a script: the `T` kernels it calls are traced with the arguments they get,
the `tl` kernels it launches are raised to tiles, and neither are run. They go through the passes
for a GPU up to `infer-layouts`; what that decided is drawn. IR text with `tile` kernels goes the
same way. No GPU is needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import (
    DONE,
    NO_RESULT,
    WRONG_KERNEL,
    UsageError,
    ended,
    parse,
    positive,
    show_diagnostics,
)
from tilewright.cli.commands import LAYOUT
from tilewright.cli.inputs import (
    IrText,
    Level,
    NoTiles,
    launched,
    on_tiles,
    read_ir,
    text_on_tiles,
)
from tilewright.cli.outputs import printable, write_output
from tilewright.cli.support import NO_LAYOUTS
from tilewright.cli.targets import GPUS, HIP, kind_of, tile_target
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.report import layout_html, layout_svg, layout_text
from tilewright.report.layout_document import KernelLayouts, Limits, layouts_of, selected
from tilewright.runtime.tile.targets import arch_of, chip_of
from tilewright.targets.cuda.compile import pipeline_options
from tilewright.targets.hip.compile import pipeline_options as hip_options

_EVERYTHING = 1 << 30

_Pipeline: TypeAlias = GpuPipeline | AmdPipeline


def _json(kernels: Sequence[KernelLayouts]) -> str:
    return json.dumps([asdict(each) for each in kernels], indent=1, default=str) + "\n"


Renderer = Callable[[Sequence[KernelLayouts]], str]
_FORMATS: dict[str, tuple[Renderer, Limits]] = {
    "text": (layout_text.render, Limits(16, 12)),
    "svg": (layout_svg.render, Limits(32, 32)),
    "html": (layout_html.render, Limits(32, 32)),
    "json": (_json, Limits(32, 32)),
}


class _Request:
    """What a command line requests."""

    def __init__(self, arguments: Sequence[str]) -> None:
        line = self.line = parse(LAYOUT, arguments)
        self.target = tile_target(line, GPUS, what=NO_LAYOUTS.printed)
        positive(line, ("line", "rows", "columns"))
        if {"svg", "html"} <= line.switches:
            raise UsageError("--svg and --html are mutually exclusive")

    @property
    def format(self) -> str:
        line = self.line
        for name in ("svg", "html", "json"):
            if name in line.switches or line.output.endswith(f".{name}"):
                return name
        return "text"

    @property
    def limits(self) -> Limits:
        usual = _FORMATS[self.format][1]
        if "full" in self.line.switches:
            usual = Limits(_EVERYTHING, _EVERYTHING)
        rows, columns = self.line.values.get("rows"), self.line.values.get("columns")
        return Limits(int(rows or usual.rows), int(columns or usual.columns))


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""

    def layout() -> int:
        request = _Request(arguments)
        kernels = _of_script(request, program) if request.line.is_script else _of_text(request)
        return _draw(request, kernels, program)

    return ended(LAYOUT, arguments, program, layout)


def _draw(request: _Request, kernels: Sequence[_Traced | NoTiles], program: str) -> int:
    line, engine = request.line, DiagnosticEngine()
    layouts: list[KernelLayouts] = []
    for each in kernels:
        if not isinstance(each, NoTiles):
            layouts += _layouts(each, request, engine)
    if engine.has_errors:
        show_diagnostics(engine.diagnostics, engine)
        return WRONG_KERNEL
    if layouts:
        index = line.values.get("line")
        try:
            selection = selected(layouts, line.values.get("buffer"), int(index) if index else None)
        except LookupError as error:
            raise UsageError(error.args[0]) from None
        write_output(line, printable(_FORMATS[request.format][0](selection)))
    if "remarks" in line.switches:
        sys.stdout.flush()
        show_diagnostics(engine.diagnostics, engine)
    refused = [each for each in kernels if isinstance(each, NoTiles)]
    for each in refused:
        show_diagnostics(each.reasons if "remarks" in line.switches else (), DiagnosticEngine())
        sys.stderr.write(
            f"{program}: no layouts of {each.name}, which are those of kernels on tiles: {each}\n"
        )
    return DONE if layouts and not refused else NO_RESULT


# -- kernels -------------------------------------------------------------------------------------


class _Traced:
    """A kernel on tiles, and how its user wants it compiled."""

    def __init__(self, module: ModuleOp, target: str, pipeline: _Pipeline) -> None:
        self.module, self.target, self.pipeline = module, target, pipeline


def _of_text(request: _Request) -> list[_Traced | NoTiles]:
    ir = read_ir(request.line)
    if ir.level is Level.THREADS or not ir.kernels:
        raise UsageError(_without_kernels(ir))
    module = text_on_tiles(ir)
    if isinstance(module, NoTiles):
        return [module]
    target = _complete(request.target, module)
    pipeline = AmdPipeline if kind_of(target) == HIP else GpuPipeline
    return [_Traced(module, target, pipeline(target=target))]


def _without_kernels(ir: IrText) -> str:
    if not ir.kernels:
        return f"{ir.name} has no kernel"
    return f"{ir.name} has kernels of threads, whose layouts were lowered: pass the text before"


def _of_script(request: _Request, program: str) -> list[_Traced | NoTiles]:
    """What the script calls, each kernel once for every set of sizes and settings."""
    found: dict[object, _Traced | NoTiles] = {}
    for each in launched(request.line, program, done="traced", target=request.target):
        kernel = on_tiles(each, request.target)
        if isinstance(kernel, NoTiles):
            found.setdefault(kernel.name, kernel)
            continue
        module = kernel.prim_func.module
        target = _complete(request.target, module)
        arch = target.partition(":")[2]
        if kind_of(target) == HIP:
            settings = kernel.hip_settings_for(arch)
            pipeline: _Pipeline = AmdPipeline(**hip_options(settings))
        else:
            settings = kernel.settings_for(arch)
            pipeline = GpuPipeline(**pipeline_options(settings))
        key = (print_module(module), settings)
        found.setdefault(key, _Traced(module.clone(), target, pipeline))
    return list(found.values())


def _complete(target: str, module: ModuleOp) -> str:
    """A target with its architecture."""
    if kind_of(target) == HIP:
        return f"{HIP}:{chip_of(target)}"
    return f"{kind_of(target)}:{arch_of(target, module)}"


def _layouts(traced: _Traced, request: _Request, engine: DiagnosticEngine) -> list[KernelLayouts]:
    """The module's kernels after the passes that decide layouts; none if something is wrong."""
    for each in traced.pipeline.passes():
        each.run(traced.module, engine)
        if engine.has_errors:
            return []
        if isinstance(each, InferLayouts):
            break
    kernels = [op for op in walk(traced.module) if isinstance(op, KernelOp)]
    return [layouts_of(kernel, traced.target, request.limits) for kernel in kernels]
