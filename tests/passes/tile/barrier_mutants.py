"""Kernels with roles, and every small way to break their barriers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp, ConstantOp, RemuiOp, XoriOp
from tilewright.dialects.nv import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
)
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class Mutant:
    """A broken copy of a kernel."""

    name: str
    module: ModuleOp


def _copied(module: ModuleOp) -> ModuleOp:
    copy = copy_op(module, {})
    assert isinstance(copy, ModuleOp)
    return copy


def _ops(module: ModuleOp) -> list[Operation]:
    return [
        op
        for op in walk(module)
        if isinstance(op, BarrierOp) or (isinstance(op, AllocOp) and op.arrive_counts)
    ]


def mutants(module: ModuleOp) -> Iterator[Mutant]:
    """Every mutation of every barrier op."""
    for number, op in enumerate(_ops(module)):
        for name, mutate in _MUTATIONS.items():
            copy = _copied(module)
            if mutate(_ops(copy)[number]):
                yield Mutant(f"{name} {number} ({op.name})", copy)


def _drop(op: Operation) -> bool:
    if not isinstance(op, BarrierOp):
        return False
    Rewriter().erase(op)
    return True


def _flip(op: Operation) -> bool:
    if not isinstance(op, MBarrierWaitOp):
        return False
    one = ConstantOp.of(1, IndexType())
    flipped = XoriOp(op.parity, one)
    Rewriter().insert_before(op, [one, flipped])
    _replace(op, op.parity, flipped.results[0])
    return True


def _replace(op: Operation, old: SSAValue, new: SSAValue) -> None:
    for index, operand in enumerate(op.operands):
        if operand is old:
            op.operands[index] = new


def _other_slot(op: Operation) -> bool:
    if not isinstance(op, BarrierOp):
        return False
    rows = op.barrier.owner
    assert isinstance(rows, AllocOp)
    slots = rows.type.get_shape()[0]
    if slots < 2:
        return False
    one, all_ = ConstantOp.of(1, IndexType()), ConstantOp.of(slots, IndexType())
    next_ = AddiOp(op.index, one)
    wrapped = RemuiOp(next_, all_)
    Rewriter().insert_before(op, [one, all_, next_, wrapped])
    op.operands[1] = wrapped.results[0]
    return True


def _count(factor: float, plus: int):
    def mutate(op: Operation) -> bool:
        if not isinstance(op, AllocOp) or not op.arrive_counts:
            return False
        counts = [max(0, int(count * factor) + plus) for count in op.arrive_counts]
        if 0 in counts:
            return False
        op.properties["init"] = integers_attr(counts)
        return True

    return mutate


def _bytes(plus: int):
    def mutate(op: Operation) -> bool:
        if not isinstance(op, MBarrierExpectTxOp | MBarrierArriveExpectTxOp):
            return False
        size = op.bytes
        assert isinstance(size, int)
        made = type(op)(op.barrier, op.index, size + plus)
        Rewriter().replace_op(op, made)
        return True

    return mutate


def _earlier(op: Operation) -> bool:
    """Arrive before what is released was used."""
    if not isinstance(op, MBarrierArriveOp) or op.prev_op is None:
        return False
    before = op.prev_op
    while before is not None and not before.name.startswith(("tile.gemm", "tile.parallel")):
        before = before.prev_op
    if before is None:
        return False
    op.detach()
    Rewriter().insert_before(before, op)
    return True


def _later(op: Operation) -> bool:
    """Wait after what was waited for was used."""
    after = op.next_op
    wanted = ("tile.gemm", "tile.parallel", "tile.async_copy")
    while after is not None and not after.name.startswith(wanted):
        after = after.next_op
    if not isinstance(op, MBarrierWaitOp) or after is None:
        return False
    op.detach()
    Rewriter().insert_after(after, op)
    return True


_MUTATIONS = {
    "drop": _drop,
    "flip the parity of": _flip,
    "other slot for": _other_slot,
    "one more arrival at": _count(1, 1),
    "one arrival less at": _count(1, -1),
    "twice the arrivals at": _count(2, 0),
    "more bytes in": _bytes(16),
    "fewer bytes in": _bytes(-16),
    "arrive earlier": _earlier,
    "wait later": _later,
}
