"""`mark-private-buffers`: say which shared buffers hand nothing from turn to turn of a loop.

    %rows = tile.alloc ...      ->      %rows = tile.alloc ... {tile.private}

Asked before loops are scheduled, while a turn is still one piece of code; a ring of versions made
of such a buffer is private to the turns of the loops around it. `place-shared-memory` lets others
have the bytes while the buffer holds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.privatization import private_buffers
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class MarkPrivateBuffers(Pass):
    """Mark shared buffers that every turn of a loop fills before it reads them."""

    name = "mark-private-buffers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, KernelOp):
                for alloc in private_buffers(op):
                    alloc.is_private = True
