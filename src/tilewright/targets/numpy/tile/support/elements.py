"""Loads and stores of single elements: one at a time, or one for each iteration of a parallel loop.

Global memory is guarded: an index out of range reads the safe value and writes nothing. In
shared and local memory it is reported. Indices come as NumPy integers or as arrays that broadcast
over the iterations; where they are consecutive along the axes of the buffer, as in most kernels,
the elements are taken as a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.targets.numpy.support.select import where
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import (
    Note,
    RuntimeFault,
    by_zero,
    count_text,
    index_text,
)
from tilewright.targets.numpy.tile.support.regions import read_only, uninitialised
from tilewright.targets.numpy.tile.support.roles import check_agreement

MESH = 1024
"""Accesses with fewer elements are not worth a look for slices."""


# One element.


def get(buffer: TileBuffer, *index: Any, atomic: str | None = None) -> Any:
    """One element; `atomic` is the kind of an atomic access: `load` or `update`."""
    element = tuple(int(i) for i in index)
    if not _is_inside(buffer, element):
        if buffer.is_global:
            return buffer.safe
        raise outside(buffer, element, "read")
    if buffer.owned:
        check_agreement(buffer, element)
    if buffer.is_gated:
        _check_pending(buffer, element, writes=False)
    if buffer.shadow is not None and not buffer.shadow.defined(element):
        raise uninitialised(buffer, element, 1, 1)
    if buffer.seen is not None and atomic != "update":
        (buffer.seen.read if atomic is None else buffer.seen.look)(buffer.name, element)
    return buffer.data[element]


Quotients: TypeAlias = Sequence[tuple[Any, int]]
"""Where divisors that a value depends on are not zero, with the source sites of the divisions."""


def put(
    buffer: TileBuffer, value: Any, *index: Any, atomic: bool = False, quotients: Quotients = ()
) -> None:
    """Write one element."""
    element = tuple(int(i) for i in index)
    if not _is_inside(buffer, element):
        if buffer.is_global:
            return
        raise outside(buffer, element, "write")
    if not buffer.writable:
        raise read_only(buffer)
    if buffer.is_gated:
        _check_pending(buffer, element, writes=True)
    if buffer.seen is not None:
        (buffer.seen.update if atomic else buffer.seen.write_one)(buffer.name, element)
    buffer.data[element] = value
    if buffer.shadow is not None:
        buffer.shadow.mark(element)
    for divisible, origin in quotients:
        if divisible is not np.True_ and not np.all(divisible):
            undefine(buffer, element, np.False_, origin)
    for each in buffer.owned.values():
        put(each, value, *index, quotients=quotients)


def undefine(
    buffer: TileBuffer, index: tuple[Any, ...], divisible: Any, origin: int, iteration: str = ""
) -> None:
    """Elements store the result of a division by zero: a fault in global memory, else at a read."""
    if buffer.is_global:
        at = tuple(int(np.asarray(i)[~divisible].flat[0]) for i in index)
        raise by_zero(origin, f"written to {index_text(buffer.name, at)}", None, iteration)
    if buffer.shadow is None:
        return
    buffer.shadow.assign(index, divisible)
    flags = buffer.by_zero.setdefault(origin, np.zeros(buffer.data.shape, np.bool_))
    flags[index] = ~divisible


def _is_inside(buffer: TileBuffer, element: tuple[int, ...]) -> bool:
    return all(0 <= i < extent for i, extent in zip(element, buffer.data.shape, strict=True))


def _check_pending(buffer: TileBuffer, element: tuple[int, ...], *, writes: bool) -> None:
    box = tuple(slice(i, i + 1) for i in element)
    buffer.check(box, writes=writes)


def outside(
    buffer: TileBuffer,
    element: Sequence[int],
    verb: str,
    lanes: Lanes | None = None,
    lane: int = 0,
    shape: tuple[int, ...] | None = None,
) -> RuntimeFault:
    """The report on an index out of range; `shape` is that of one iteration's own part."""
    extents = buffer.data.shape if shape is None else shape
    axis = next(a for a, (i, n) in enumerate(zip(element, extents, strict=True)) if not 0 <= i < n)
    extent = extents[axis]
    message = (
        f"{verb} out of bounds: {index_text(buffer.name, element)}, but axis {axis} of "
        f"{buffer.name} has {count_text(extent, 'element')}"
    )
    notes: list[Note | str] = []
    if lanes is not None:
        notes.append(f"{lanes.text(lane)} of T.Parallel{extents_text(lanes)}")
    fix = (
        f"the compiler guards only global memory: keep index {axis} in 0 … {extent - 1}, "
        f"for example with `if`, or make {buffer.name} larger"
    )
    return RuntimeFault("out of bounds", message, [*notes, buffer.describe(), fix])


def extents_text(lanes: Lanes) -> str:
    """The extents of the iterations, as in the source."""
    return f"({', '.join(str(extent) for extent in lanes.shape)})"


# All iterations at once.


def load(lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], at: int | None = None) -> Any:
    """The elements that the iterations read; `at` is the site of a load watched for races."""
    if lanes.size == 0:
        return np.zeros(lanes.shape, buffer.data.dtype)
    if buffer.owned:
        check_agreement(buffer)
    active = lanes.active
    index = tuple(np.asarray(i) for i in index)
    known = _mesh(lanes, buffer, index) if active is None else None
    if known is not None:
        return _load_mesh(lanes, buffer, index, known, at)
    return _load_any(lanes, buffer, index, active, at)


def load_quotients(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], at: int | None = None
) -> tuple[Any, Any]:
    """The elements that iterations read, and which of them no division by zero has left there."""
    arrays = tuple(np.asarray(i) for i in index)
    if not buffer.by_zero or not lanes.size or not _all_inside(buffer, arrays):
        return load(lanes, buffer, index, at), np.True_
    assert buffer.shadow is not None
    missing: Any = np.False_
    for flags in buffer.by_zero.values():
        missing = missing | flags[arrays]
    divisible = ~missing | buffer.shadow.defined(arrays)
    active = lanes.active
    lanes.active = divisible if active is None else active & divisible
    found = load(lanes, buffer, index, at)
    lanes.active = active
    return found, divisible


def _all_inside(buffer: TileBuffer, index: tuple[Any, ...]) -> bool:
    return all(
        int(i.min()) >= 0 and int(i.max()) < extent
        for i, extent in zip(index, buffer.data.shape, strict=True)
    )


def _load_any(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], active: Any, at: int | None
) -> Any:
    inside = None
    if not _all_inside(buffer, index):
        inside = _inside(buffer, index)
        if not buffer.is_global:
            _require_inside(lanes, buffer, index, inside, active, "read")
        index = tuple(
            np.clip(i, 0, max(extent - 1, 0))
            for i, extent in zip(index, buffer.data.shape, strict=True)
        )
        if buffer.is_global:
            lanes.beyond = ~inside if lanes.beyond is None else ~inside | lanes.beyond
        if buffer.data.size == 0:
            return np.full(lanes.shape, buffer.safe, buffer.data.dtype)
    takes_part = active if inside is None else (inside if active is None else inside & active)
    if buffer.is_gated:
        _check_lanes(lanes, buffer, index, takes_part, writes=False)
    if buffer.limit is not None:
        confined = buffer.limit.confined(index, takes_part)
        if confined is None:
            return np.full(lanes.shape, buffer.safe, buffer.data.dtype)
        index = confined
    if buffer.shadow is not None:
        _require_defined(lanes, buffer, index, takes_part)
    if lanes.races is not None and at is not None:
        lanes.races.read(buffer, *_accessed(lanes, buffer, index, takes_part), at)
    if buffer.seen is not None and buffer.seen.trace.log is not None:
        buffer.seen.read(buffer.name, _where(lanes, index, takes_part))
    values = buffer.data[index]
    if inside is None:
        return values
    return where(inside, values, buffer.safe)


def _inside(buffer: TileBuffer, index: tuple[Any, ...]) -> Any:
    inside: Any = np.True_
    for i, extent in zip(index, buffer.data.shape, strict=True):
        inside = inside & (i >= 0) & (i < extent)
    return inside


def _require_inside(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], inside: Any, active: Any, verb: str
) -> None:
    bad = lanes.spread(~inside if active is None else ~inside & active)
    if not bad.any():
        return
    lane = int(np.argmax(bad.reshape(-1)))
    element = [int(lanes.spread(i).reshape(-1)[lane]) for i in index]
    problem = outside(buffer, element, verb, lanes, lane)
    count = int(bad.sum())
    if count > 1:
        problem.notes[0] = Note(f"{problem.notes[0].text}; {count} iterations are affected")
    raise problem


def _require_defined(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], takes_part: Any
) -> None:
    assert buffer.shadow is not None
    defined = buffer.shadow.defined(index)
    bad = ~defined if takes_part is None else ~defined & takes_part
    if not bad.any():
        return
    bad = lanes.spread(bad)
    lane = int(np.argmax(bad.reshape(-1)))
    element = [int(lanes.spread(i).reshape(-1)[lane]) for i in index]
    problem = uninitialised(buffer, element, int(bad.sum()), bad.size)
    problem.notes.insert(0, Note(f"{lanes.text(lane)} of T.Parallel{extents_text(lanes)}"))
    raise problem


def _accessed(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], takes_part: Any
) -> tuple[Any, Any]:
    """Flat elements and iterations of an access, one pair for each iteration that takes part."""
    flat: Any = np.int64(0)
    for i, extent in zip(index, buffer.data.shape, strict=True):
        flat = flat * extent + i
    elements = lanes.spread(flat).reshape(-1)
    iterations = np.arange(lanes.size, dtype=np.int64)
    if takes_part is None:
        return elements, iterations
    mask = lanes.spread(takes_part).reshape(-1)
    return elements[mask], iterations[mask]


def _where(lanes: Lanes, index: tuple[Any, ...], takes_part: Any) -> tuple[Any, ...]:
    """The index of what is accessed, by those that take part."""
    if takes_part is None:
        return index
    mask = lanes.spread(takes_part)
    return tuple(lanes.spread(i)[mask] for i in index)


def _check_lanes(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...], takes_part: Any, *, writes: bool
) -> None:
    whole = tuple(lanes.spread(i) for i in index)
    if takes_part is not None:
        mask = lanes.spread(takes_part)
        whole = tuple(i[mask] for i in whole)
    buffer.check(whole, writes=writes)


# Slices.


def _mesh(
    lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...]
) -> list[tuple[int, int, int]] | None:
    """Start, length and axis of every index, if each walks along an axis of its own."""
    if prod([i.size for i in index]) < _min_elements(buffer):
        return None
    found: list[tuple[int, int, int]] = []
    for i, extent in zip(index, buffer.data.shape, strict=True):
        walk = lanes.walk(i)
        if walk is None:
            return None
        start, length, axis = walk
        if start < 0 or start + length > extent:
            return None
        if axis >= 0 and any(axis == other for _, _, other in found):
            return None
        found.append(walk)
    return found


def _min_elements(buffer: TileBuffer) -> int:
    """How many elements make slices worth while: a box is quickly followed."""
    return MESH if buffer.seen is None or buffer.seen.trace.log is None else 1


def _box(mesh: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    return tuple(slice(start, start + length) for start, length, _ in mesh)


def _arranged(values: Any, mesh: Sequence[tuple[int, int, int]], rank: int) -> Any:
    """A slice of a buffer with its axes where the iterations have them."""
    order = sorted(range(len(mesh)), key=lambda axis: mesh[axis][2])
    shape = [1] * rank
    for _, length, axis in mesh:
        if axis >= 0:
            shape[axis] = length
    return values.transpose(order).reshape(shape)


def _load_mesh(
    lanes: Lanes,
    buffer: TileBuffer,
    index: tuple[Any, ...],
    mesh: Sequence[tuple[int, int, int]],
    at: int | None,
) -> Any:
    box = _box(mesh)
    if buffer.is_gated:
        buffer.check(box, writes=False)
    if buffer.shadow is not None and not buffer.shadow.defined(box).all():
        _require_defined(lanes, buffer, index, None)
    if lanes.races is not None and at is not None:
        lanes.races.read(buffer, *_accessed(lanes, buffer, index, None), at)
    if buffer.seen is not None:
        buffer.seen.read(buffer.name, box)
    # A copy, in row-major order: what is computed from it must not depend on the strides.
    return np.array(_arranged(buffer.data[box], mesh, lanes.rank), order="C")


# Stores.


def store(
    lanes: Lanes,
    buffer: TileBuffer,
    value: Any,
    index: tuple[Any, ...],
    at: int | None = None,
    quotients: Quotients = (),
    varies: tuple[bool, ...] | None = None,
) -> None:
    """Write an element in each iteration; of several writes to one the last stays.

    `varies` gives the loop indices along which the value may change, if known.
    """
    if lanes.size == 0:
        return
    if not buffer.writable:
        raise read_only(buffer)
    for each in buffer.owned.values():
        store(lanes, each, value, index, at, quotients, varies)
    index = tuple(np.asarray(i) for i in index)
    active = lanes.active
    quotients = [each for each in quotients if each[0] is not np.True_ and not np.all(each[0])]
    if active is None and not quotients and (lanes.races is None or at is None):
        mesh = _mesh(lanes, buffer, index)
        if mesh is not None and _store_mesh(lanes, buffer, value, mesh):
            return
    _store_any(lanes, buffer, value, index, active, at, quotients, varies)


def _store_mesh(
    lanes: Lanes, buffer: TileBuffer, value: Any, mesh: Sequence[tuple[int, int, int]]
) -> bool:
    shape = [1] * lanes.rank
    for _, length, axis in mesh:
        if axis >= 0:
            shape[axis] = length
    if any(have != 1 and have != want for have, want in zip(lanes.shape, shape, strict=True)):
        return False
    box = _box(mesh)
    if buffer.is_gated:
        buffer.check(box, writes=True)
    axes = [axis for _, _, axis in mesh if axis >= 0]
    values = np.broadcast_to(value, shape)
    rest = [axis for axis in range(lanes.rank) if axis not in axes]
    values = values.transpose([*axes, *rest]).reshape([length for _, length, _ in mesh])
    if buffer.seen is not None:
        buffer.seen.write(buffer.name, box)
    buffer.data[box] = values
    if buffer.shadow is not None:
        buffer.shadow.mark(box)
    return True


def _store_any(
    lanes: Lanes,
    buffer: TileBuffer,
    value: Any,
    index: tuple[Any, ...],
    active: Any,
    at: int | None,
    quotients: Quotients = (),
    varies: tuple[bool, ...] | None = None,
) -> None:
    takes_part = active
    if not _all_inside(buffer, index):
        inside = _inside(buffer, index)
        if not buffer.is_global:
            _require_inside(lanes, buffer, index, inside, active, "write")
        takes_part = inside if active is None else inside & active
    values = lanes.spread(value)
    where_to = tuple(lanes.spread(i) for i in index)
    if takes_part is not None:
        mask = lanes.spread(takes_part)
        values = values[mask]
        where_to = tuple(i[mask] for i in where_to)
    if not values.size:
        return
    if buffer.is_gated:
        buffer.check(where_to, writes=True)
    if lanes.races is not None and at is not None:
        elements, iterations = _accessed(lanes, buffer, index, takes_part)
        sources = None if varies is None else _sources(lanes, varies)[iterations]
        lanes.races.write(buffer, elements, iterations, values.reshape(-1), at, sources)
    if buffer.seen is not None:
        buffer.seen.write(buffer.name, where_to)
    buffer.data[where_to] = values
    if buffer.shadow is not None:
        buffer.shadow.mark(where_to)
    for divisible, origin in quotients:
        missing = ~lanes.spread(divisible)
        if takes_part is not None:
            missing = missing & lanes.spread(takes_part)
        if missing.any():
            undefined = tuple(lanes.spread(i)[missing] for i in index)
            iteration = lanes.text(lanes.first(missing))
            undefine(buffer, undefined, np.zeros(undefined[0].shape, np.bool_), origin, iteration)


def _sources(lanes: Lanes, varies: tuple[bool, ...]) -> Any:
    """A number for each iteration, the same for those that compute the same value."""
    found: Any = np.zeros((1,) * lanes.rank, np.int64)
    for axis, (extent, does) in enumerate(zip(lanes.shape, varies, strict=True)):
        if does:
            steps = np.arange(extent, dtype=np.int64)
            along = steps.reshape([-1 if each == axis else 1 for each in range(lanes.rank)])
            found = found * extent + along
    return lanes.spread(found).reshape(-1)
