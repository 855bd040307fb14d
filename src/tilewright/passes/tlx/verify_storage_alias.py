"""Check that a lowered module keeps what its reuse groups promised.

``tlx-storage-alias-lowering`` leaves on every view what was promised about its buffer and where it
was put. This pass re-derives all addresses from the module as it is now (types, index arithmetic,
``tlx.placed_alias``) and proves, buffer by buffer and index by index, that

* distinct buffers never overlap, and shared ones only inside one logical index;
* buffers of one allocation never overlap;
* everything is inside the allocation, aligned as its layout needs, and within the target's memory.

Run it before passes that fold: index arithmetic is recognised in the form it was written in.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.messages import INTERNAL_CODE
from tilewright.passes.tlx.storage_alias.planning import target_of


@dataclass(frozen=True)
class VerifyStorageAlias(Pass):
    """Prove the placements that a module records."""

    name = "tlx-verify-storage-alias"

    report: bool = False
    """Say what was checked, and which indices could not be."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        result = verify_module(module, target_of(module))
        for fault in result.faults:
            diagnostic = engine.error(fault.op, fault.message, INTERNAL_CODE)
            if fault.other is not None:
                diagnostic.note(fault.other, "the other buffer is here")
        if not self.report:
            return
        for op in result.unknown:
            engine.remark(op, "index arithmetic was changed since lowering; not analysed")
        if not result.faults and result.views:
            where = "1 allocation" if result.regions == 1 else f"{result.regions} allocations"
            engine.remark(module, f"{result.views} buffers in {where} keep their promises")
