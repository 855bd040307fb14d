"""Memory that each iteration of a parallel loop has for itself.

A buffer that is private to threads has a copy for every iteration while the loop runs (`private`);
after the loop the thread has what all its iterations left the same (`settle`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import where
from tilewright.targets.numpy.tile.support.buffers import Own, TileBuffer
from tilewright.targets.numpy.tile.support.elements import (
    Quotients,
    extents_text,
    load,
    outside,
    store,
    undefine,
)
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, index_text
from tilewright.targets.numpy.tile.support.regions import uninitialised


def load_own(lanes: Lanes, buffer: TileBuffer, *index: Any) -> Any:
    """Elements of the iterations' own parts of a buffer."""
    if any(np.ndim(i) for i in index):
        own_index = (*_own(lanes), *index)
        found = load(lanes, buffer, own_index)
        if isinstance(buffer.shadow, Own):
            buffer.shadow.read(_taking_part(lanes, own_index))
        return found
    own_index = _own_index(buffer, index, "read")
    if buffer.shadow is not None:
        defined = buffer.shadow.defined(own_index)
        bad = ~defined if lanes.active is None else ~defined & lanes.active
        if bad.any():
            first = tuple(int(i) for i in index)
            problem = uninitialised(buffer, first, int(bad.sum()), bad.size)
            lane = int(np.argmax(bad.reshape(-1)))
            problem.notes.insert(0, Note(f"{lanes.text(lane)} of {extents_text(lanes)}"))
            raise problem
        if isinstance(buffer.shadow, Own):
            buffer.shadow.read(own_index, lanes.active)
    return buffer.data[own_index].copy()


def store_own(
    lanes: Lanes, buffer: TileBuffer, value: Any, *index: Any, quotients: Quotients = ()
) -> None:
    """Write an element of each iteration's own part of a buffer."""
    if any(np.ndim(i) for i in index):
        store(lanes, buffer, value, (*_own(lanes), *index), quotients=quotients)
        return
    own_index = _own_index(buffer, index, "write")
    if lanes.active is None:
        buffer.data[own_index] = value
        if buffer.shadow is not None:
            buffer.shadow.mark(own_index)
    else:
        _store_active(lanes, buffer, value, own_index)
    for divisible, origin in quotients:
        missing = ~lanes.spread(divisible)
        if lanes.active is not None:
            missing = missing & lanes.active
        if missing.any():
            lane_index = np.nonzero(missing)
            undefine(
                buffer,
                (*lane_index, *own_index[1:]),
                np.zeros(len(lane_index[0]), np.bool_),
                origin,
            )


def _store_active(lanes: Lanes, buffer: TileBuffer, value: Any, own_index: tuple[Any, ...]) -> None:
    """Write where iterations take part."""
    old = buffer.data[own_index]
    buffer.data[own_index] = where(lanes.active, np.asarray(value, old.dtype), old)
    if buffer.shadow is not None:
        buffer.shadow.assign(own_index, buffer.shadow.defined(own_index) | lanes.active)
        if isinstance(buffer.shadow, Own):
            buffer.shadow.written[own_index] |= lanes.active


def _own_index(buffer: TileBuffer, index: tuple[Any, ...], verb: str) -> tuple[Any, ...]:
    """The index of one element of every iteration's part."""
    inner = tuple(int(i) for i in index)
    extents = buffer.data.shape[buffer.data.ndim - len(inner) :]
    if not all(0 <= i < n for i, n in zip(inner, extents, strict=True)):
        raise outside(buffer, inner, verb, shape=extents)
    return (..., *inner)


def _own(lanes: Lanes) -> tuple[Any, ...]:
    """The index of an iteration's own part of a private buffer."""
    return tuple(
        np.arange(extent, dtype=np.int64).reshape(
            [-1 if a == axis else 1 for a in range(lanes.rank)]
        )
        for axis, extent in enumerate(lanes.shape)
    )


def _taking_part(lanes: Lanes, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """One index for each iteration that is active."""
    whole = tuple(lanes.spread(i) for i in index)
    if lanes.active is None:
        return whole
    mask = lanes.spread(lanes.active)
    return tuple(i[mask] for i in whole)


def private(lanes: Lanes, buffer: TileBuffer) -> TileBuffer:
    """A copy of a thread's memory for each iteration."""
    shape = (*lanes.shape, *buffer.data.shape)
    made = TileBuffer(
        buffer.name,
        np.array(np.broadcast_to(buffer.data, shape)),
        buffer.space,
        None,
        buffer.site,
        is_unsigned=buffer.is_unsigned,
    )
    if buffer.shadow is not None:
        flags = buffer.shadow.defined(tuple(slice(None) for _ in buffer.data.shape))
        made.shadow = Own(np.array(np.broadcast_to(flags, shape)))
    return made


def settle(lanes: Lanes, buffer: TileBuffer, own: TileBuffer) -> None:
    """After the loop: what all iterations left the same is what the thread has."""
    if lanes.size == 0:
        return
    rank = buffer.data.ndim
    flat = own.data.reshape(-1, *buffer.data.shape)
    if isinstance(own.shadow, Own) and own.shadow.read_first.any():
        _check_carried(lanes, buffer, flat, own.shadow.read_first.reshape(flat.shape))
    buffer.data[...] = flat[-1]
    if buffer.shadow is None or own.shadow is None:
        return
    bits = np.ascontiguousarray(flat).view(f"u{flat.dtype.itemsize}")
    same = (bits == bits[-1:]).all(axis=0)
    everything = tuple(slice(None) for _ in range(own.data.ndim))
    defined = own.shadow.defined(everything).reshape(-1, *buffer.data.shape).all(axis=0)
    buffer.shadow.assign(tuple(slice(None) for _ in range(rank)), same & defined)


def _check_carried(lanes: Lanes, buffer: TileBuffer, flat: Any, read_first: Any) -> None:
    """Report an iteration that reads what another one of the same thread may have changed."""
    bits = np.ascontiguousarray(flat).view(f"u{flat.dtype.itemsize}")
    before = np.ascontiguousarray(buffer.data).view(bits.dtype).reshape(buffer.data.shape)
    changed = bits != before
    bad = read_first & (changed.sum(axis=0) > changed)
    if not bad.any():
        return
    reader, *index = (int(i) for i in np.argwhere(bad)[0])
    writers = changed[(slice(None), *index)]
    writers[reader] = False
    one, other = lanes.text(int(np.argmax(writers))), lanes.text(reader)
    what = index_text(buffer.name, index)
    message = f"data race in T.Parallel: {one} writes {what}, which {other} reads"
    fix = (
        f"a thread runs several iterations in any order and has one {buffer.name}: write it before "
        "the read in the same iteration, or use T.reduce_* or T.atomic_add to accumulate"
    )
    raise RuntimeFault("race", message, [buffer.describe(), fix])
