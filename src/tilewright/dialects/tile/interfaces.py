"""What any op reads and writes, nested ops included.

``reads``, ``writes`` and ``is_async`` take ops of all dialects. Tile ops implement them
(``access``), ``memref.load`` and ``store`` are known here, and an op with regions accesses what the
ops inside access. Seen from outside, an index that runs over a loop becomes the range it runs over,
and a value that exists only inside becomes "not known"::

    tile.parallel (%i, %j) in (64, 32) {          writes  %f[0 +64, 0 +32]
      memref.store %v, %f[%i, %j]                         reads   %A[%base +64, ? +1]
      ... memref.load %A[%base + %i, %idx] }

``scheduled_ops`` are the ops of a pipelined loop that a schedule places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tilewright.dialects.arith.integer import AddiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Bound,
    Orders,
    RegionAccess,
    Unit,
    base_of,
    element_of,
    region_of,
)
from tilewright.dialects.tile.combiners import CombinerOp
from tilewright.dialects.tile.hints import AssumeOp
from tilewright.dialects.tile.loops import ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.mixed import Mixed, known
from tilewright.dialects.tile.types import space_of
from tilewright.ir.effects import is_removable
from tilewright.ir.traversal import children

Query: TypeAlias = Callable[[RegionAccess], Sequence[AccessedRegion]]


def reads(op: Operation) -> list[AccessedRegion]:
    """The regions that `op` and the ops inside it read."""
    return _accessed(op, lambda each: each.reads(), LoadOp)


def writes(op: Operation) -> list[AccessedRegion]:
    """The regions that `op` and the ops inside it write."""
    return _accessed(op, lambda each: each.writes(), StoreOp)


def is_async(op: Operation) -> bool:
    """Whether `op`, or an op inside it, may still be at work when the next op starts."""
    if isinstance(op, RegionAccess):
        return op.is_async()
    return any(map(is_async, children(op)))


def has_body(op: Operation) -> bool:
    """Whether an op runs ops inside it that access memory; those of a combiner only compute."""
    return bool(op.regions) and not isinstance(op, CombinerOp)


def _accessed(
    op: Operation, query: Query, access: type[LoadOp] | type[StoreOp]
) -> list[AccessedRegion]:
    if isinstance(op, access):
        return [element_of(op.memref, tuple(map(known, op.indices)), _element_unit(op))]
    own = list(query(op)) if isinstance(op, RegionAccess) else []
    inside = [region for child in children(op) for region in _accessed(child, query, access)]
    return [*own, *_distinct(_seen_from(op, region) for region in inside)]


def _element_unit(op: LoadOp | StoreOp) -> Unit:
    space = space_of(op.memref.type)
    return "thread" if space is not None and space.is_per_thread else "threads"


def _distinct(regions: Iterator[AccessedRegion]) -> list[AccessedRegion]:
    return list(dict.fromkeys(regions))


# -- from inside to outside --------------------------------------------------------------------


def _seen_from(op: Operation, region: AccessedRegion) -> AccessedRegion:
    """`region`, found inside `op`, in terms of what is known before `op`."""
    spans = [
        _span_from(op, offset, extent)
        for offset, extent in zip(region.offsets, region.extents, strict=True)
    ]
    return AccessedRegion(
        region.base, tuple(s[0] for s in spans), tuple(s[1] for s in spans), region.unit
    )


def _span_from(op: Operation, offset: Bound, extent: Bound) -> tuple[Bound, Bound]:
    if isinstance(extent, SSAValue) and _is_inside(extent, op):
        return None, None
    if not isinstance(offset, SSAValue) or not _is_inside(offset, op):
        return offset, extent
    outer, run = _split(offset, op)
    if run is None or not isinstance(extent, int):
        return None, None
    start, count = run
    if outer is not None and start != 0:
        return None, None
    return (start if outer is None else outer), _widened(count, extent)


def _widened(count: Mixed, extent: int) -> Bound:
    """How far `extent` elements reach that start at `count` places in a row."""
    if isinstance(count, int):
        return count + extent - 1
    return count if extent == 1 else None


Run: TypeAlias = tuple[Mixed, Mixed]
"""The start of an index, and how many consecutive values it takes."""


def _split(offset: SSAValue, op: Operation) -> tuple[Mixed | None, Run | None]:
    """`offset` as a value from outside of `op` plus an index that `op` runs through."""
    run = _run_of(offset, op)
    if run is not None:
        return None, run
    if not isinstance(offset, OpResult) or not isinstance(offset.op, AddiOp):
        return None, None
    for one, other in (offset.op.operands, tuple(reversed(offset.op.operands))):
        run = _run_of(other, op)
        if run is not None and not _is_inside(one, op):
            return known(one), run
    return None, None


def _run_of(value: SSAValue, op: Operation) -> Run | None:
    """What `value` runs through if it is an index of the loop `op`."""
    if not isinstance(value, BlockArgument) or value.block.parent_op() is not op:
        return None
    if isinstance(op, (ParallelOp, PersistentOp, PipelineOp)):
        lower, upper = op.ranges[value.index]
        return _run(lower, upper)
    if isinstance(op, ForOp) and value.index == 0 and known(op.step) == 1:
        return _run(known(op.lower_bound), known(op.upper_bound))
    return None


def _run(lower: Mixed, upper: Mixed) -> Run | None:
    if isinstance(lower, int) and isinstance(upper, int):
        return lower, max(0, upper - lower)
    return (0, upper) if lower == 0 else None


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined by an op or block inside `op`."""
    return op.is_ancestor(value.owner) and value.owner is not op


# -- schedules ---------------------------------------------------------------------------------


def scheduled_ops(loop: PipelineOp) -> list[Operation]:
    """The ops of the body that a schedule places: those with effects that others can see.

    Pure ops and assumptions follow their users. So do ops that only read, unless they read what the
    body writes.
    """
    body = [op for op in loop.body.block.ops if op is not loop.body.block.last_op]
    written = {region.base for op in body for region in writes(op)}
    return [op for op in body if _is_scheduled(op, written)]


def _is_scheduled(op: Operation, written: set[SSAValue]) -> bool:
    if isinstance(op, AssumeOp):
        return False
    if not is_removable(op):
        return True
    return any(region.base in written for region in reads(op))


__all__ = [
    "AccessedRegion",
    "Orders",
    "RegionAccess",
    "Unit",
    "base_of",
    "has_body",
    "is_async",
    "reads",
    "region_of",
    "scheduled_ops",
    "writes",
]
