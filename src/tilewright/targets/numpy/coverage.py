"""Outputs that a launch left in part as they were: most often the grid was too small.

    k.py:9:5: warning[TW6109]: 24 of 1000 elements of out were never written, from out[976] on
      note: out is float32 with shape (1000,)
      note: the grid has 7 programs of 128 lanes each: launch 8, cdiv(1000, 128)

Only buffers that came without values and are never read are considered: what a kernel adds to, or
reads back, had values before.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.api import Grid, Site
from tilewright.targets.numpy.buffers import MemoryRegion
from tilewright.targets.numpy.element_addresses import describe
from tilewright.targets.numpy.initialised import Initialised

CODE = "TW6109"


def check_coverage(
    region: MemoryRegion, known: Initialised, sites: Sequence[Site], grid: Grid
) -> Diagnostic | None:
    """A warning if the stores `sites` left out some of the region's elements."""
    if region.initialised or any(site.kind != "store" for site in sites):
        return None
    missing = np.flatnonzero(known.unwritten(region))
    if not len(missing):
        return None
    size, name = region.array.size, region.name
    first = np.unravel_index(int(missing[0]), region.array.shape)
    is_tail = int(missing[0]) == size - len(missing)
    where = f"{name}[{', '.join(str(int(index)) for index in first)}]"
    rest = f"from {where} on" if is_tail else f"the first is {where}"
    were = "element of {} was" if size == 1 else "elements of {} were"
    message = f"{len(missing)} of {size} {were.format(name)} never written, {rest}"
    location = sites[0].location if len(sites) == 1 else None
    warning = Diagnostic(Severity.WARNING, message, location, CODE)
    hint = _grid_hint(region, sites, grid) if is_tail else None
    for text in (describe(region), hint or _GENERAL):
        warning.notes.append(Diagnostic(Severity.NOTE, text))
    return warning


_GENERAL = "check the grid, the mask of the store and the strides passed"


def _grid_hint(region: MemoryRegion, sites: Sequence[Site], grid: Grid) -> str | None:
    """The grid that would do, if one store gives each program a block of its own."""
    if len(sites) != 1 or sites[0].in_loop or grid[1:] != (1, 1):
        return None
    lanes, size = prod(sites[0].shape), region.array.size
    needed = -(-size // lanes)
    if needed <= grid[0]:
        return None
    programs = f"{grid[0]} program" + ("s" if grid[0] > 1 else "")
    each = f"{lanes} lanes each" if lanes > 1 else "one lane each"
    return f"the grid has {programs} of {each}: launch {needed}, cdiv({size}, {lanes})"
