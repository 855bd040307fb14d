"""`fence-tensor-memory`: tensor memory is seen in the order that barriers establish.

    nv.mbarrier.wait %done                    nv.mbarrier.wait %done
    nv.tcgen05.ld ...                  ->     nv.tcgen05.fence after
    nv.tcgen05.wait_ld                        nv.tcgen05.ld ...
    nv.mbarrier.arrive %empty                 nv.tcgen05.wait_ld
                                              nv.tcgen05.fence before
                                              nv.mbarrier.arrive %empty

Accesses of tensor memory by threads and by the tensor core are ordered by a barrier only together
with two fences: one between the earlier access and the arrival, one between the wait and the later
access (PTX ISA, "tcgen05 memory consistency"). They are inserted at every barrier of threads that
access tensor memory, or issue instructions that do: in the whole kernel, or in the role around it.
A commit needs none: it covers what its thread has issued.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import (
    BarOp,
    ClusterArriveOp,
    ClusterWaitOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    Tcgen05CommitOp,
    Tcgen05CpOp,
    Tcgen05FenceOp,
    Tcgen05LdOp,
    Tcgen05MmaOp,
    Tcgen05StOp,
)
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import inherit_location
from tilewright.ir.traversal import walk

_ACCESSES = (Tcgen05LdOp, Tcgen05StOp, Tcgen05MmaOp, Tcgen05CpOp, Tcgen05CommitOp)
_ARRIVES = (MBarrierArriveOp, MBarrierArriveExpectTxOp, BarrierOp, BarOp, ClusterArriveOp)
_WAITS = (MBarrierWaitOp, BarrierOp, BarOp, ClusterWaitOp)


@dataclass(frozen=True)
class FenceTensorMemory(Pass):
    """Insert the fences that order tensor memory at barriers."""

    name = "fence-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                _fence(function)


def _fence(function: FuncOp) -> None:
    scopes = {_scope(op): None for op in walk(function) if isinstance(op, _ACCESSES)}
    if not scopes:
        return
    for op in list(walk(function)):
        scope = _scope(op)
        if scope not in scopes and not (scope is function and isinstance(op, _WAITS)):
            continue
        if isinstance(op, _ARRIVES) and not _is_fence(op.prev_op, "before"):
            _insert(op, Tcgen05FenceOp("before"), op)
        if isinstance(op, _WAITS) and _waits(op) and not _is_fence(op.next_op, "after"):
            following = op.next_op
            assert following is not None  # a block ends with a terminator
            _insert(following, Tcgen05FenceOp("after"), op)


def _waits(op: Operation) -> bool:
    return not isinstance(op, BarOp) or op.mode.data == "sync"


def _scope(op: Operation) -> Operation:
    """The role around an op, or the kernel."""
    current = op
    while not isinstance(current, FuncOp):
        parent = current.parent_op()
        assert parent is not None
        if isinstance(parent, WsOp):
            # Roles of one op differ in their threads; fences in all of them do no harm.
            return parent
        current = parent
    return current


def _is_fence(op: Operation | None, side: str) -> bool:
    return isinstance(op, Tcgen05FenceOp) and op.side.data == side


def _insert(before: Operation, fence: Tcgen05FenceOp, origin: Operation) -> None:
    inherit_location(fence, origin.location)
    block = before.parent
    assert block is not None
    block.insert_op_before(fence, before)
