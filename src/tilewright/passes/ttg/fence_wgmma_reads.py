"""A fence between what threads write to shared memory and what tensor cores read there.

Tensor cores and the copy engine access shared memory past the threads' own path (the *async
proxy*). What threads wrote, by a store or by ``cp.async``, they see only behind a
``ttng.fence_async_shared``. Releases of Triton place that fence themselves in some cases, and
which ones changes; here it is placed wherever a matrix instruction reads a buffer that its own task
writes through registers or by ``cp.async``, once for instructions in a row. A task that writes for
another one has to fence before it signals, which is the author's to say; so has one that hands a
buffer from its own stores to its own copies. A store with such a fence behind it needs no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import Pure

from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp, LocalAllocOp, LocalStoreOp
from tilewright.dialects.ttg.context import PARTITIONS_OP
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng import FenceAsyncSharedOp, WarpGroupDotOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.memdesc_types import root_buffer


@dataclass(frozen=True)
class FenceWgmmaReads(Pass):
    """Fence in front of matrix instructions that read what their task wrote."""

    name = "fence-wgmma-reads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        written: set[tuple[SSAValue, Region | None]] = set()
        products: list[WarpGroupDotOp] = []
        for op in walk(module):
            if isinstance(op, LocalStoreOp) and not _is_fenced_behind(op):
                written.add((root_buffer(op.dst), task_of(op)))
            elif isinstance(op, AsyncCopyGlobalToLocalOp):
                written.add((root_buffer(op.result), task_of(op)))
            elif isinstance(op, LocalAllocOp) and op.src is not None:
                written.add((op.result, task_of(op)))
            elif isinstance(op, WarpGroupDotOp):
                products.append(op)
        rewriter = Rewriter()
        for op in products:
            roots = [root_buffer(value) for value in (op.a, op.b) if _is_buffer(value)]
            if any((root, task_of(op)) in written for root in roots) and not _is_fenced(op):
                rewriter.insert_before(op, FenceAsyncSharedOp())


def _is_buffer(value: SSAValue) -> bool:
    return isinstance(value.type, MemDescType)


def _is_fenced(op: Operation) -> bool:
    before = op.prev_op
    while before is not None:
        if isinstance(before, FenceAsyncSharedOp | WarpGroupDotOp):
            return True
        if before.get_trait(Pure) is None:
            return False
        before = before.prev_op
    return False


def _is_fenced_behind(op: Operation) -> bool:
    """Whether the author fences what `op` stores, and perhaps more stores, at once."""
    behind = op.next_op
    while behind is not None:
        if isinstance(behind, FenceAsyncSharedOp):
            return True
        if behind.get_trait(Pure) is None and not isinstance(behind, LocalStoreOp):
            return False
        behind = behind.next_op
    return False


def task_of(op: Operation) -> Region | None:
    """The region of a specialised op whose warps execute `op`; None outside of all."""
    region = op.parent_region()
    while region is not None and region.parent is not None:
        if region.parent.name in (WarpSpecializeOp.name, PARTITIONS_OP):
            return region
        region = region.parent.parent_region()
    return None
