"""`drop-wgmma-waits`: waits for asynchronous GEMMs, where every GEMM is finished when it returns.

    tile.gemm ...; nv.wgmma.wait 0        ->        tile.gemm ...

Matrix instructions of AMD GPUs write registers in program order, so ``T.wgmma_gemm`` is a
GEMM like others there and ``T.wait_wgmma`` has nothing to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class DropWgmmaWaits(Pass):
    """Remove waits for warp-group MMAs: matrix instructions are not asynchronous."""

    name = "drop-wgmma-waits"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, WgmmaWaitOp):
                op.detach()
                op.erase()
