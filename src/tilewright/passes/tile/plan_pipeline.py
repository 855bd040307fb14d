"""Decide when the statements of pipelined loops run, and write it on the loops.

    tile.pipeline %k = 0 to %n num_stages(3) { copy A; copy B; gemm }
      ->  the same with  #tile.pipeline_plan<stage = [0, 0, 2], order = [0, 1, 2], ...>

The schedule comes from the user's lists where there are any, from ``analysis.pipelining``
otherwise, and is checked against the dependences in both cases. A loop whose copies cannot run
ahead stays serial, and a remark gives the reason, as for a copy that alone cannot; lists that break
a dependence are an error.
`expand_pipeline` applies the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.feasible import Infeasible
from tilewright.analysis.layout_inference.gemm_instructions import choose
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.pipelining import (
    Dependences,
    PipelinePlan,
    Refusal,
    plan_automatically,
    plan_manually,
)
from tilewright.analysis.pipelining.automatic import NOT_PIPELINED
from tilewright.analysis.tensors.outside_values import other_than_zero
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    GemmOp,
    KernelOp,
    PipelineOp,
    Space,
    names,
    space_of,
)
from tilewright.ir.codes.shared import SYNCHRONOUS_FILL
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import children, enclosing, walk
from tilewright.passes.tile.warps.capacity import arch_of

LEFT = "TW4046"
BY_HAND = -1
"""An entry of user-specified lists for statements that warp specialisation takes care of."""


@dataclass(frozen=True)
class PlanPipeline(Pass):
    """Give every pipelined loop a schedule."""

    name = "plan-pipeline"

    async_copies: bool = True
    """Whether the target can copy while the threads go on."""
    async_gemms: bool = False
    """Whether GEMMs may go on, too, where the kernel's target has instructions that do (wgmma)."""
    report: bool = False
    """Print the plans as remarks."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in list(walk(module)):
            if isinstance(loop, PipelineOp) and loop.plan is None:
                self._plan(loop, engine)

    def _plan(self, loop: PipelineOp, engine: DiagnosticEngine) -> None:
        stage, order = loop.manual_stage, loop.manual_order
        if stage is not None and order is not None and BY_HAND in (*stage, *order):
            engine.remark(
                loop,
                "loop not pipelined: entries of -1 leave statements to warp "
                "specialisation, which was not applied to the loop",
                NOT_PIPELINED,
            )
            return
        is_manual = stage is not None and order is not None
        if not is_manual and loop.stages == 0:
            return
        dependences = Dependences(loop)
        if stage is not None and order is not None:
            found = plan_manually(dependences, stage, order)
        else:
            found = plan_automatically(
                dependences,
                loop.stages,
                has_async_copies=self.async_copies,
                going_on=_going_on(loop) if self.async_gemms else frozenset(),
            )
        if isinstance(found, PipelinePlan):
            loop.properties["plan"] = found.attribute(dependences)
            for buffer in found.rotating:
                assert isinstance(buffer.owner, AllocOp)  # only allocations are renamable
                buffer.owner.attributes[names.ROTATING] = UnitAttr()
            for refusal in found.left:
                _report_left(refusal, loop, engine)
            if self.async_copies:
                _report_fills(found, engine)
            if self.report:
                engine.remark(loop, f"pipelined:\n{found}")
        elif is_manual:
            _report_error(found, loop, engine)
        else:
            report_remark(found, loop, engine)


def _report_fills(plan: PipelinePlan, engine: DiagnosticEngine) -> None:
    """Report copies that run ahead, but not asynchronously, because of what is outside."""
    for op, stage, is_async in zip(plan.ops, plan.stage, plan.is_async, strict=True):
        if not isinstance(op, CopyOp) or is_async or stage > 0:
            continue
        if space_of(op.src.type) is Space.GLOBAL and (reason := other_than_zero(op)) is not None:
            engine.remark(op, f"asynchronous copy not used: {reason}", SYNCHRONOUS_FILL)


def _report_error(refusal: Refusal, loop: PipelineOp, engine: DiagnosticEngine) -> None:
    where = refusal.ops[-1] if refusal.ops else loop
    diagnostic = engine.error(where, refusal.message, refusal.code)
    for op, note in zip(refusal.ops[:-1], refusal.notes, strict=False):
        diagnostic.note(op, note)
    if refusal.help is not None:
        diagnostic.note(None, f"help: {refusal.help}")


def _going_on(loop: PipelineOp) -> frozenset[Operation]:
    """The GEMMs of a loop that need no wait before the next iteration's."""
    kernel = enclosing(loop, KernelOp)
    arch = 0 if kernel is None else arch_of(kernel)
    gemms = [op for op in children(loop) if isinstance(op, GemmOp)]
    return frozenset(op for op in gemms if arch and _goes_on(op, arch))


def _goes_on(gemm: GemmOp, arch: int) -> bool:
    try:
        return choose(gemm, threads_of(gemm), arch).instruction == "wgmma"
    except Infeasible:
        return False


def _report_left(refusal: Refusal, loop: PipelineOp, engine: DiagnosticEngine) -> None:
    """Report why a copy of a pipelined loop does not run ahead."""
    where = refusal.ops[0] if refusal.ops else loop
    diagnostic = engine.remark(
        where, f"copy not pipelined, its buffer has one slot: {refusal.message}", LEFT
    )
    for op, note in zip(refusal.ops[1:], refusal.notes[-1:], strict=False):
        diagnostic.note(op, note)


def report_remark(refusal: Refusal, loop: PipelineOp, engine: DiagnosticEngine) -> None:
    """Report why a loop stays serial."""
    diagnostic = engine.remark(loop, f"loop not pipelined: {refusal.message}", refusal.code)
    for op, note in zip(refusal.ops, refusal.notes[-len(refusal.ops) :], strict=False):
        diagnostic.note(op, note)
    if refusal.help is not None:
        diagnostic.note(None, f"help: {refusal.help}")
