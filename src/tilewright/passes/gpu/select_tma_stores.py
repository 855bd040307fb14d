"""`select-tma-stores`: which stores use TMA instead of threads.

A copy of a whole buffer from shared to global memory goes through TMA where the GPU has it: one
thread starts it, rows leave in whole lines, and TMA skips what is out of bounds. Completion means
that a tile has been read, not that its data is visible in the tensor, so a tensor that the kernel
accesses again is stored by threads. So are elements that another statement, or another iteration,
writes as well: the order of the writes would be undefined. A remark gives the reason why a store
does not use TMA.

A part of a buffer, ``T.copy(tile[:, :256], C[row, 0])``, is stored by TMA where it consists of
whole atoms of the buffer's swizzle: its boxes are then contiguous in shared memory.

TMA also makes an update, ``T.atomic_add(C[row, 0], tile)``, of a tensor that the kernel accesses in
no other way than to add to it: TMA adds where the memory is, and no thread waits for that. The
order of additions is as undefined as it is for threads.

An explicit TMA store of the user, ``T.tma_copy(tile, C[row, 0])``, becomes such a copy. The user is
responsible for its start (`check-tma-starts` has warned); groups that the user commits and waits
for are empty then, since each store closes its own and its thread waits until the tile is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation

from tilewright.analysis.copies.copy_instructions import (
    BulkCopy,
    Starts,
    bulk_reduction,
    bulk_store,
    moves_out_of_shared,
)
from tilewright.analysis.tensors.later_accesses import later_access
from tilewright.analysis.tensors.write_overlap import WriteOverlap
from tilewright.analysis.threads.thread_dependence import begins_by_thread
from tilewright.analysis.threads.uniformity import comes_together
from tilewright.dialects.tile import AsyncCopyOp, AtomicOp, CopyOp, ParallelOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.gpu.expand_copies import BY_ENGINE
from tilewright.passes.tile.index_builder import IndexBuilder

NOT_TMA = "TW3002"

_HOPPER = 90
_GUARANTEED = "nv.promised_start"
"""On a store for which the user requested TMA."""


@dataclass(frozen=True)
class SelectTmaStores(Pass):
    """Mark stores that use TMA."""

    name = "select-tma-stores"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, AsyncCopyOp) and op.is_bulk and _is_store(op):
                _as_copy(op)
        starts, overlap = Starts(module), WriteOverlap(module)
        for op in walk(module):
            if not isinstance(op, CopyOp | AtomicOp) or arch_of(op) < _HOPPER or not _is_store(op):
                continue
            if isinstance(op, AtomicOp):
                _select_reduction(op, starts, engine)
                continue
            if begins_by_thread(op.src) or begins_by_thread(op.dst):
                continue  # each thread copies a part of its own
            reason, later = bulk_store(op, starts, is_guaranteed=_GUARANTEED in op.attributes), None
            if isinstance(reason, BulkCopy):
                later, reason = later_access(op), "the kernel accesses the tensor again"
                if later is None:
                    later, reason = _other_write(op, overlap)
                if later is None:
                    op.attributes[BY_ENGINE] = StringAttr("tma")
                    continue
            text = f"TMA store not used: {reason}"
            remark = engine.remark(op, text, NOT_TMA)
            if later is not None:
                remark.note(later, "here")


def _select_reduction(op: AtomicOp, starts: Starts, engine: DiagnosticEngine) -> None:
    """Mark an update that TMA makes."""
    if op.is_element or not comes_together(op) or enclosing(op, ParallelOp) is not None:
        return
    if begins_by_thread(op.dst) or (op.value is not None and begins_by_thread(op.value)):
        return  # each thread updates a part of its own
    reason, later = bulk_reduction(op, starts), None
    if isinstance(reason, BulkCopy):
        later = _other_access(op)
        if later is None:
            op.attributes[BY_ENGINE] = StringAttr("tma")
            return
        reason = "the kernel accesses the tensor otherwise, too"
    remark = engine.remark(op, f"TMA reduction not used: {reason}", NOT_TMA)
    if later is not None:
        remark.note(later, "here")


def _other_access(update: AtomicOp) -> Operation | None:
    """An op that accesses the updated tensor, and does not add to it as well."""
    kernel, tensor = kernel_of(update), base_of(update.dst)
    for op in () if kernel is None else walk(kernel):
        if op.regions or not any(each.base is tensor for each in (*reads(op), *writes(op))):
            continue
        if not isinstance(op, AtomicOp) or op.previous is not None or op.kind != update.kind:
            return op
    return None


def _as_copy(op: AsyncCopyOp) -> None:
    policy = op.eviction_policy.data if op.eviction_policy else None
    attributes = {**op.attributes, _GUARANTEED: UnitAttr()}
    code = IndexBuilder(op)
    code.add(CopyOp(op.src, op.dst, eviction_policy=policy, attributes=attributes))
    code.rewriter.erase(op)


def _other_write(store: CopyOp, overlap: WriteOverlap) -> tuple[Operation | None, str]:
    """An op that may write elements that `store` writes, too, and the reason to report."""
    if overlap.is_shifted(store):
        return store, "iterations of an enclosing loop write overlapping regions of the tensor"
    kernel = kernel_of(store)
    for op in () if kernel is None else walk(kernel):
        if op is not store and not op.regions and overlap.may_overlap(store, op):
            return op, "another statement may write the same elements of the tensor"
    return None, ""


def _is_store(op: CopyOp | AsyncCopyOp | AtomicOp) -> bool:
    return moves_out_of_shared(op) and op.parent_op() is not None
