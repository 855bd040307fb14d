"""`bypass-store-buffers`: results that are stored without the shared buffer between.

    copy %acc -> %Os                  copy %acc -> %O[...]
    copy %Os -> %O[...]        ->

A kernel may copy its result to shared memory first, so that stores to the tensor are wide. A buffer
for that which exceeds the shared memory of a block, on its own, cannot exist: threads store what
they own. The values are the same if the buffer has the element type of the tensor, and nothing
writes the fragment between the copies. A remark names the buffer (TW7553).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, CopyOp, Space, space_of
from tilewright.dialects.tile.access import base_of, may_share_bytes
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.naming import buffer_name

BYPASSED = "TW7553"


@dataclass(frozen=True)
class BypassStoreBuffers(Pass):
    """Store fragments directly where the shared buffer between exceeds shared memory."""

    name = "bypass-store-buffers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            chip = amd_chip_of(kernel)
            if chip is None:
                continue
            allocs = [op for op in walk(kernel) if isinstance(op, AllocOp) and op.space.is_shared]
            for op in allocs:
                if bytes_of(op) > chip.lds_bytes:
                    _bypass(op, chip, engine)


def _bypass(op: AllocOp, chip: Chip, engine: DiagnosticEngine) -> None:
    found = _copies(op)
    if found is None:
        return
    first, second = found
    engine.remark(
        second,
        f"'{op.buffer_name}' not used, '{buffer_name(first.src)}' stored directly: "
        f"{bytes_of(op)} B needed, {chip.lds_bytes} B available per block on {chip}",
        BYPASSED,
    ).note(None, "help: no change is required; use a smaller tile for wider stores")
    policy = None if second.eviction_policy is None else second.eviction_policy.data
    code = IndexBuilder(second)
    attributes = second.attributes
    code.add(CopyOp(first.src, second.dst, eviction_policy=policy, attributes=attributes))
    for each in (second, first, op):
        code.rewriter.erase(each)


def _copies(op: AllocOp) -> tuple[CopyOp, CopyOp] | None:
    """The copy of a fragment to a buffer, and that of the buffer to a tensor, if that is all."""
    copies = [use.operation for use in op.result.uses if isinstance(use.operation, CopyOp)]
    if len(copies) != len(list(op.result.uses)) or len(copies) != 2 or op.alias is not None:
        return None
    first, second = copies if copies[0].dst is op.result else reversed(copies)
    if first.dst is not op.result or second.src is not op.result:
        return None
    if space_of(first.src.type) is not Space.FRAGMENT or first.parent is not second.parent:
        return None
    tensor = base_of(second.dst)
    is_same_type = element_type_of(tensor.type) == element_type_of(op.result.type) and is_unsigned(
        tensor
    ) == is_unsigned(op.result)
    if space_of(tensor.type) is not Space.GLOBAL or not is_same_type:
        return None
    if any(each.coalesced_width or each.loop_layout for each in copies):
        return None
    return (first, second) if _is_unchanged(first, second) else None


def _is_unchanged(first: CopyOp, second: CopyOp) -> bool:
    """Whether a fragment still has, at the second copy, what the first one copied."""
    if not first.is_before_in_block(second):
        return False
    fragment, op = base_of(first.src), first.next_op
    while op is not None and op is not second:
        if any(may_share_bytes(fragment, region.base) for region in writes(op)):
            return False
        op = op.next_op
    return True
