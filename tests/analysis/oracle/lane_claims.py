"""Claims about the lanes of an access: strides, runs, sectors, alignment, vectors.

Each check yields what contradicts its claim, in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.analysis.oracle.cases import Case, known
from tests.analysis.oracle.recording import Array

SECTOR_BYTES = 32


def groups_along(array: Array, dim: int, size: int) -> Array:
    """[..., group, lane in group] along a dimension of lanes (axis 0 is the execution)."""
    moved = np.moveaxis(array, dim + 1, -1)
    return moved.reshape((*moved.shape[:-1], moved.shape[-1] // size, size))


def _lane_strides(case: Case) -> Iterator[str]:
    if not case.runs:
        return
    for dim, stride in enumerate(case.access.lane_strides):
        claimed = None if stride is None else case.batch.value(stride)
        if claimed is None or case.access.shape[dim] == 1:
            continue
        steps = np.diff(case.addresses, axis=dim + 1)
        wanted = np.take(claimed, range(case.access.shape[dim] - 1), axis=dim + 1)
        if np.any((steps != wanted) & known(case)):
            yield f"dimension {dim}: claimed {stride}, found {np.unique(steps)[:4]}"


def _contiguity(case: Case) -> Iterator[str]:
    access = case.access
    if not case.runs:
        return
    for dim, size in enumerate(access.contiguity):
        if access.shape[dim] % size:
            yield f"dimension {dim}: groups of {size} in {access.shape[dim]} lanes"
            continue
        groups = groups_along(case.addresses, dim, size)
        if np.any(np.diff(groups, axis=-1) != access.elem_bytes):
            yield f"dimension {dim}: groups of {size} that do not rise by one element"
    wanted = sorted(range(len(access.shape)), key=lambda d: (-access.contiguity[d], -d))
    if list(access.order) != wanted:
        yield f"order {access.order} for contiguity {access.contiguity}"


def _block_size(case: Case) -> Iterator[str]:
    if not case.runs:
        return
    size = case.access.elem_bytes
    for at, addresses in case.some():
        shortest = min(byte_runs(addresses, size))
        if shortest < case.access.block_size * size:
            yield f"{case.whens[at]}: claimed {case.access.block_size}, a run of {shortest} bytes"
            return


def byte_runs(addresses: Array, size: int) -> list[int]:
    """Lengths in bytes of the maximal runs of bytes that elements at `addresses` cover."""
    starts = np.unique(addresses)
    breaks = np.flatnonzero(np.diff(starts) > size) + 1
    firsts, lasts = np.r_[0, breaks], np.r_[breaks, starts.size] - 1
    return [int(n) for n in starts[lasts] - starts[firsts] + size]


def _coalesced(case: Case) -> Iterator[str]:
    """Sectors touched against sectors needed, every run taken as starting on a sector.

    Rows that overlap in part (a row stride that is shorter than the row) need what they would need
    apart: the claim is about rows, and strides are arguments.
    """
    if case.access.coalesced is None or not case.runs:
        return
    size = case.access.elem_bytes
    for at, addresses in case.some():
        runs = byte_runs(addresses, size)
        sectors = sum(-(-run // SECTOR_BYTES) for run in runs)
        needed = -(-sum(runs) // SECTOR_BYTES)
        _, times = np.unique(addresses, return_counts=True)
        if case.access.coalesced and np.any(times != times[0]):
            needed = max(needed, min(sectors, -(-addresses.size * size // SECTOR_BYTES)))
        if (sectors == needed) != case.access.coalesced:
            claimed = case.access.coalesced
            yield f"{case.whens[at]}: claimed {claimed}, {sectors} sectors, {needed} needed"
            return


def _align_bytes(case: Case) -> Iterator[str]:
    access = case.access
    if access.align_bytes is None or not case.runs:
        return
    firsts = case.addresses
    if access.order:
        fast = access.order[0]
        if access.shape[fast] % access.contiguity[fast]:
            return
        firsts = groups_along(case.addresses, fast, access.contiguity[fast])[..., 0]
    if np.any(firsts % access.align_bytes):
        yield f"claimed {access.align_bytes}, found {np.unique(firsts % access.align_bytes)[:4]}"


def _mask_constancy(case: Case) -> Iterator[str]:
    access = case.access
    if not case.runs or not access.order:
        return
    fast, size = access.order[0], access.mask_constancy
    if access.shape[fast] % size:
        yield f"groups of {size} in {access.shape[fast]} lanes"
        return
    groups = groups_along(case.mask, fast, size)
    if np.any(groups != groups[..., :1]):
        yield f"the mask changes inside groups of {size}"


def _vector_bits(case: Case) -> Iterator[str]:
    access = case.access
    if access.vector_bits is None or not case.runs:
        return
    size = access.elem_bytes
    lanes = access.vector_bits // (8 * size)
    if lanes == 1:
        return
    fast = access.order[0]
    if lanes * size > 16 or access.shape[fast] % lanes:
        yield f"{lanes} lanes of {size} bytes"
        return
    groups = groups_along(case.addresses, fast, lanes)
    if np.any(np.diff(groups, axis=-1) != size):
        yield f"groups of {lanes} that are not contiguous"
    if np.any(groups[..., 0] % (lanes * size)):
        yield f"groups of {lanes} that are not aligned"
    chosen = groups_along(case.mask, fast, lanes)
    if np.any(chosen != chosen[..., :1]):
        yield f"the mask changes inside groups of {lanes}"


LANE_CHECKS: tuple[Callable[[Case], Iterator[str]], ...] = (
    _lane_strides,
    _contiguity,
    _block_size,
    _coalesced,
    _align_bytes,
    _mask_constancy,
    _vector_bits,
)
