"""Suggested fixes, derived from the lanes of a bad access.

A hint is given only where the addresses show it. Offsets that start in bounds and run past the end
need a mask; a program that starts past the end is one too many; a mask that is true for a bad lane
compares with the wrong size.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.targets.numpy.api import Grid, Site
from tilewright.targets.numpy.buffers import AddressSpace, MemoryRegion
from tilewright.targets.numpy.element_addresses import element_at
from tilewright.targets.numpy.lanes import Lanes
from tilewright.targets.numpy.missing_mask import (
    missing_mask,
    past_extents,
    uncompared_axis,
    uncompared_index,
)
from tilewright.targets.numpy.named_indices import ProgramValues

_VERBS = {"load": "load", "store": "store", "atomic_rmw": "update", "atomic_cas": "swap"}


def advise_bounds(
    site: Site,
    region: MemoryRegion,
    lanes: Lanes,
    bad: Lanes,
    program: ProgramValues,
    *,
    masked: bool,
) -> str:
    """What to change for an access out of bounds."""
    name, size = region.name, region.array.size
    verb = _VERBS[site.kind]
    if int(bad.addresses[0]) < region.low:
        return f"offsets are negative: mask these lanes, or check what is subtracted from {name}"
    if masked and not site.masked:
        return (
            f"the bounds check uses a shape other than that of {name}: keep the shape and strides "
            f"of the block pointer or descriptor within {size} elements"
        )
    own = lanes.only(lanes.programs == bad.programs[0])
    if masked:
        uncompared = uncompared_index(site, region, own, int(bad.indices[0]), program)
        if uncompared is not None:
            return f"the mask is true for this lane, {uncompared}, or check the strides passed"
        return f"the mask is true for this lane{_too_far(region, int(bad.addresses[0]))}"
    begin, end = int(own.addresses.min()), int(own.addresses.max())
    if begin < region.low + region.size:
        mask = missing_mask(site, region, own, program)
        return f"{_beyond(region, end)}: {verb} with {mask}"
    needed = _programs_needed(site, region, own, program.grid)
    if needed is not None:
        return (
            f"program {int(bad.programs[0])} starts past the end: {needed} of the "
            f"{prod(program.grid)} programs "
            f"of the grid cover {name}; launch {needed}, or mask with `offsets < {size}`"
        )
    return f"check the strides and offsets: they must stay below {size} elements"


def _too_far(region: MemoryRegion, address: int) -> str:
    """Which index a mask should have compared with which extent."""
    index, shape = element_at(address, region).index, region.array.shape
    beyond = [axis for axis in range(len(shape)) if index[axis] >= shape[axis]]
    if len(shape) > 1 and len(beyond) == 1:
        axis = beyond[0]
        return (
            f", whose index along axis {axis} of {region.name} is {index[axis]} (extent "
            f"{shape[axis]}): compare that index in the mask too, or check the strides passed"
        )
    return (
        f": it must be false from element {region.array.size} of {region.name} on; check the size "
        "it compares with, and the strides passed"
    )


def _beyond(region: MemoryRegion, end: int) -> str:
    excess = element_at(end, region).element - (region.array.size - 1)
    plural = "s" if excess > 1 else ""
    return f"the block extends {excess} element{plural} past the end of {region.name}"


def _programs_needed(site: Site, region: MemoryRegion, own: Lanes, grid: Grid) -> int | None:
    """How many programs cover the array, if program p has the elements from p * lanes on."""
    if grid[1:] != (1, 1):
        return None
    lanes = prod(site.shape)
    first = element_at(int(own.addresses.min()), region).element
    if first != int(own.programs[0]) * lanes or len(np.unique(own.addresses)) != lanes:
        return None
    return -(-region.array.size // lanes)


def advise_gap(name: str, kind: str) -> str:
    fix = (
        f"pass the strides of {name} to the kernel and use them, "
        f"or pass np.ascontiguousarray({name})"
    )
    if kind == "load":
        return fix
    return f"{fix} and copy the result back"


def advise_unknown(address: int, space: AddressSpace) -> tuple[str, ...]:
    nearest = space.before(address)
    notes: tuple[str, ...] = ()
    if nearest is not None:
        distance = address - nearest.low - nearest.size
        notes = (f"the nearest array below is {nearest.name}, which ends {distance} bytes earlier",)
    return (
        *notes,
        "only arrays passed to the launch are mapped: "
        "pass arrays whose addresses are stored in memory as reachable=...",
    )


def advise_read_only(name: str) -> str:
    return f"pass a writable array, for example {name}.copy()"


def advise_uninitialised(name: str) -> str:
    return (
        f"{name} was allocated without values: allocate it with zeros(...), or store to it first "
        "and mask the lanes that no store covers"
    )


def advise_store_mask(
    site: Site, region: MemoryRegion, lanes: Lanes, bad: Lanes, program: ProgramValues
) -> str | None:
    """The mask that two programs need if their blocks overlap in part: then lanes past a program's
    own elements are more likely than two programs with the same elements."""
    chosen = bad.programs[0]
    own, racing = lanes.only(lanes.programs == chosen), int((bad.programs == chosen).sum())
    if site.masked:
        axis = uncompared_axis(site, region, own, program)
        past = "the mask is true for lanes that write elements of other programs, as they are past"
        return None if axis is None else f"{past} {axis}"
    axes = past_extents(site, region, own, program)
    if axes is not None:
        return (
            "the store has no mask, and lanes past the extent of their axis write elements of "
            f"other programs: store with {axes}"
        )
    if not 0 < racing < len(own):
        return None
    return (
        f"the store has no mask, and {racing} of the {len(own)} lanes of program "
        f"{int(chosen)} write elements of other programs: if the block has more lanes than the "
        "program has elements, mask the lanes past them"
    )


def advise_race(name: str) -> str:
    return (
        "the order of programs is undefined: give each program its own elements of "
        f"{name}, or combine them with an atomic (tl.atomic_add, tl.atomic_max, ...)"
    )
