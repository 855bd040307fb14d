"""Shared memory of a raised kernel: buffers, their versions, and stages that fit.

A pipelined loop has a version of each of its buffers for each stage. Copies of one loop run ahead
of the loop before it, so that the buffers of all loops are live at once, but for those that loops
in sequence share (`sequence`). Where they are more than a block has, the loop with the most memory
gets a stage less; of equal ones the last, which most often has the fewest iterations (the diagonal
of causal attention).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from xdsl.ir import Operation

from tilewright.analysis.raising.loops import LoopPlan
from tilewright.analysis.raising.slots import Slot, Slots
from tilewright.dialects.tt import DotScaledOp, FuncOp
from tilewright.dialects.type_utils import bit_width, shape_of
from tilewright.ir.traversal import walk

BYTE = 8
RESERVED_BYTES = 2048
"""Barriers, and what reductions exchange."""
_WIDE_BYTES = 2
"""Of an element of a scaled GEMM, times its scale."""


def slot_bytes(slot: Slot) -> int:
    return prod(slot.shape) * bit_width(slot.element) // BYTE


def live_bytes(root: Operation, slots: Slots, loops: Mapping[Operation, LoopPlan]) -> int:
    """The shared buffers that ops inside `root` use, all versions of them."""
    return sum(slot_bytes(slot) * count for slot, count in _versions(walk(root), slots, loops))


def _versions(
    ops: Iterable[Operation], slots: Slots, loops: Mapping[Operation, LoopPlan]
) -> Iterable[tuple[Slot, int]]:
    found: dict[Slot, int] = {}
    for op in ops:
        parent = op.parent_op()
        plan = None if parent is None else loops.get(parent)
        for result in op.results:
            slot = slots.of.get(result)
            if slot is not None and slot.is_shared:
                count = 1 if plan is None else max(plan.stages, 1)
                found[slot.memory] = max(found.get(slot.memory, 0), count)
    return found.items()


def fit_stages(
    function: FuncOp, slots: Slots, loops: Mapping[Operation, LoopPlan], shared_bytes: int
) -> dict[Operation, LoopPlan]:
    """The loops, with as many stages as fit."""
    found = dict(loops)
    other = RESERVED_BYTES + _scaled_bytes(function)
    while live_bytes(function, slots, found) + other > shared_bytes:
        pipelined = [loop for loop, plan in found.items() if plan.stages > 1]
        if not pipelined:
            break
        sizes = {loop: live_bytes(loop, slots, found) for loop in reversed(pipelined)}
        largest = max(sizes, key=lambda loop: sizes[loop])
        plan = found[largest]
        found[largest] = replace(plan, stages=plan.stages - 1 if plan.stages > 2 else 0)
    return found


def _scaled_bytes(function: FuncOp) -> int:
    """Operands of scaled GEMMs, once more in the type of the GEMM."""
    return sum(
        sum(shape_of(op.d.type)) * op.k * _WIDE_BYTES
        for op in walk(function)
        if isinstance(op, DotScaledOp)
    )
