"""The mask that an access without one needs, in the names of the kernel where they are known.

Lanes of a block step through an array by constant strides. A stride is a number of steps along one
axis of the array, so the axes along which the block leaves the array are known, and the index of
each lane along them:

    x[64, 100], lanes at row * 100 + (0..127)     axis 1, indices 0..127, extent 100

A named value of the kernel with these indices is what a mask has to compare (`offsets < 100`); one
that has the offsets from the first element of the array is compared with the number of elements.
Where no name has the values, the note has the index that a mask checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.targets.numpy.api import Array, Site
from tilewright.targets.numpy.buffers import MemoryRegion
from tilewright.targets.numpy.element_addresses import element_at
from tilewright.targets.numpy.lanes import Lanes
from tilewright.targets.numpy.named_indices import ProgramValues


@dataclass(frozen=True)
class _Overrun:
    """An axis of the array that the block of one program extends past."""

    axis: int
    extent: int
    indices: Array
    """Of the lanes along that axis, in the shape of the block."""


def missing_mask(site: Site, region: MemoryRegion, own: Lanes, program: ProgramValues) -> str:
    """What to pass as the mask; `own` are the lanes of the program, whose first is in bounds."""
    name, size = region.name, region.array.size
    if not site.shape or len(own) != prod(site.shape):
        return f"a mask that is false from element {size} of {name} on"
    offsets = ((own.addresses - region.base) // region.array.itemsize).reshape(site.shape)
    if region.array.flags.c_contiguous:
        whole = _called(offsets, site, program)
        if whole is not None:
            return f"`mask={whole} < {size}`"
    overruns = _overruns(offsets, region)
    compared = _compared(overruns, site, program, region)
    if compared is not None:
        return compared
    if region.array.ndim == 1:
        return f"`mask=offsets < {size}`, where offsets are the offsets added to {name}"
    if overruns and _varying(offsets.shape) >= _varying(region.array.shape):
        return f"a mask that is false where {_indices_past(overruns, name)}"
    # A block with fewer axes than the array may be a part of a row or cross the ends of rows.
    return f"a mask that is false from element {size} of {name} on"


def past_extents(
    site: Site, region: MemoryRegion, own: Lanes, program: ProgramValues
) -> str | None:
    """The mask for a block of rows, whose lanes leave a row and not the array; None for others."""
    if not site.shape or len(own) != prod(site.shape):
        return None
    offsets = ((own.addresses - region.base) // region.array.itemsize).reshape(site.shape)
    return _compared(_overruns(offsets, region), site, program, region)


def uncompared_index(
    site: Site, region: MemoryRegion, own: Lanes, bad: int, program: ProgramValues
) -> str | None:
    """Which index a mask that is true for lane `bad` of the program fails to compare; None if the
    lanes that take part do not show it."""
    found = _uncompared(site, region, own, own.only(own.indices == bad), program)
    if found is None:
        return None
    axis, first, condition = found
    return (
        f"whose index along axis {axis.axis} of {region.name} is {first} (extent {axis.extent}): "
        f"compare {condition} in the mask too"
    )


def uncompared_axis(
    site: Site, region: MemoryRegion, own: Lanes, program: ProgramValues
) -> str | None:
    """The same of any lane: its row ends before it, and the array may go on."""
    found = _uncompared(site, region, own, own, program)
    if found is None:
        return None
    axis, _, condition = found
    return (
        f"the extent of axis {axis.axis} of {region.name}, which is {axis.extent}: compare "
        f"{condition} in the mask too"
    )


def _uncompared(
    site: Site, region: MemoryRegion, own: Lanes, lanes: Lanes, program: ProgramValues
) -> tuple[_Overrun, int, str] | None:
    """The one axis that some of the lanes are past, the index of the first, and the condition."""
    offsets = _whole_block(site, region, own)
    if offsets is None:
        return None
    at = np.unravel_index(lanes.indices, site.shape)
    past = [(each, each.indices[at]) for each in _overruns(offsets, region)]
    beyond = [(each, indices) for each, indices in past if (indices >= each.extent).any()]
    if len(beyond) != 1:
        return None
    ((axis, indices),) = beyond
    name = _called(axis.indices, site, program)
    condition = f"that index with {axis.extent}" if name is None else f"`{name} < {axis.extent}`"
    return axis, int(indices[indices >= axis.extent][0]), condition


def _whole_block(site: Site, region: MemoryRegion, own: Lanes) -> Array | None:
    """The offsets of all lanes, of which a mask excludes some, if those that take part step by
    constants along each axis."""
    if not len(own) or len(site.shape) < 2:
        return None
    found = (own.addresses - region.base) // region.array.itemsize
    at = np.stack(np.unravel_index(own.indices, site.shape))
    whole = np.full(site.shape, found[0])
    predicted = np.full(len(own), found[0])
    for axis, extent in enumerate(site.shape):
        others = np.delete(at, axis, 0)
        line = np.flatnonzero((others == others[:, :1]).all(0) & (at[axis] != at[axis, 0]))
        if extent == 1:
            continue
        if not len(line):
            return None
        other = line[0]
        step, rest = divmod(int(found[other] - found[0]), int(at[axis, other] - at[axis, 0]))
        if rest:
            return None
        shape = [1] * len(site.shape)
        shape[axis] = extent
        whole = whole + (np.arange(extent).reshape(shape) - at[axis, 0]) * step
        predicted = predicted + (at[axis] - at[axis, 0]) * step
    return whole if (predicted == found).all() else None


def _compared(
    overruns: Sequence[_Overrun], site: Site, program: ProgramValues, region: MemoryRegion
) -> str | None:
    """The mask that compares named values with extents, None if one has no name."""
    names = [_called(each.indices, site, program) for each in overruns]
    conditions = [
        f"{text} < {each.extent}"
        for text, each in zip(names, overruns, strict=True)
        if text is not None
    ]
    if not conditions or len(conditions) < len(overruns):
        return None
    return f"`mask={_conjunction(conditions)}`{_extents(overruns, region)}"


def _called(indices: Array, site: Site, program: ProgramValues) -> str | None:
    """The name of a value that has these indices."""
    return next((each.text for each in site.indices if each.equals(indices, program)), None)


def _overruns(offsets: Array, region: MemoryRegion) -> list[_Overrun]:
    """The axes that a block at these offsets from the first element extends past.

    None of them if its lanes do not step through the array by multiples of its strides.
    """
    array = region.array
    first = element_at(region.base + int(offsets.flat[0]) * array.itemsize, region).index
    along: dict[int, Array] = {}
    for lanes in range(offsets.ndim):
        steps = np.diff(offsets, axis=lanes)
        if not steps.size or not steps.flat[0]:
            continue
        step = int(steps.flat[0])
        axis = _axis_of(step, array)
        if axis is None or axis in along or (steps != step).any():
            return []
        shape = [1] * offsets.ndim
        shape[lanes] = offsets.shape[lanes]
        unit = step * array.itemsize // array.strides[axis]
        count = np.arange(offsets.shape[lanes], dtype=np.int64)
        own: Array = first[axis] + count.reshape(shape) * unit
        along[axis] = np.broadcast_to(own, offsets.shape)
    extents = enumerate(map(int, array.shape))
    found = [_Overrun(axis, extent, along[axis]) for axis, extent in extents if axis in along]
    return [each for each in found if int(each.indices.max()) >= each.extent]


def _axis_of(step: int, array: Array) -> int | None:
    """The axis that a step of so many elements goes along: the one of the largest stride that
    divides it."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1 and array.strides[axis] > 0]
    fitting = [
        axis for axis in axes if step > 0 and step * array.itemsize % array.strides[axis] == 0
    ]
    return max(fitting, key=lambda axis: array.strides[axis], default=None)


def _varying(shape: Sequence[int]) -> int:
    return sum(extent > 1 for extent in shape)


def _conjunction(conditions: Sequence[str]) -> str:
    if len(conditions) == 1:
        return conditions[0]
    return " & ".join(f"({each})" for each in conditions)


def _extents(overruns: Sequence[_Overrun], region: MemoryRegion) -> str:
    """Where the numbers of the mask come from."""
    if region.array.ndim == 1:
        return ""
    extents = " and ".join(f"{each.extent}" for each in overruns)
    axes = " and ".join(f"{each.axis}" for each in overruns)
    are, plural = ("is the extent", "axis") if len(overruns) == 1 else ("are the extents", "axes")
    return f" ({extents} {are} of {plural} {axes} of {region.name})"


def _indices_past(overruns: Sequence[_Overrun], name: str) -> str:
    first, *others = overruns
    text = f"the index along axis {first.axis} of {name} is {first.extent} or more"
    return text + "".join(f", or that along axis {it.axis} is {it.extent} or more" for it in others)
