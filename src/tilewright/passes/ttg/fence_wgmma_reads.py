"""A fence between shared-memory writes of threads and reads of the same bytes by tensor cores.

Tensor cores and TMA access shared memory through the *async proxy*. Writes of threads, by a store
or by ``cp.async``, are visible to that proxy only after a ``ttng.fence_async_shared``. Releases of
Triton insert that fence themselves in some cases, and which ones changes; here it is inserted
wherever a matrix instruction reads a buffer that its own task writes through registers or by
``cp.async``, once for consecutive instructions. A task that writes for another one has to fence
before it signals, which is the kernel writer's responsibility; so has one that passes a buffer from
its own stores to its own copies. A store that is followed by such a fence needs no other.
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
    """Fence before matrix instructions that read what their task wrote."""

    name = "fence-wgmma-reads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        written: set[tuple[SSAValue, Region | None]] = set()
        mmas: list[WarpGroupDotOp] = []
        for op in walk(module):
            if isinstance(op, LocalStoreOp) and not _is_fenced_after(op):
                written.add((root_buffer(op.dst), task_of(op)))
            elif isinstance(op, AsyncCopyGlobalToLocalOp):
                written.add((root_buffer(op.result), task_of(op)))
            elif isinstance(op, LocalAllocOp) and op.src is not None:
                written.add((op.result, task_of(op)))
            elif isinstance(op, WarpGroupDotOp):
                mmas.append(op)
        rewriter = Rewriter()
        for op in mmas:
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


def _is_fenced_after(op: Operation) -> bool:
    """Whether the kernel fences what `op` stores, possibly together with further stores."""
    after = op.next_op
    while after is not None:
        if isinstance(after, FenceAsyncSharedOp):
            return True
        if after.get_trait(Pure) is None and not isinstance(after, LocalStoreOp):
            return False
        after = after.next_op
    return False


def task_of(op: Operation) -> Region | None:
    """The region of a specialised op whose warps execute `op`; None outside of all."""
    region = op.parent_region()
    while region is not None and region.parent is not None:
        if region.parent.name in (WarpSpecializeOp.name, PARTITIONS_OP):
            return region
        region = region.parent.parent_region()
    return None
