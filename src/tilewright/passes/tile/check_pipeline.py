"""Prove that expanding planned loops keeps what they compute.

Runs between `plan_pipeline` and `expand_pipeline`. Each kernel with a plan is expanded in a copy;
both are run on terms instead of values (`analysis.dataflow_terms`), for several numbers in place of
the caller's, so that loops have trip counts 0, 1, and up to twice the stages and one more. If
tensors end up with different terms, a statement saw other data than in the serial loop: an internal
compiler error (TW9015). That asynchronous copies arrive in time is checked by `check_barriers`.

A check for changes of the pipeline, or of hand-written schedules; it costs about as much as the
expansion itself for every number that is tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.dataflow_terms import NotAnalysed, terms_of
from tilewright.dialects.tile import KernelOp, PipelineOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.expand_pipeline import ExpandPipeline

DIFFERS = "TW9015"
NOT_ANALYSED = "TW4058"


@dataclass(frozen=True)
class CheckPipeline(Pass):
    """Prove that planned loops compute what the serial loops compute."""

    name = "check-pipeline"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        kernels = _kernels(module)
        if not any(_stages(kernel) for kernel in kernels):
            return
        copy = copy_op(module, {})
        assert isinstance(copy, ModuleOp)  # of a module
        ExpandPipeline().run(copy, engine)
        for serial, expanded in zip(kernels, _kernels(copy), strict=True):
            if _stages(serial):
                compare(serial, expanded, engine)


def compare(serial: KernelOp, expanded: KernelOp, engine: DiagnosticEngine) -> bool:
    """Whether both kernels compute the same results; reports where they do not."""
    try:
        for argument in range(2 * _stages(serial) + 2):
            if terms_of(serial, argument) != terms_of(expanded, argument):
                engine.error(
                    serial,
                    "internal compiler error: pipeline expansion changes the result of "
                    f"the loop (with {argument} for arguments)",
                    DIFFERS,
                )
                return False
    except NotAnalysed as reason:
        engine.remark(reason.op, f"pipeline not analysed: {reason.reason}", NOT_ANALYSED)
    return True


def _kernels(module: ModuleOp) -> list[KernelOp]:
    return [op for op in walk(module) if isinstance(op, KernelOp)]


def _stages(kernel: KernelOp) -> int:
    """The greatest number of stages of a planned loop."""
    plans = [op.plan for op in walk(kernel) if isinstance(op, PipelineOp)]
    return max((max(plan.data.stage, default=0) + 1 for plan in plans if plan), default=0)
