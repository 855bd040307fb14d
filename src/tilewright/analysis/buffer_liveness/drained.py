"""Barriers between partitions that are all waited for when ``warp_specialize`` is left.

A producer issues expect-tx on a barrier and starts copies, or a tensor core signals one; a consumer
in another partition waits for it. The element of the array changes with the iteration, but trip
counts can be compared: where every expect-tx has a wait that runs as many times (the same loops
with the same bounds, under no condition), all that work has completed when both partitions are
done::

    partition0: for k in 0..K step 64 { wait full[i], phase; ... }
    partition1: for k in 0..K step 64 { barrier_expect full[j]; copy -> full[j] }

That holds if the first wait is for the first phase. The slots of a ring buffer are released the
other way round: in the first iteration they are empty, its wait passes at once, and no partition
waits for the phases of the last iterations. So the first wait must be for parity 0, one partition
must perform all the waits, and nothing else may have advanced the barrier: no plain arrival, and no
expect-tx before the partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, Region, SSAValue

from tilewright.analysis.buffer_liveness.op_effects import (
    AllocationOp,
    Engine,
    InvalBarrierOp,
    WaitBarrierOp,
    barriers_of,
    engine_of,
    is_true,
    signals,
)
from tilewright.analysis.buffer_liveness.roots import BufferRoots, captured
from tilewright.dialects.folding import fold
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg.warps import WarpSpecializeOp, WarpSpecializePartitionsOp
from tilewright.dialects.ttng import BarrierExpectOp, InitBarrierOp, TCGen5CommitOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

LoopBounds = tuple[tuple[object, ...], ...]
"""The bounds of the loops around an op: equal ones have equal trip counts."""

_ARMED_COPIES = (
    "ttng.async_tma_copy_global_to_local",
    "ttng.async_tma_gather",
    "ttng.async_bulk_copy_global_to_local",
)


def drained_barriers(op: WarpSpecializeOp, roots: BufferRoots) -> frozenset[AllocationOp]:
    """The arrays of barriers with as many waits as armings in the regions of `op`."""
    armed: dict[AllocationOp, Counter[LoopBounds | None]] = {}
    waited: dict[AllocationOp, Counter[LoopBounds | None]] = {}
    waiting: dict[AllocationOp | None, Region] = {}
    doubtful = _moved_elsewhere(op, roots)
    for each in walk(op):
        if isinstance(each, BarrierExpectOp):
            _count(armed, each, each.alloc, op, roots)
        elif engine_of(each) is Engine.TENSOR_CORE or isinstance(each, TCGen5CommitOp):
            for signal in signals(each):
                _count(armed, each, signal.barrier, op, roots)
        elif isinstance(each, WaitBarrierOp) and is_true(each.pred):
            _count(waited, each, each.alloc, op, roots)
            region = _partition(each, op)
            for root in roots.of(each.alloc):
                if _first_value(each.phase) != 0 or waiting.setdefault(root, region) is not region:
                    doubtful.add(root)
    return frozenset(
        root
        for root, bounds in armed.items()
        if None not in bounds and waited.get(root) == bounds and root not in doubtful
    )


def _moved_elsewhere(op: WarpSpecializeOp, roots: BufferRoots) -> set[AllocationOp | None]:
    """The arrays whose phases are advanced by more than what is counted in the regions of `op`."""
    found: set[AllocationOp | None] = set()
    for each in _up_to(op):
        if isinstance(each, InitBarrierOp | InvalBarrierOp | WaitBarrierOp):
            continue
        is_counted = op.is_ancestor(each) and _is_counted(each)
        for barrier in barriers_of(each):
            if not is_counted or roots.single(barrier) is None:
                found |= roots.of(barrier)
    return found


def _up_to(op: WarpSpecializeOp) -> Iterator[Operation]:
    """Ops that may run before `op` is left: all of the function if control may return to it."""
    outer = op.parent_op()
    if isinstance(outer, FuncOp) and len(outer.regions[0].blocks) == 1:
        for each in outer.regions[0].blocks[0].ops:
            yield from walk(each)
            if each is op:
                return
    while outer is not None and not isinstance(outer, FuncOp):
        outer = outer.parent_op()
    if outer is not None:
        yield from walk(outer)


def _is_counted(each: Operation) -> bool:
    if isinstance(each, BarrierExpectOp | TCGen5CommitOp):
        return True
    # Copies complete bytes of the phase of their `barrier_expect`.
    return engine_of(each) is Engine.TENSOR_CORE or each.name in _ARMED_COPIES


def _partition(each: Operation, op: WarpSpecializeOp) -> Region:
    """The region of `op` that `each` is in."""
    region = each.parent_region()
    while region is not None:
        parent = region.parent
        if parent is op or isinstance(parent, WarpSpecializePartitionsOp):
            return region
        region = None if parent is None else parent.parent_region()
    raise AssertionError("every op that `walk` finds in an op is in one of its regions")


def _first_value(value: SSAValue) -> int | None:
    """The value when control reaches it for the first time, if it is a constant."""
    known = _first_constant(value, {})
    return known.value.data if isinstance(known, IntegerAttr) else None


def _first_constant(value: SSAValue, known: dict[SSAValue, Attribute | None]) -> Attribute | None:
    value = captured(value)
    if value not in known:
        known[value] = None
        known[value] = _first_of(value, known)
    return known[value]


def _first_of(value: SSAValue, known: dict[SSAValue, Attribute | None]) -> Attribute | None:
    owner = value.owner
    if not isinstance(owner, Operation):
        loop = owner.parent_op()
        if not isinstance(loop, ForOp) or not isinstance(value, BlockArgument):
            return None
        start = loop.lower_bound if value.index == 0 else loop.init_args[value.index - 1]
        return _first_constant(start, known)
    if (constant := constant_value(value)) is not None:
        return constant
    if not isinstance(value, OpResult) or owner.regions:
        return None
    results = fold(owner, [_first_constant(operand, known) for operand in owner.operands])
    if not results:
        return None
    result = results[value.index]
    return _first_constant(result, known) if isinstance(result, SSAValue) else result


def _count(
    counts: dict[AllocationOp, Counter[LoopBounds | None]],
    each: Operation,
    barrier: SSAValue,
    op: WarpSpecializeOp,
    roots: BufferRoots,
) -> None:
    root = roots.single(barrier)
    if root is not None:
        counts.setdefault(root, Counter())[_loop_bounds(each, op)] += 1


def _loop_bounds(each: Operation, op: WarpSpecializeOp) -> LoopBounds | None:
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
