"""What a compiler needs to know to fetch the data of a loop's later iterations early."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.analysis.affine.arrays import IntArray
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.coalescing import lane_offsets
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Finding,
    Hint,
    Method,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.report import AccessKind, LoopStride, MemoryOp

MAX_COMPARED = 64
"""Iterations that are compared with the first one."""
TMA_BYTES = 16
"""What the strides and the start of a box must be multiples of."""


def check(launch: Launch) -> list[Finding]:
    return [
        _finding(launch, access)
        for access in launch.report.accesses
        if access.kind is AccessKind.LOAD and access.loop_strides
    ]


def _finding(launch: Launch, access: MemoryOp) -> Finding:
    hint = hint_of(launch, access)
    message = f"{access.name} in the loop over {hint.loop}: {hint.bytes_per_iteration} bytes each"
    message += " time" if hint.stride is None else f" time, {hint.stride} bytes apart"
    notes = {
        "iterations do not overlap": hint.disjoint is True,
        "iterations overlap": hint.disjoint is False,
        "suitable for a TMA copy": hint.tma,
        "the next program reads the next block": hint.next_block is True,
        "the address needs a value loaded in the loop": not hint.ahead,
    }
    message += "".join(f"; {text}" for text, applies in notes.items() if applies)
    verdict = CheckResult.PROVED if hint.ahead else CheckResult.UNKNOWN
    return Finding(
        Check.PREFETCH,
        verdict,
        (access.index,),
        None,
        Method.LANE_FACTS,
        message,
        hint=hint,
    )


def hint_of(launch: Launch, access: MemoryOp) -> Hint:
    """For the innermost loop."""
    inner = access.loop_strides[-1]
    offsets = lane_offsets(access)
    offsets_used = None if offsets is None else np.unique(offsets)
    accessed = prod(access.shape) if offsets_used is None else len(offsets_used)
    extent = (
        None
        if offsets_used is None
        else int(offsets_used[-1] - offsets_used[0]) + access.elem_bytes
    )
    return Hint(
        inner.loop.name,
        accessed * access.elem_bytes,
        None if inner.stride is None else str(inner.stride),
        _disjoint(inner, offsets_used, access.elem_bytes),
        _ahead(access, inner),
        _is_box(launch, access),
        _reads_next_block(access, extent),
    )


def _disjoint(inner: LoopStride, offsets_used: IntArray | None, size: int) -> bool | None:
    """Whether no two iterations overlap, by comparing the first one with the next that could."""
    step = None if inner.stride is None else inner.stride.constant
    if step is None or offsets_used is None:
        return None
    if step == 0:
        return False
    reach = -(-(int(offsets_used[-1] - offsets_used[0]) + size) // abs(step)) - 1
    trips = None if inner.loop.trips is None else inner.loop.trips.constant
    reach = reach if trips is None else min(reach, trips - 1)
    if reach > MAX_COMPARED:
        return None
    return not any(
        _overlap(offsets_used, offsets_used + k * abs(step), size) for k in range(1, reach + 1)
    )


def _overlap(left: IntArray, right: IntArray, size: int) -> bool:
    """Whether two sorted lists of elements share a byte."""
    at = np.searchsorted(left, right, side="right")
    before = np.where(at > 0, right - left[np.maximum(at - 1, 0)] < size, False)
    last = len(left) - 1
    after = np.where(at <= last, left[np.minimum(at, last)] - right < size, False)
    return bool(np.any(before | after))


def _ahead(access: MemoryOp, inner: LoopStride) -> bool:
    """Whether no opaque value in the address changes from iteration to iteration."""
    counter = inner.loop.counter.name
    opaque = [atom for atom in access.offset.atoms_within() if atom.is_opaque]
    space = access.offset.space
    names = [space.dep_names(atom.deps_mask) for atom in opaque]
    return not any(counter in deps for deps in names)


def _is_box(launch: Launch, access: MemoryOp) -> bool:
    """All rows of a box of memory, as a tensor-memory copy wants them."""
    if not access.shape or (access.base_divisibility or 1) % TMA_BYTES:
        return False
    context = launch.region(access).context()
    fast = access.order[0]
    for dim, stride in enumerate(access.lane_strides):
        if stride is None or any(kind_of(a) in ("pid", "it") for a in stride.atoms_within()):
            return False
        if dim == fast:
            if stride.constant != access.elem_bytes:
                return False
        elif not context.is_multiple(stride, TMA_BYTES):
            return False
    return True


def _reads_next_block(access: MemoryOp, extent: int | None) -> bool | None:
    """Whether program p + 1 starts where program p ends."""
    strides = list(access.pid_strides.values())
    if extent is None or len(strides) != 1 or strides[0] is None:
        return None
    step = strides[0].constant
    return None if step is None else abs(step) == extent
