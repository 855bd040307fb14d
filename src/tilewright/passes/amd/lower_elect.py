"""`lower-elect`: one thread of each wave, where NVIDIA has an instruction that chooses it.

%e = nv.elect        ->        %tid = gpu.thread_id x;  %e = %tid mod lanes == 0
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.arith import CmpiOp, RemuiOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.nv import ElectOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class LowerElect(Pass):
    """Let the first lane of each wave be the elected one."""

    name = "lower-elect"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, ElectOp):
                code = IndexBuilder(op)
                tid = code.add(ThreadIdOp("x")).results[0]
                lane = code.add(RemuiOp(tid, code.index(warp_size_of(op)))).results[0]
                first = code.add(CmpiOp("eq", lane, code.index(0))).results[0]
                code.rewriter.replace_op(op, [], [first])
