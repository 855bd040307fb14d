"""Atomic updates: of every element of a tensor, or one of the block.

The update of a scalar is code of the block: it happens once a program, and its result and memory
order are for all threads (``wrap-block-atomics``).
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicRMWOp,
    AtomicStoreOp,
    DescriptorReduceOp,
)
from tilewright.dialects.tt.enums import (
    DESCRIPTOR_REDUCE_KIND,
    MEM_SEMANTIC,
    MEM_SYNC_SCOPE,
    RMW_OP,
)
from tilewright.dialects.type_utils import is_tensor
from tilewright.passes.raising.accesses import Update, atomic_element
from tilewright.passes.raising.expressions import Point
from tilewright.passes.raising.groups import flush
from tilewright.passes.raising.moves import store_to
from tilewright.passes.raising.state import Raising
from tilewright.passes.raising.writes import write


def _update(state: Raising, op: Operation, update: Update) -> None:
    """Update elements; what they held before goes to the buffer of the result, if it is used."""
    result = op.results[0] if op.results else None
    wants_old = result is not None and result.first_use is not None
    if not is_tensor(update.value.type):
        flush(state)
        point = Point(state.at, state.at)
        old = atomic_element(state, op, update, (), point, wants_old=wants_old)
        if old is not None and result is not None:
            old.name_hint = result.name_hint
            state.scalars[result] = old
        return
    slot = state.slot(result) if result is not None and wants_old else None

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        old = atomic_element(state, op, update, indices, point, wants_old=wants_old)
        if old is not None and result is not None and slot is not None:
            store_to(state, slot, old, indices, point)
            point.known[result, indices] = old

    writes = () if slot is None else (slot,)
    defines = () if slot is None or result is None else (result,)
    write(state, op, update.value, run, writes, defines)


def _rmw(state: Raising, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    order, scope = MEM_SEMANTIC.keyword(op.sem), MEM_SYNC_SCOPE.keyword(op.scope)
    _update(state, op, Update(RMW_OP.keyword(op.atomic_rmw_op), op.val, order, scope))


def _cas(state: Raising, op: Operation) -> None:
    assert isinstance(op, AtomicCASOp)
    order, scope = MEM_SEMANTIC.keyword(op.sem), MEM_SYNC_SCOPE.keyword(op.scope)
    _update(state, op, Update("cas", op.val, order, scope, compare=op.cmp))


def _store(state: Raising, op: Operation) -> None:
    assert isinstance(op, AtomicStoreOp)
    order, scope = MEM_SEMANTIC.keyword(op.sem), MEM_SYNC_SCOPE.keyword(op.scope)
    _update(state, op, Update("store", op.value, order, scope))
    flush(state)


def _descriptor_reduce(state: Raising, op: Operation) -> None:
    assert isinstance(op, DescriptorReduceOp)
    _update(state, op, Update(DESCRIPTOR_REDUCE_KIND.keyword(op.kind), op.src))


EMITTERS = {
    "tt.atomic_rmw": _rmw,
    "tt.atomic_cas": _cas,
    "tt.atomic_store": _store,
    "tt.descriptor_reduce": _descriptor_reduce,
}
