"""`order-tensor-writes`: a barrier between two statements that may write the same elements.

    T.copy(zeros, C[0])          one thread writes an element here,
    tile.sync                    <- and all threads are through with that
    T.copy(sums, C[0])           before another one writes it there

Statements distribute their elements over threads in different ways, so program order alone orders
nothing between them. Disjoint regions need no barrier, nor do iterations of one statement that
write the same region, distributed alike, nor atomic updates among each other.
Iterations whose parts overlap at other elements do need one:

    for k in T.serial(8):
        tile.sync                <- B[5] was written by the thread of i = 5 when k was 0
        for i in T.Parallel(64):
            B[i + k] = ...       and is written by that of i = 4 when k is 1

In a role the barrier is one of its threads (`insert-thread-syncs` names it). What TMA stores is not
looked at (`select-tma-stores` leaves no two such writes to it), nor is code of some threads only,
where a barrier is not possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation

from tilewright.analysis.tensors.write_overlap import WriteOverlap, tensor_writes
from tilewright.analysis.threads.uniformity import comes_together, differs
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tile import AtomicOp, KernelOp, PersistentOp, PipelineOp, Space
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.gpu.expand_copies import BY_ENGINE
from tilewright.passes.tile.index_builder import IndexBuilder

_LOOPS = (ForOp, WhileOp, PersistentOp, PipelineOp)


@dataclass(frozen=True)
class OrderTensorWrites(Pass):
    """Put barriers between statements that write the same elements of a tensor."""

    name = "order-tensor-writes"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, KernelOp):
                _Walk(WriteOverlap(op)).block(op.body_block)


@dataclass(frozen=True)
class _Write:
    statement: Operation
    region: AccessedRegion
    is_atomic: bool

    def conflicts_with(self, other: _Write, overlap: WriteOverlap) -> bool:
        if self.is_atomic and other.is_atomic:
            return False
        if self.statement is other.statement:
            return overlap.is_shifted(self.statement)
        return self.region.may_overlap(other.region)


@dataclass
class _Walk:
    """One kernel, in program order; loops twice, for loop-carried conflicts."""

    overlap: WriteOverlap
    pending: list[_Write] = field(default_factory=list[_Write])
    """Writes since the last block barrier."""

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self._op(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, SyncOp):
            if op.scope.data == "block" and op.barrier_id is None:
                self.pending = []
        elif isinstance(op, _LOOPS):
            for _ in range(2):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
        elif isinstance(op, IfOp) and not differs(op.condition):
            self._branches(op)
        elif isinstance(op, WsOp):
            self._roles(op)
        else:
            self._statement(op)

    def _roles(self, op: WsOp) -> None:
        """Roles run concurrently; each orders its own statements, also those of iterations."""
        others = [each for each in self.pending if not op.is_ancestor(each.statement)]
        if any(one.conflicts_with(other, self.overlap) for one in _writes(op) for other in others):
            IndexBuilder(op).add(SyncOp())
            self.pending = []
        after = list(self.pending)
        before = [each for each in self.pending if op.is_ancestor(each.statement)]
        for region in op.bodies:
            self.pending = [each for each in before if region.is_ancestor(each.statement)]
            self.block(region.block)
            after += self.pending
        self.pending = after

    def _branches(self, op: IfOp) -> None:
        before, after = self.pending, list[_Write]()
        for region in op.regions:
            self.pending = list(before)
            for inner in region.blocks:
                self.block(inner)
            after += self.pending
        self.pending = list(dict.fromkeys(after))

    def _statement(self, op: Operation) -> None:
        if BY_ENGINE in op.attributes:
            return
        found = _writes(op)
        if any(one.conflicts_with(other, self.overlap) for one in found for other in self.pending):
            if comes_together(op):
                IndexBuilder(op).add(_sync_before(op))
            self.pending = []
        self.pending += [each for each in found if each not in self.pending]


def _writes(op: Operation) -> list[_Write]:
    """What an op and those in it write to tensors."""
    found = [each for each in writes(op) if each.space is Space.GLOBAL]
    if not found:
        return []
    plain = {region.base for leaf, region in tensor_writes(op) if not isinstance(leaf, AtomicOp)}
    return [_Write(op, each, each.base not in plain) for each in found]


def _sync_before(op: Operation) -> SyncOp:
    """A barrier of the threads that reach `op`: those of the block, or of a role."""
    sync = SyncOp()
    outer = enclosing(op, WsOp)
    if outer is not None:
        sync.attributes[nv_names.ROLE_BARRIER] = UnitAttr()
    return sync
