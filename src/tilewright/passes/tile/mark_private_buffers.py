"""`mark-private-buffers`: mark shared buffers that carry no data between loop iterations.

    %rows = tile.alloc ...      ->      %rows = tile.alloc ... {tile.private}

Computed before loops are scheduled, while an iteration is still one block of code; a multi-buffered
version of such a buffer is private to the iterations of the loops around it. `place-shared-memory`
reuses the bytes while the buffer holds no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.lifetimes.privatization import private_buffers
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class MarkPrivateBuffers(Pass):
    """Mark shared buffers that every loop iteration fills before it reads them."""

    name = "mark-private-buffers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, KernelOp):
                for alloc in private_buffers(op):
                    alloc.is_private = True
