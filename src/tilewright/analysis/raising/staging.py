"""Which tiles go to global memory through shared memory.

A thread owns pairs of elements of a GEMM's result: stored directly, 16-bit elements leave 16 bytes
of a row at a time. Copied to shared memory first, rows leave in whole lines, by TMA where there is
one. The tile needs memory beside what is live at the store: the buffers of pipelined loops that the
same outer loop contains, because their copies run ahead, and buffers of the user that are in use
(`user_buffers`). Other buffers are dead by then: the tile may overlap them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from xdsl.ir import Operation

from tilewright.analysis.raising.loops import LoopPlan
from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.regions import is_from_gemm, stored_value
from tilewright.analysis.raising.shared import BYTE, RESERVED_BYTES, live_bytes
from tilewright.analysis.raising.slots import Slots
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.type_utils import bit_width, shape_of
from tilewright.ir.traversal import enclosing

MAX_BYTES = 2
"""Larger elements leave at least 32 bytes of a row at a time."""
MIN_ROW_BYTES = 64


def plan_staging(
    copies: frozenset[Operation],
    accesses: Mapping[Operation, Access],
    slots: Slots,
    loops: Mapping[Operation, LoopPlan],
    shared_bytes: int,
    user_bytes: Callable[[Operation], int],
) -> frozenset[Operation]:
    """The stores that go through shared memory, of which a block has `shared_bytes`.

    `user_bytes` is what the user's buffers take of it at a store.
    """
    found: set[Operation] = set()
    for op in copies:
        if op.results or not is_from_gemm(stored_value(op)):
            continue
        slot = slots.of.get(stored_value(op))
        size = bit_width(accesses[op].element) // BYTE
        if slot is None or slot.is_shared or not 0 < size <= MAX_BYTES:
            continue
        shape = shape_of(stored_value(op).type)
        needed = prod(shape) * size
        if len(shape) != 2 or shape[1] * size < MIN_ROW_BYTES:
            continue
        live = _live_bytes(op, slots, loops) + user_bytes(op)
        if needed + live + RESERVED_BYTES <= shared_bytes:
            found.add(op)
    return frozenset(found)


def _live_bytes(store: Operation, slots: Slots, loops: Mapping[Operation, LoopPlan]) -> int:
    """The buffers whose loops run again after the store."""
    outer = enclosing(store, ForOp, WhileOp)
    return 0 if outer is None else live_bytes(outer, slots, loops)
