"""The kernels that a script calls, lowered to the threads of a GPU and not compiled further.

`T` kernels as they are, `tl` and `tlx` kernels raised to tiles. No compiler of the GPU is needed.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli import compile_hip
from tilewright.cli.command_line import CommandLine
from tilewright.cli.gpu_programs import Sources, sources_of
from tilewright.cli.targets import HIP, kind_of
from tilewright.cli.working import working_on
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import pipeline_options
from tilewright.targets.cuda.settings import Settings


def lowered_calls(
    line: CommandLine, target: str, program: str
) -> tuple[list[tuple[str, ModuleOp]], Sources]:
    """Name and module of each function that a script calls, by its IR and settings.

    Raises:
        CompileError: if something is wrong with a kernel.
    """
    if kind_of(target) == HIP:
        found, sources = compile_hip.compile_file(line, target, program, "thread")
        return [(each.name, each.module) for each in found], sources
    sources = sources_of(line, target, program, Settings)
    for each in working_on(sources.found, "lowering"):
        GpuPipeline(**pipeline_options(each.settings)).run(each.module, each.engine)
        each.engine.raise_if_errors()
    return [(each.name, each.module) for each in sources.found], sources
