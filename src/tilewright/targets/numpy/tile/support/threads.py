"""Kernels that name their threads: all threads of a block at once, as arrays.

Threads are counted x first, so the arrays have their axes in the order z, y, x; flat they are in
the order of thread numbers, 32 to a warp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.extrema import maxnumf, minnumf
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.compute import reduction
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import RuntimeFault

_WARP = 32


def thread_index(threads: Lanes, axis: int, first: int = 0) -> Any:
    """The numbers of threads along x, y or z; `first` is the number of the first one along x."""
    found = list(reversed(threads.indices))
    if axis >= len(found):
        return np.int64(0)
    return found[axis] + np.int64(first) if axis == 0 and first else found[axis]


def elected(threads: Lanes) -> Any:
    """One thread of each warp."""
    return (np.arange(threads.size) % _WARP == 0).reshape(threads.shape)


def active_threads(threads: Lanes) -> int:
    """How many threads take part at the moment."""
    return threads.size if threads.active is None else int(threads.active.sum())


def _warps(threads: Lanes, x: Any) -> Any:
    flat = threads.spread(x).reshape(-1)
    if flat.size % _WARP:
        raise RuntimeFault(
            "shape",
            f"{flat.size} threads are not a multiple of the warp size {_WARP}",
            ["launch a multiple of 32 threads"],
        )
    return flat.reshape(-1, _WARP)


_FOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "max": lambda a, b: maxnumf(a, b) if a.dtype.kind not in "iub" else np.maximum(a, b),
    "min": lambda a, b: minnumf(a, b) if a.dtype.kind not in "iub" else np.minimum(a, b),
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


def warp_reduce(threads: Lanes, x: Any, kind: str) -> Any:
    """The values of all lanes of a warp combined, to all of them: a butterfly, as on the device."""
    lanes = _warps(threads, x)
    step = _WARP // 2
    while step:
        lanes = _FOLDS[kind](lanes, lanes[:, np.arange(_WARP) ^ step]).astype(lanes.dtype)
        step //= 2
    return lanes.reshape(threads.shape)


def shuffle(threads: Lanes, x: Any, offset: Any, mode: str, width: int) -> Any:
    """The value of another lane of the same group of `width`; one's own if there is none."""
    lanes, by = _warps(threads, x), _warps(threads, offset)
    me = np.arange(_WARP)[None, :]
    group = me // width * width
    if mode == "xor":
        other = me ^ by
    elif mode == "idx":
        other = group + by % width
    else:
        other = me + by if mode == "down" else me - by
    inside = (other >= group) & (other < group + width)
    other = np.where(inside, other, me)
    return np.take_along_axis(lanes, other, axis=1).reshape(threads.shape)


def vote(threads: Lanes, predicate: Any, mode: str) -> Any:
    """Whether something holds in some or in all lanes of a warp, or in which."""
    lanes = _warps(threads, predicate)
    if mode == "ballot":
        bits = lanes.astype(np.uint32) << np.arange(_WARP, dtype=np.uint32)
        result = np.bitwise_or.reduce(bits, axis=1).view(np.int32)
    else:
        result = lanes.any(axis=1) if mode == "any" else lanes.all(axis=1)
    return np.repeat(result, _WARP).reshape(threads.shape)


def reduce_threads(
    threads: Lanes,
    source: TileBuffer,
    target: TileBuffer,
    kind: str,
    axis: int,
    *,
    clear: bool = True,
    nan_propagate: bool = False,
) -> None:
    """What each thread holds combined along an axis of threads, to all of them."""
    along = threads.rank - 1 - axis
    if source.shadow is not None and not source.shadow.defined(...).all():
        raise RuntimeFault(
            "uninitialised", f"read of uninitialised {source.name}", [source.describe()]
        )
    result = reduction(source.data, along, kind, source.is_unsigned, nan_propagate)
    result = np.expand_dims(result, along)
    if not clear:
        result = reduction(
            np.concatenate([np.broadcast_to(result, target.data.shape)[None], target.data[None]]),
            0, kind, source.is_unsigned, nan_propagate,
        )  # fmt: skip
    target.data[...] = np.broadcast_to(result, target.data.shape)
    if target.shadow is not None:
        target.shadow.mark(...)


def dp4a(a: Any, b: Any, c: Any) -> Any:
    """`c` plus the dot product of four signed bytes each."""
    result = c
    for byte in range(4):
        shift = np.int32(24 - 8 * byte)
        one, other = (a << shift) >> np.int32(24), (b << shift) >> np.int32(24)
        result = result + one * other
    return result
