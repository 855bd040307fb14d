"""`expand-thread-copies`: copies and fills at an offset of each thread become loops of each thread.

    %part = tile.region %A[%tx, 0] [1, 4]       scf.for %i = 0 to 4 {
    tile.copy %part -> %own              ->      %v = memref.load %A[%tx, %i]
                                                  memref.store %v, %own[%i] }

`expand-copies` does the same for GPUs, together with everything else. Targets that execute whole
tile operations need it for these alone: there is no tile that belongs to the block.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.threads.thread_dependence import begins_by_thread
from tilewright.dialects.tile import CopyOp, FillOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.expand_copies import expand_copy, expand_fill, stays_whole


@dataclass(frozen=True)
class ExpandThreadCopies(Pass):
    """Replace copies and fills whose region begins at an offset of each thread by its loops."""

    name = "expand-thread-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, CopyOp) and is_by_each_thread(op):
                expand_copy(op)
            elif isinstance(op, FillOp) and is_by_each_thread(op):
                expand_fill(op)


def is_by_each_thread(op: CopyOp | FillOp) -> bool:
    """Whether every thread copies or fills elements of its own choice."""
    if isinstance(op, FillOp):
        return begins_by_thread(op.dst)
    return not stays_whole(op) and (begins_by_thread(op.src) or begins_by_thread(op.dst))
