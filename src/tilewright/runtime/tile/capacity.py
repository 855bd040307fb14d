"""Whether the shared memory of a kernel fits the GPU it is for, checked without compiling it.

A run on a CPU has space for everything. What a block needs is known exactly only once loops are
pipelined, copies staged and buffers merged, so the passes for the GPU are run up to the one that
places buffers; its report (TW5001) is the result, if no other form of the kernel fits. A kernel
that could not be too large, with every buffer in every stage and all fragments in shared memory
besides, is spared that.

The GPU is that of the kernel's target; for a kernel that is run on a CPU it is the one that it
would be compiled for by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.dialects.tile import AllocOp, PipelineOp, Space
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.memory.targets import target_named
from tilewright.runtime.tile.pipelines import forms_of
from tilewright.runtime.tile.targets import default_arch

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.passes.gpu.device_pipeline import DevicePipeline
    from tilewright.runtime.tile.kernel import CompiledTileKernel


def require_capacity(kernel: CompiledTileKernel) -> str | None:
    """Raise if a block needs more shared memory than it can have; why, if that is not known."""
    module = kernel.prim_func.module
    arch = kernel.gpu.settings.arch if kernel.gpu is not None else default_arch(module)
    if _at_most(module) <= target_named(arch).smem_bytes:
        return None
    engine: DiagnosticEngine | None = None
    errors: list[Diagnostic] = []
    for pipeline in forms_of(kernel, arch):
        form = DiagnosticEngine()
        _place_shared_memory(module.clone(), pipeline, form)
        wrong = [each for each in form.diagnostics if each.severity is Severity.ERROR]
        if not wrong:
            return None
        if engine is None:
            engine, errors = form, wrong
        if any(each.code != SHARED_MEMORY_EXCEEDED for each in wrong):
            break
    assert engine is not None, "there is a pipeline"
    from tilewright.targets.numpy.tile.api import TileFault

    found = next((each for each in errors if each.code == SHARED_MEMORY_EXCEEDED), None)
    if found is None:
        return f"the shared memory of {kernel.name} on {arch}: {errors[0].message}"
    assumed = "" if kernel.gpu is not None else ", which is assumed where no target is given"
    found.notes.append(Diagnostic(Severity.NOTE, f"checked for {arch}{assumed}"))
    raise TileFault("capacity", found, None, engine.sources)


def _at_most(module: ModuleOp) -> int:
    """More bytes of shared memory than a block can need."""
    # Loaded when the first kernel is checked.
    from tilewright.passes.gpu.shared_sizes import bytes_of

    stages = max([op.stages for op in walk(module) if isinstance(op, PipelineOp)] + [1])
    total = 0
    for op in walk(module):
        if isinstance(op, AllocOp) and op.space.is_shared:
            total += bytes_of(op) * (stages + 1)
        elif isinstance(op, AllocOp) and op.space is Space.FRAGMENT:
            total += bytes_of(op)
    return total


def _place_shared_memory(
    module: ModuleOp, pipeline: DevicePipeline, engine: DiagnosticEngine
) -> None:
    """Run the passes up to the shared-memory placement."""
    from tilewright.passes.gpu.place_shared_memory import PlaceSharedMemory

    for each in pipeline.passes():
        each.run(module, engine)
        if engine.error_count or isinstance(each, PlaceSharedMemory):
            return
