"""The individual lanes of one access: for reports, where time does not matter.

Accesses are carried out on lazily broadcast terms. Reports that name a lane of a program use
`Lanes`: parallel arrays with one entry for each lane that takes part, in the
order in which a launch would carry them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.targets.numpy.api import Array, Grid, Site
from tilewright.targets.numpy.terms import Parts, byte_offsets


@dataclass(frozen=True)
class Lanes:
    """Lanes of an access; entry i of each array belongs to lane i."""

    addresses: Array
    programs: Array
    """Linear ids."""
    indices: Array
    """Number of the lane in its program's block, row by row."""

    def __len__(self) -> int:
        return len(self.addresses)

    def only(self, chosen: Array) -> Lanes:
        return Lanes(self.addresses[chosen], self.programs[chosen], self.indices[chosen])


def name_lanes(
    site: Site, address: Parts, mask: Parts, programs: Array, window: tuple[slice, ...] = ()
) -> Lanes:
    """All lanes whose mask is true. `mask` includes the active programs.

    Only the lanes in `window` of each program's block are given.
    """
    indices = np.arange(prod(site.shape)).reshape(site.shape)[window]
    shape = (len(programs), *indices.shape)
    rank = len(shape)
    addresses = np.broadcast_to(np.asarray(byte_offsets(address, 0)), shape).reshape(-1)
    taking_part: Array = np.ones(shape, np.bool_)
    for term in mask:
        taking_part &= term
    chosen = np.flatnonzero(taking_part)
    column = programs.reshape((-1,) + (1,) * (rank - 1))
    return Lanes(
        addresses[chosen],
        np.broadcast_to(column, shape).reshape(-1)[chosen],
        np.broadcast_to(indices, shape).reshape(-1)[chosen],
    )


def program_id(program: int, grid: Grid) -> Grid:
    """The id a kernel sees, x first."""
    x, rest = program % grid[0], program // grid[0]
    return x, rest % grid[1], rest // grid[1]


def lane_text(lane: int, shape: tuple[int, ...]) -> str:
    """How a report calls a lane: its index in the block."""
    if not shape:
        return ""
    if len(shape) == 1:
        return f"lane {lane} of {shape[0]}"
    index: Any = np.unravel_index(lane, shape)
    return f"lane [{', '.join(map(str, map(int, index)))}] of {'x'.join(map(str, shape))}"
