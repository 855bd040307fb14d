"""Check that a lowered module satisfies the guarantees of its reuse groups.

``tlx-storage-alias-lowering`` records on every view the guarantees about its buffer and its
placement. This pass re-derives all addresses from the module as it is now (types, index arithmetic,
``tlx.placed_alias``) and proves, buffer by buffer and index by index, that

* distinct buffers never overlap, and shared ones only inside one logical index;
* buffers of one allocation never overlap;
* everything is inside the allocation, aligned as its layout needs, and within the target's memory.

Passes that move ops, merge equal ones or compute constants may have run. Index arithmetic that was
folded together with the kernel's own is not analysed: its parts cannot be distinguished any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.memory import finding
from tilewright.passes.tlx.storage_alias.evidence import Verification, verify_module
from tilewright.passes.tlx.storage_alias.messages import INTERNAL_CODE, code_of
from tilewright.passes.tlx.storage_alias.planning import target_of


@dataclass(frozen=True)
class VerifyStorageAlias(Pass):
    """Prove the placements that a module records."""

    name = "tlx-verify-storage-alias"

    report: bool = False
    """Report what was checked."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        result = verify_module(module, target_of(module))
        for fault in result.faults:
            diagnostic = engine.error(fault.op, fault.message, INTERNAL_CODE)
            if fault.other is not None:
                diagnostic.note(fault.other, "the other buffer is here")
        for op in result.unknown:
            engine.warning(op, finding("W7").message, code_of("W7"))
        if self.report and not result.faults and result.views:
            engine.remark(module, _summary(result))


def _summary(result: Verification) -> str:
    where = _counted(result.regions, "allocation", "allocations")
    if result.views == 1:
        text = f"placement verified: 1 buffer in {where}"
    else:
        text = f"placement verified: {result.views} buffers in {where}"
    if result.unknown:
        indices = _counted(len(result.unknown), "index was", "indices were")
        text += f"; {indices} not analysed"
    return text


def _counted(count: int, one: str, several: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {several}"
