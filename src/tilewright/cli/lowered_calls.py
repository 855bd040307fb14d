"""The kernels that a script calls, lowered to the threads of a GPU and not compiled further.

`T` kernels as they are, `tl` kernels raised to tiles. No compiler of the GPU is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli import compile_hip
from tilewright.cli.compile_tile import Request, run_script
from tilewright.cli.gpu_programs import compiled_calls
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import pipeline_options
from tilewright.targets.cuda.settings import Settings


@dataclass(frozen=True)
class _Lowered:
    name: str
    module: ModuleOp


def lowered_calls(request: Request, program: str) -> list[ModuleOp]:
    """One module for each function that a script calls, by its IR and settings.

    Raises:
        CompileError: if something is wrong with a kernel.
    """
    if request.target.partition(":")[0] == "hip":
        return [each.module for each in compile_hip.compile_file(request, program, "thread")]
    calls = compiled_calls(lambda record: run_script(request, program, record), Settings, _lowered)
    return [each.module for each in calls]


def _lowered(name: str, module: ModuleOp, settings: Settings, _: float) -> _Lowered:
    engine = DiagnosticEngine()
    GpuPipeline(**pipeline_options(settings)).run(module, engine)
    engine.raise_if_errors()
    return _Lowered(name, module)
