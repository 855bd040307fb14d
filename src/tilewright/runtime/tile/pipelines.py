"""The passes that make the code of a GPU's threads from a kernel, as its settings have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.targets.hip.settings import HipSettings

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.passes.amd.pipeline import AmdPipeline
    from tilewright.passes.gpu.pipeline import GpuPipeline
    from tilewright.runtime.tile.kernel import CompiledTileKernel


def forms_of(kernel: CompiledTileKernel, arch: str) -> Iterator[AmdPipeline | GpuPipeline]:
    """The pipelines for the GPU of a kernel, or for NVIDIA's `arch` where it has none.

    A kernel that exceeds the shared memory of a block with one is compiled with the next.
    """
    # A launch of a compiled kernel loads no pass.
    if kernel.gpu is not None and isinstance(kernel.gpu.settings, HipSettings):
        from tilewright.passes.amd.pipeline import AmdPipeline
        from tilewright.targets.hip.compile import forms
        from tilewright.targets.hip.compile import pipeline_options as hip_options

        yield from forms(AmdPipeline(**hip_options(kernel.gpu.settings)))
        return
    from tilewright.passes.gpu.pipeline import GpuPipeline
    from tilewright.targets.cuda.compile import pipeline_options

    settings = replace(kernel.settings_for(arch), arch=arch)
    yield GpuPipeline(**pipeline_options(settings))


def thread_module(kernel: CompiledTileKernel) -> ModuleOp:
    """A kernel of a GPU after all passes, in the form that it is compiled in.

    Raises `CompileError` with what is wrong with the form that was requested.
    """
    # A launch of a compiled kernel loads no pass.
    from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
    from tilewright.targets.hip.compile import exceeds_shared_memory

    assert kernel.gpu is not None
    requested: DiagnosticEngine | None = None
    for pipeline in forms_of(kernel, kernel.gpu.settings.arch):
        module, engine = kernel.prim_func.module.clone(), DiagnosticEngine()
        pipeline.run(module, engine)
        if not engine.has_errors:
            return module
        requested = requested or engine
        if not exceeds_shared_memory(engine.diagnostics):
            break
    assert requested is not None, "there is a pipeline"
    raise CompileError(requested)
