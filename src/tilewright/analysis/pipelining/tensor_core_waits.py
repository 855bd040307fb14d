"""Waits that make GEMMs into tensor memory synchronous: issued, and waited for right away.

    tile.tcgen05_gemm %a, %b -> %c barrier %done[0]
    nv.mbarrier.wait %done[0], %parity

If nothing but such ops arrives on a barrier, a wait for it orders what they access and nothing
else. The two are then statements like any other, which a pipelined loop may schedule.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv import MBarrierWaitOp
from tilewright.dialects.tile import AllocOp, Tcgen05CommitOp, Tcgen05GemmOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import children

Issuer = Tcgen05GemmOp | Tcgen05CommitOp


def synchronous(parent: Operation) -> dict[Operation, tuple[Tcgen05GemmOp, ...]]:
    """GEMMs, commits and waits directly in the body of an op that make synchronous GEMMs.

    With the GEMMs that each wait completes; none for the others.
    """
    ops = list(children(parent))
    found: dict[Operation, tuple[Tcgen05GemmOp, ...]] = {}
    issued: list[Tcgen05GemmOp] = []
    signals: list[Issuer] = []
    for op in ops:
        if isinstance(op, Tcgen05GemmOp):
            issued.append(op)
        if isinstance(op, Tcgen05GemmOp | Tcgen05CommitOp):
            signals.append(op)
        elif isinstance(op, MBarrierWaitOp) and issued and _completes(op, signals, ops):
            found.update(dict.fromkeys([*issued, *signals], ()))
            found[op] = tuple(issued)
            issued, signals = [], []
    return {} if issued or signals else found


def _completes(wait: MBarrierWaitOp, signals: list[Issuer], ops: list[Operation]) -> bool:
    """Whether a wait is for the last of the signals, and nothing else arrives on its barrier."""
    last = signals[-1]
    row, index = _barrier(last)
    if row is None or row is not base_of(wait.barrier) or not _is_same(index, wait.index):
        return False
    owner = row.owner
    if not isinstance(owner, AllocOp) or owner.space is not Space.BARRIER:
        return False
    return all(_is_harmless(use.operation, ops) for use in row.uses)


def _is_harmless(op: Operation, ops: list[Operation]) -> bool:
    """Whether a use of a barrier is one of these waits or signals, or sets it up."""
    if op not in ops:
        return False
    return isinstance(op, MBarrierWaitOp | Tcgen05GemmOp | Tcgen05CommitOp)


def _barrier(op: Issuer) -> tuple[SSAValue | None, SSAValue | None]:
    if isinstance(op, BarrierOp):
        return base_of(op.barrier), op.index
    return (None, None) if op.barrier is None else (base_of(op.barrier), op.barrier_index)


def _is_same(one: SSAValue | None, other: SSAValue) -> bool:
    if one is other:
        return True
    if one is None:
        return False
    first, second = constant_value(one), constant_value(other)
    return isinstance(first, IntegerAttr) and first == second
