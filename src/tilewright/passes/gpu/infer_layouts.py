"""`infer-layouts`: every fragment gets its threads and registers, every loop its threads.

docs/design/layouts.md#inference. The work is done by `analysis.layout_inference`, which returns a
plan; this pass has it checked and writes it down: layouts on allocations and parallel loops, the
instruction and the partition on GEMMs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr, i64

from tilewright.analysis.layout_inference.agreement import UNREPRESENTABLE
from tilewright.analysis.layout_inference.check import check
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.solver import Solver
from tilewright.analysis.layout_inference.swizzles import Swizzle
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, KernelOp
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.gpu.stage_fragments import stage
from tilewright.passes.tile.share_elements import drop_broadcasts, share_elements

_MAX_STAGED = 64
"""Loops of a kernel that may be led through shared memory."""


@dataclass(frozen=True)
class InferLayouts(Pass):
    """Choose layouts for fragments, shared buffers and parallel loops."""

    name = "infer-layouts"

    wgmma: bool = True
    """Whether GEMMs may use warp-group instructions."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            broadcasts = share_elements(kernel)
            plan = self._solved(kernel, engine)
            if plan is None:
                return
            problem = check(kernel, plan)
            if problem is not None:
                engine.error(
                    kernel, f"internal compiler error: inconsistent layouts: {problem}", "TW9020"
                )
                return
            plan = drop_broadcasts(broadcasts, plan, engine)
            try:
                apply(plan)
            except NotALayout as error:
                engine.error(
                    kernel, f"layout has no closed-form expression: {error}", UNREPRESENTABLE
                )
                return

    def _solved(self, kernel: KernelOp, engine: DiagnosticEngine) -> LayoutPlan | None:
        """A plan; fragments that loops want in other threads go through shared memory."""
        for _ in range(_MAX_STAGED):
            # Findings of an abandoned attempt are not reported.
            own = DiagnosticEngine(sources=engine.sources)
            attempt = Solver(kernel, own, gpu_of(kernel), self.wgmma)
            plan = attempt.solve()
            if plan is None and attempt.clash is not None and stage(attempt.clash, engine):
                continue
            for each in own.diagnostics:
                engine.emit(each)
            return plan
        return Solver(kernel, engine, gpu_of(kernel), self.wgmma).solve()


def apply(plan: LayoutPlan) -> None:
    """Write the plan on the ops."""
    for buffer, table in plan.fragments.items():
        owner = buffer.owner
        if isinstance(owner, ReducerAllocOp):
            owner.attributes[simt_names.LAYOUT] = table.attribute()
        else:
            assert isinstance(owner, AllocOp)
            owner.properties["layout"] = table.attribute()
    for buffer, swizzle in plan.shared.items():
        assert isinstance(buffer.owner, AllocOp)
        buffer.owner.properties["layout"] = swizzle.attribute(shape_of(buffer.type)[:-2])
        if isinstance(swizzle, Swizzle):
            buffer.owner.attributes[nv_names.SWIZZLE] = IntegerAttr(swizzle.width, i64)
    for loop, table in plan.loops.items():
        loop.properties["layout"] = table.attribute()
    for op, gemm_plan in plan.gemms.items():
        op.attributes[simt_names.INSTRUCTION] = StringAttr(gemm_plan.instruction)
        op.attributes[simt_names.WARPS] = integers_attr(gemm_plan.warps)
        op.attributes[simt_names.SHAPE] = integers_attr(gemm_plan.shape)
        if gemm_plan.transposed:
            op.attributes[simt_names.TRANSPOSED] = UnitAttr()
        if gemm_plan.k_width:
            op.attributes[simt_names.K_WIDTH] = IntegerAttr(gemm_plan.k_width, i64)
