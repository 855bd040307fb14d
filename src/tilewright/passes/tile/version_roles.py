"""Versions of buffers and mbarriers in pipelined loops around user-written roles.

    tile.pipeline %k = 0 to %n num_stages(2) {
      tile.ws role { wait %empty[0], (%k + 1) mod 2; A -> %a barrier %full[0]; arrive %full[0] }
      tile.ws role { wait %full[0], %k mod 2; gemm %a ...; arrive %empty[0] } }
      ->
    scf.for %k = 0 to %n {
      %s = %k mod 2;  %i = %k div 2
      tile.ws role { wait %empty[%s], (%i + 1) mod 2; A -> %a[%s] barrier %full[%s]; ... }
      tile.ws role { wait %full[%s], %i mod 2; gemm %a[%s] ...; arrive %empty[%s] } }

The producer then runs up to ``num_stages`` iterations ahead. What is versioned, and why that is the
same computation, is in ``analysis.pipelining.user_roles``. A loop that does not qualify runs with
one slot, and a remark gives the reason (TW4045).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.pipelining import (
    Refusal,
    RoleVersions,
    has_user_roles,
    plan_user_roles,
)
from tilewright.dialects.nv import MBARRIER
from tilewright.dialects.tile import AllocOp, AsyncCopyOp, PipelineOp, SlotOp, Space, buffer_type
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.expand_pipeline import make_serial
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.plan_pipeline import report_remark
from tilewright.passes.tile.version_buffers import version_buffer


@dataclass(frozen=True)
class VersionRoles(Pass):
    """Give user-written roles of pipelined loops one version of their buffers for each stage."""

    name = "version-roles"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in [op for op in walk(module) if isinstance(op, PipelineOp)]:
            if loop.manual_stage is not None or loop.stages < 2 or not has_user_roles(loop):
                continue
            found = plan_user_roles(loop)
            if isinstance(found, Refusal):
                report_remark(found, loop, engine)
            else:
                _apply(found)
            make_serial(loop)


def _apply(plan: RoleVersions) -> None:
    loop, slots, rewriter = plan.loop, plan.slots, Rewriter()
    first = loop.body_block.first_op
    assert first is not None  # every body is ended
    code = IndexBuilder(first)
    iteration = code.minus(loop.induction_variable, loop.lower)
    slot = code.index(code.modulo(iteration, slots))
    phase = code.divided(iteration, slots)
    parities = [code.index(code.modulo(code.plus(phase, by), 2)) for by in range(2)]
    for wait, parity in plan.waits:
        wait.operands[2] = parities[parity]
    for barrier in plan.barriers:
        alloc = barrier.owner
        assert isinstance(alloc, AllocOp) and alloc.arrive_counts is not None  # planned so
        ring = AllocOp(
            buffer_type(MBARRIER, (slots,), Space.BARRIER),
            name=alloc.buffer_name,
            init=alloc.arrive_counts * slots,
        )
        rewriter.insert_before(alloc, ring, alloc)
        for use in list(barrier.uses):
            op = use.operation
            op.operands[use.index] = ring.result
            if isinstance(op, BarrierOp):
                op.operands[1] = slot
            else:
                assert isinstance(op, AsyncCopyOp)  # planned so
                op.operands[use.index + 1] = slot
        rewriter.erase(alloc)
    for buffer in plan.buffers:
        alloc = buffer.owner
        assert isinstance(alloc, AllocOp)  # planned so
        ring = version_buffer(buffer, slots, rewriter)
        own = code.add(SlotOp(ring, slot)).results[0]
        for use in list(buffer.uses):
            use.operation.operands[use.index] = own
        rewriter.erase(alloc)
