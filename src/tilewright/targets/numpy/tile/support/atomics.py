"""Atomic updates: of one element, of one by each iteration of a parallel loop, of a region.

Updates of one statement happen in the order of iterations, row by row, so a launch always gives the
same bits. The same goes for reducers (`T.alloc_reducer`), which many iterations add to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.extrema import maxnumf, minnumf
from tilewright.targets.numpy.support.floats import narrow, to_single
from tilewright.targets.numpy.tile.support.block_races import ACQUIRES, RELEASES
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.convert import converted
from tilewright.targets.numpy.tile.support.elements import get, outside, put
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.movement import TileLike
from tilewright.targets.numpy.tile.support.regions import (
    as_region,
    fitted,
    read_only,
    uninitialised,
)

_NATIVE = "iufb"


def _add(old: Any, new: Any) -> Any:
    if old.dtype.kind in _NATIVE:
        return old + new
    return narrow(to_single(old) + to_single(new), old.dtype.type)


_KINDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": _add,
    "sum": _add,
    "max": lambda old, new: maxnumf(old, new) if _is_float(old) else np.maximum(old, new),
    "min": lambda old, new: minnumf(old, new) if _is_float(old) else np.minimum(old, new),
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "store": lambda old, new: new,
    "exch": lambda old, new: new,
    "load": lambda old, new: old,
}
_UFUNCS: Mapping[str, Any] = {
    "add": np.add,
    "sum": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_EXTREMES: Mapping[str, Any] = {
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
}


def _is_float(x: Any) -> bool:
    return x.dtype.kind not in "iub"


def _combined(kind: str, old: Any, new: Any, is_unsigned: bool) -> Any:
    if kind in _EXTREMES and (is_unsigned or kind.startswith("u")):
        bits = np.dtype(f"u{old.dtype.itemsize}")
        return _EXTREMES[kind](old.view(bits), new.view(bits)).view(old.dtype)
    return _KINDS[kind](old, new)


def atomic(
    lanes: Lanes | None,
    kind: str,
    buffer: TileBuffer,
    value: Any,
    *index: Any,
    returns: bool = False,
    order: str = "relaxed",
    compare: Any = None,
) -> Any:
    """Update an element in each iteration; the old values if they are requested."""
    reads, writes = kind != "store", kind != "load"
    if buffer.seen is not None and order in ACQUIRES:
        buffer.seen.synchronise(order, reads=reads, writes=False)
    if compare is not None:
        old = _swap(lanes, buffer, value, compare, index)
    else:
        old = _atomic(lanes, kind, buffer, value, index, returns)
    if buffer.seen is not None and order in RELEASES:
        buffer.seen.synchronise(order, reads=False, writes=writes)
    return old


def _atomic(
    lanes: Lanes | None,
    kind: str,
    buffer: TileBuffer,
    value: Any,
    index: tuple[Any, ...],
    returns: bool,
) -> Any:
    value = np.asarray(buffer.safe if value is None else value)
    value = converted(
        value, buffer.data.dtype, from_unsigned=buffer.is_unsigned, to_unsigned=buffer.is_unsigned
    )
    if lanes is None or (lanes.size == 1 and lanes.active is None):
        return _one(
            kind, buffer, value.reshape(-1)[0], [np.asarray(i).reshape(-1)[0] for i in index]
        )
    if kind != "load" and not buffer.writable:
        raise read_only(buffer)
    ufunc = _UFUNCS.get(kind)
    if returns or ufunc is None or buffer.data.dtype.kind not in _NATIVE:
        return _sequentially(lanes, kind, buffer, value, index)
    where, mask = _where(lanes, buffer, index)
    values = lanes.spread(value)[mask]
    _check_readable(buffer, where)
    if buffer.seen is not None:
        buffer.seen.update(buffer.name, where)
    ufunc.at(buffer.data, where, values)
    return None


def _swap(
    lanes: Lanes | None, buffer: TileBuffer, value: Any, compare: Any, index: tuple[Any, ...]
) -> Any:
    """Where an element has the bits of `compare`, store `value`; iterations are sequential."""
    new, expected = (np.asarray(each, buffer.data.dtype) for each in (value, compare))
    if lanes is None or (lanes.size == 1 and lanes.active is None):
        where = [np.asarray(each).reshape(-1)[0] for each in index]
        return _swap_one(buffer, new.reshape(-1)[0], expected.reshape(-1)[0], where)
    if not buffer.writable:
        raise read_only(buffer)
    _, mask = _where(lanes, buffer, index)
    whole = [lanes.spread(each) for each in index]
    news, required = lanes.spread(new), lanes.spread(expected)
    result = np.full(lanes.shape, buffer.safe, buffer.data.dtype)
    for lane in zip(*np.nonzero(mask), strict=True):
        where = [each[lane] for each in whole]
        result[lane] = _swap_one(buffer, news[lane], required[lane], where)
    return result


def _swap_one(buffer: TileBuffer, new: Any, expected: Any, where: list[Any]) -> Any:
    old = get(buffer, *where, atomic="update")
    is_equal = np.asarray(old).tobytes() == np.asarray(expected).tobytes()
    put(buffer, new if is_equal else old, *where, atomic=True)
    return old


def _check_readable(buffer: TileBuffer, where: tuple[Any, ...]) -> None:
    """An update reads the element: it must be initialised, with no write in flight."""
    if buffer.is_gated:
        buffer.check(where, writes=True)
    if buffer.shadow is None:
        return
    bad = ~buffer.shadow.defined(where)
    if bad.any():
        first = [int(i[int(np.argmax(bad))]) for i in where]
        raise uninitialised(buffer, first, int(bad.sum()), bad.size)


def _where(lanes: Lanes, buffer: TileBuffer, index: tuple[Any, ...]) -> tuple[Any, Any]:
    """Indices of the active iterations that are in range, and the iterations themselves."""
    whole = [lanes.spread(i) for i in index]
    mask = np.ones(lanes.shape, np.bool_) if lanes.active is None else lanes.spread(lanes.active)
    inside = mask
    for i, extent in zip(whole, buffer.data.shape, strict=True):
        inside = inside & (i >= 0) & (i < extent)
    if not buffer.is_global and (mask & ~inside).any():
        lane = int(np.argmax((mask & ~inside).reshape(-1)))
        element = [int(i.reshape(-1)[lane]) for i in whole]
        raise outside(buffer, element, "atomic update", lanes, lane)
    return tuple(i[inside] for i in whole), inside


def _one(kind: str, buffer: TileBuffer, value: Any, index: list[Any]) -> Any:
    if kind == "store":
        put(buffer, value, *index, atomic=True)
        return value
    old = get(buffer, *index, atomic="load" if kind == "load" else "update")
    if kind != "load":
        put(buffer, _combined(kind, old, value, buffer.is_unsigned), *index, atomic=True)
    return old


def _sequentially(
    lanes: Lanes, kind: str, buffer: TileBuffer, value: Any, index: tuple[Any, ...]
) -> Any:
    """One iteration after another."""
    _, mask = _where(lanes, buffer, index)
    whole = [lanes.spread(i) for i in index]
    values = lanes.spread(value)
    result = np.full(lanes.shape, buffer.safe, buffer.data.dtype)
    for lane in zip(*np.nonzero(mask), strict=True):
        where = [i[lane] for i in whole]
        result[lane] = _one(kind, buffer, values[lane], where)
    return result


def atomic_region(kind: str, source: TileLike | Any, target: TileLike) -> None:
    """Update every element of a region by those of another, or by one number."""
    other = as_region(target)
    dtype = other.buffer.data.dtype
    if isinstance(source, np.generic | int | float):
        values = np.asarray(source)
        from_unsigned = False
    else:
        one = as_region(source)
        values = fitted(one.read()[0], one, other)
        from_unsigned = one.buffer.is_unsigned
    values = converted(
        values, dtype, from_unsigned=from_unsigned, to_unsigned=other.buffer.is_unsigned
    )
    if kind == "store":
        other.write(values, atomic=True)
        return
    old, _ = other.read(atomic=True)
    values = np.broadcast_to(values, old.shape)
    other.write(_combined(kind, old, values, other.buffer.is_unsigned), atomic=True)
