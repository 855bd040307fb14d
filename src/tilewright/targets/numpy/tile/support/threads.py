"""Kernels that name their threads: all threads of a block at once, as arrays.

Threads are counted x first, so the arrays have their axes in the order z, y, x; flat they are in
the order of thread numbers, as many to a warp as the target has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.targets.numpy.support.extrema import maxnumf, minnumf
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.compute import reduction
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import RuntimeFault


def thread_index(threads: Lanes, axis: int, first: int = 0) -> Any:
    """The numbers of threads along x, y or z; `first` is the number of the first one along x."""
    found = list(reversed(threads.indices))
    if axis >= len(found):
        return np.int64(0)
    return found[axis] + np.int64(first) if axis == 0 and first else found[axis]


def elected(threads: Lanes, warp_size: int = NVIDIA_WARP) -> Any:
    """One thread of each warp."""
    return (np.arange(threads.size) % warp_size == 0).reshape(threads.shape)


def active_threads(threads: Lanes) -> int:
    """How many threads take part at the moment."""
    return threads.size if threads.active is None else int(threads.active.sum())


def _warps(threads: Lanes, x: Any, warp_size: int) -> Any:
    flat = threads.spread(x).reshape(-1)
    if flat.size % warp_size:
        raise RuntimeFault(
            "shape",
            f"{flat.size} threads are not a multiple of the warp size {warp_size}",
            [f"launch a multiple of {warp_size} threads"],
        )
    return flat.reshape(-1, warp_size)


_FOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "max": lambda a, b: maxnumf(a, b) if a.dtype.kind not in "iub" else np.maximum(a, b),
    "min": lambda a, b: minnumf(a, b) if a.dtype.kind not in "iub" else np.minimum(a, b),
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


_REDUCED = 32
"""Threads that a warp reduction combines, on every GPU."""


def warp_reduce(threads: Lanes, x: Any, kind: str) -> Any:
    """The values of 32 threads combined, to all of them: a butterfly, as on the device."""
    lanes = _warps(threads, x, _REDUCED)
    step = _REDUCED // 2
    while step:
        lanes = _FOLDS[kind](lanes, lanes[:, np.arange(_REDUCED) ^ step]).astype(lanes.dtype)
        step //= 2
    return lanes.reshape(threads.shape)


def shuffle(
    threads: Lanes, x: Any, offset: Any, mode: str, width: int, warp_size: int = NVIDIA_WARP
) -> Any:
    """The value of another lane of the same group of `width`; one's own if there is none."""
    lanes, by = _warps(threads, x, warp_size), _warps(threads, offset, warp_size)
    me = np.arange(warp_size)[None, :]
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


def vote(
    threads: Lanes, predicate: Any, mode: str, bits: int = 32, warp_size: int = NVIDIA_WARP
) -> Any:
    """Whether something holds in some or in all lanes of a warp, or in which."""
    lanes = _warps(threads, predicate, warp_size)
    if mode == "ballot":
        found = lanes.astype(np.uint64) << np.arange(warp_size, dtype=np.uint64)
        result = np.bitwise_or.reduce(found, axis=1).astype(f"u{bits // 8}").view(f"i{bits // 8}")
    else:
        result = lanes.any(axis=1) if mode == "any" else lanes.all(axis=1)
    return np.repeat(result, warp_size).reshape(threads.shape)


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
