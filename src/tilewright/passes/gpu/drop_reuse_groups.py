"""`drop-reuse-groups`: forget how buffers of a storage-alias spec were grouped.

`plan-storage-alias` has turned the groups into offsets. The spec itself stays, as the record of
aliasing, until `place-shared-memory` has assigned its offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile import ReuseGroupOp, SetBufferOverlapOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class DropReuseGroups(Pass):
    """Remove reuse groups, which have been planned."""

    name = "drop-reuse-groups"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        groups = [op for op in walk(module) if isinstance(op, SetBufferOverlapOp | ReuseGroupOp)]
        for op in reversed(groups):  # a group comes after those in it
            op.detach()
            op.erase()
