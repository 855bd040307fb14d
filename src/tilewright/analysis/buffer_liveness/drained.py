"""Barriers between partitions that are all waited for when ``warp_specialize`` is left.

A producer arms a barrier and starts copies, or a tensor core reports to one; a consumer in another
partition waits for it. Which element of the array is meant changes from turn to turn, but turns can
be counted: where every arming has a wait that runs as often (the same loops with the same bounds,
under no condition), all that work has been waited for when both partitions are through::

    partition0: for k in 0..K step 64 { wait full[i]; ... }
    partition1: for k in 0..K step 64 { barrier_expect full[j]; copy -> full[j] }
"""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.buffer_liveness.facts import (
    AllocationOp,
    Engine,
    WaitBarrierOp,
    engine_of,
    is_true,
    signals,
)
from tilewright.analysis.buffer_liveness.roots import BufferRoots, captured
from tilewright.dialects.scf import ForOp
from tilewright.dialects.ttg.warps import WarpSpecializeOp, WarpSpecializePartitionsOp
from tilewright.dialects.ttng import BarrierExpectOp, TCGen5CommitOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

Turns = tuple[tuple[object, ...], ...]
"""The bounds of the loops around an op: equal ones make equally many turns."""


def drained_barriers(op: WarpSpecializeOp, roots: BufferRoots) -> frozenset[AllocationOp]:
    """The arrays of barriers with as many waits as armings in the regions of `op`."""
    armed: dict[AllocationOp, Counter[Turns | None]] = {}
    waited: dict[AllocationOp, Counter[Turns | None]] = {}
    for each in walk(op):
        if isinstance(each, BarrierExpectOp):
            _count(armed, each, each.alloc, op, roots)
        elif engine_of(each) is Engine.TENSOR_CORE or isinstance(each, TCGen5CommitOp):
            for signal in signals(each):
                _count(armed, each, signal.barrier, op, roots)
        elif isinstance(each, WaitBarrierOp) and is_true(each.pred):
            _count(waited, each, each.alloc, op, roots)
    return frozenset(
        root for root, turns in armed.items() if None not in turns and waited.get(root) == turns
    )


def _count(
    counts: dict[AllocationOp, Counter[Turns | None]],
    each: Operation,
    barrier: SSAValue,
    op: WarpSpecializeOp,
    roots: BufferRoots,
) -> None:
    root = roots.single(barrier)
    if root is not None:
        counts.setdefault(root, Counter())[_turns(each, op)] += 1


def _turns(each: Operation, op: WarpSpecializeOp) -> Turns | None:
    found: list[tuple[object, ...]] = []
    outer = each.parent_op()
    while outer is not None and outer is not op:
        if isinstance(outer, ForOp):
            found.append(
                tuple(
                    _identity(bound) for bound in (outer.lower_bound, outer.upper_bound, outer.step)
                )
            )
        elif not isinstance(outer, WarpSpecializePartitionsOp):
            return None
        outer = outer.parent_op()
    return tuple(found)


def _identity(value: SSAValue) -> object:
    """The same for values that are certainly equal in all partitions."""
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return constant.value.data
    return captured(value)
