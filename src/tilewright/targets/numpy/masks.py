"""Parts of a masked access that need no mask.

A mask is a conjunction of terms. A term that varies along one axis of the block, true for a run of
lanes (`columns < n`), only makes the block smaller: it is *cropped* away, from the address, the
values and the other terms. What then is left often holds for all but the last programs of the
batch: those before them need no mask either. Both matter because an access without a mask
can be copied as whole windows.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tilewright.targets.numpy.api import Array
from tilewright.targets.numpy.terms import Parts

Box: TypeAlias = tuple[slice, ...]
"""One slice per axis of the block, programs included."""


def conjunction(live: Parts) -> Array:
    mask = live[0]
    for term in live[1:]:
        mask = mask & term
    return mask


def crop(live: Parts, rank: int) -> tuple[Box, Parts] | None:
    """The box outside which a term is false for everybody, and the terms still to be looked at;
    None if no term makes such a box."""
    left: list[Array] = []
    cropped: list[slice] = [slice(None)] * rank
    for term in live:
        run = _run(term)
        if run is None:
            left.append(term)
            continue
        axis, first, end = run
        # Two terms along one axis: the box is where both hold.
        before = cropped[axis]
        if before != slice(None):
            first, end = max(first, before.start), min(end, before.stop)
        cropped[axis] = slice(first, max(first, end))
    if len(left) == len(live):
        return None
    box = tuple(cropped)
    return box, tuple([inside(term, box) for term in left])


def inside(term: Array, box: Box) -> Array:
    """What `term` holds in the box; it does not change along axes where its extent is 1."""
    if not term.shape:
        return term
    where = tuple(
        [part if extent > 1 else slice(None) for part, extent in zip(box, term.shape, strict=True)]
    )
    return np.asarray(term)[where]


def full_programs(mask: Array) -> int:
    """How many programs come before the first one with a lane in the mask."""
    if not mask.shape:
        return 0
    full: Array = np.logical_and.reduce(np.asarray(mask).reshape(mask.shape[0], -1), axis=1)
    return len(full) if bool(full.all()) else int(full.argmin())


def _run(term: Array) -> tuple[int, int, int] | None:
    """Axis, begin and end of the lanes where `term` holds, if it varies along one axis other than
    that of the programs and holds for one run of lanes."""
    axes = [axis for axis, extent in enumerate(term.shape) if extent > 1]
    if len(axes) != 1 or axes[0] == 0:
        return None
    flat = np.asarray(term).reshape(-1)
    lanes = np.flatnonzero(flat)
    if not len(lanes):
        return axes[0], 0, 0
    first, last = int(lanes[0]), int(lanes[-1])
    return (axes[0], first, last + 1) if last - first + 1 == len(lanes) else None
