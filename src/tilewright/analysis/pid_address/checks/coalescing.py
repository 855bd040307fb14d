"""Is an access coalesced, and if not, what prevents it?

The verdict is that of the lane facts: as few 32-byte sectors as the bytes need. Two notes are not
defects: runs that start at badly aligned addresses, and a store that needs another lane order than
the load that feeds it, so that data has to move between threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.affine.arrays import IntArray
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Counterexample,
    Finding,
    Method,
    Point,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.lanes import MAX_VECTOR_BYTES, SECTOR_BYTES
from tilewright.analysis.pid_address.report import AccessKind, MemoryOp, poly_text
from tilewright.dialects.tt import StoreOp

MAX_LANES = 1 << 22
# Values go through these without a change of their lanes.
_MOVING = frozenset({"tt.trans", "tt.reshape", "tt.dot", "tt.reduce", "tt.gather", "tt.load"})


def check(launch: Launch) -> list[Finding]:
    accesses = launch.report.accesses
    findings = [_verdict(access) for access in accesses]
    findings += filter(None, map(_alignment, accesses))
    findings += _orders(launch)
    return findings


def _verdict(access: MemoryOp) -> Finding:
    index = (access.index,)
    strides = ", ".join(poly_text(stride) for stride in access.lane_strides)
    if access.coalesced is True:
        message = f"{access.name} is coalesced: no more sectors than its bytes need"
        return Finding(Check.COALESCE, CheckResult.PROVED, index, None, Method.LANE_FACTS, message)
    hint = _hint(access)
    if access.coalesced is None:
        message = f"{access.name} may be uncoalesced: lanes are {strides} bytes apart; {hint}"
        return Finding(Check.COALESCE, CheckResult.UNKNOWN, index, None, Method.LANE_FACTS, message)
    message = f"{access.name} is not coalesced: lanes are {strides} bytes apart"
    counted = sectors(access)
    if counted is not None:
        message += f", {counted[0]} sectors of {SECTOR_BYTES} bytes instead of {counted[1]}"
    witness = Counterexample(_adjacent_lanes(access), None)
    return Finding(
        Check.COALESCE,
        CheckResult.REFUTED,
        index,
        witness,
        Method.LANE_FACTS,
        f"{message}; {hint}",
    )


def lane_offsets(access: MemoryOp) -> IntArray | None:
    """Bytes from the first lane to every lane, if they are integers."""
    if prod(access.shape) > MAX_LANES:
        return None
    total = np.zeros((1,) * len(access.shape), dtype=np.int64)
    for dim, (stride, extent) in enumerate(zip(access.lane_strides, access.shape, strict=True)):
        step = None if stride is None else stride.constant
        if step is None:
            return None
        extents = [1] * len(access.shape)
        extents[dim] = -1
        total = total + step * np.arange(extent, dtype=np.int64).reshape(extents)
    return total


def sectors(access: MemoryOp) -> tuple[int, int] | None:
    """(sectors accessed, fewest possible), every run assumed to start on a sector."""
    offsets = lane_offsets(access)
    if offsets is None:
        return None
    unique = np.unique(offsets)
    starts = np.flatnonzero(
        np.diff(unique, prepend=unique[0] - 2 * access.elem_bytes) != access.elem_bytes
    )
    lengths = np.diff(np.append(starts, len(unique))) * access.elem_bytes
    accessed = int(np.sum(-(-lengths // SECTOR_BYTES)))
    return accessed, -(-int(lengths.sum()) // SECTOR_BYTES)


def _hint(access: MemoryOp) -> str:
    for stride in access.lane_strides:
        argument = _factor(stride, access.elem_bytes)
        if argument is not None:
            return f"{argument} is a run-time value: if it is 1, make it a constant"
    if access.order and access.contiguity[access.order[0]] > 1:
        runs = access.contiguity[access.order[0]] * access.elem_bytes
        return f"dimension {access.order[0]} is the fast one, with runs of {runs} bytes"
    if any(stride is None for stride in access.lane_strides):
        return "the address of a lane depends on more than its index"
    return "no dimension is contiguous"


def _factor(stride: Poly | None, elem_bytes: int) -> str | None:
    """The argument x of a stride ``x * elem_bytes``."""
    atom = None if stride is None else stride.atom
    if stride is None or atom is None or kind_of(atom) != "arg":
        return None
    return atom.name if stride.content == elem_bytes * atom.divisor else None


def _adjacent_lanes(access: MemoryOp) -> tuple[Point, ...]:
    """The first two lanes along the fast dimension."""
    counters = tuple((loop.name, 0) for loop in access.loops)
    second = [0] * len(access.shape)
    if access.order:
        second[access.order[0]] = min(1, access.shape[access.order[0]] - 1)
    lanes = ([0] * len(access.shape), second)
    return tuple(Point(access.index, (0, 0, 0), counters, tuple(at)) for at in lanes)


# Notes.


def _alignment(access: MemoryOp) -> Finding | None:
    """Long runs from a badly aligned start, and the term that spoils it."""
    run, align = access.block_size * access.elem_bytes, access.align_bytes
    if align is None or run < SECTOR_BYTES or align >= MAX_VECTOR_BYTES:
        return None
    message = (
        f"{access.name} reads or writes runs of {run} bytes whose starts are only known to be "
        f"multiples of {align}: {_culprit(access)}"
    )
    return Finding(
        Check.ALIGNMENT, CheckResult.UNKNOWN, (access.index,), None, Method.LANE_FACTS, message
    )


def _culprit(access: MemoryOp) -> str:
    base = access.base_divisibility or access.elem_bytes
    if base < MAX_VECTOR_BYTES:
        return f"the address {access.base} itself has no better divisibility"
    worst = min(_terms(access), key=lambda item: item[1], default=None)
    if worst is None:
        return "the address is not affine"
    term, size = worst
    what = "the constant offset" if term.constant is not None else "the term"
    return f"{what} {term} is only known to be a multiple of {size}"


def _terms(access: MemoryOp) -> Iterator[tuple[Poly, int]]:
    offset = access.offset
    lane = access.lanes[access.order[0]] if access.order else None
    for monomial, coefficient in offset.terms.items():
        if lane is None or lane.id not in monomial:
            yield Poly(offset.space, {monomial: coefficient}), gcd(coefficient, 1 << 30)


def _orders(launch: Launch) -> Iterator[Finding]:
    """Stores and the loads that feed them, where their fast dimensions differ."""
    loads = {a.operation: a for a in launch.report.accesses if a.kind is AccessKind.LOAD}
    for store in launch.report.accesses:
        if not isinstance(store.operation, StoreOp) or len(store.shape) < 2:
            continue
        for op in _sources(store.operation.value):
            load = loads.get(op)
            if load is None or load.shape != store.shape or load.order[0] == store.order[0]:
                continue
            if min(a.contiguity[a.order[0]] for a in (load, store)) == 1:
                continue
            message = (
                f"{load.name} and {store.name} need different lane orders, {list(load.order)} and "
                f"{list(store.order)}: a layout conversion is required"
            )
            yield Finding(
                Check.ORDER,
                CheckResult.REFUTED,
                (load.index, store.index),
                None,
                Method.LANE_FACTS,
                message,
            )


def _sources(value: SSAValue) -> list[Operation]:
    """Loads whose lanes arrive in a value as they are."""
    found: list[Operation] = []
    work, seen = [value], set[SSAValue]()
    while work:
        current = work.pop()
        if current in seen or not isinstance(current.owner, Operation):
            continue
        seen.add(current)
        op = current.owner
        if op.name == "tt.load":
            found.append(op)
        if op.name not in _MOVING and not op.regions:
            work.extend(op.operands)
    return found
