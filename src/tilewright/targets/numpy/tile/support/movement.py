"""Tile ops that move elements: copy, fill, transpose, im2col.

Copies convert between element types. Uninitialised elements stay so in a copy between shared and
local buffers, and are reported when they reach global memory.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tilewright.targets.numpy.support.select import where
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.convert import converted
from tilewright.targets.numpy.tile.support.problems import RuntimeFault
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region, fitted, squeezed

TileLike: TypeAlias = TileSlice | TileBuffer


def copy(source: TileLike, target: TileLike, fill: Any = None) -> None:
    """Copy a region to another; `fill` is what is outside of its tensor, if the copy names it."""
    move(as_region(source), as_region(target), fill=fill)


def move(
    source: TileSlice,
    target: TileSlice,
    engine: str = "",
    *,
    flatten: bool = False,
    expand: bool = False,
    fill: Any = None,
) -> None:
    """Copy a region; `engine` is the asynchronous unit that runs it, empty for tasks.

    With `flatten` the dimensions of the source before the last are the rows of the target; with
    `expand` the two halves of each byte become elements.
    """
    values, defined = read_for(source, target, engine, fill)
    values = _as_target(values, source, target)
    if expand:
        values = np.stack([values & 15, values >> 4 & 15], -1).reshape(target.extents)
        defined = None if defined is None else np.repeat(defined, 2, -1).reshape(target.extents)
        target.write(values, defined, engine=engine)
        return
    if flatten:
        values = values.reshape(target.extents)
        defined = None if defined is None else defined.reshape(target.extents)
    if defined is not None:
        defined = fitted(defined, source, target)
    target.write(fitted(values, source, target), defined, engine=engine)


def read_for(
    source: TileSlice, target: TileSlice, engine: str = "", fill: Any = None
) -> tuple[Any, Any]:
    """The elements of a region that are copied to another.

    Those that hold nothing are reported when they reach global memory; what falls beyond its end
    is dropped, and need not hold anything.
    """
    if not target.buffer.is_global:
        return source.read(partial=True, engine=engine, fill=fill)
    _, inner, is_whole = target.clip()
    if is_whole or source.buffer.is_global:
        return source.read(engine=engine, fill=fill)
    values, defined = source.read(partial=True, lenient=True, engine=engine)
    if defined is not None:
        needed = np.ones(target.extents, np.bool_)
        needed[inner] = fitted(defined, source, target)[inner]
        if not needed.all():
            raise source.uninitialised(needed.reshape(defined.shape), source.box())
    return values, None


def _as_target(values: Any, source: TileSlice, target: TileSlice) -> Any:
    return converted(
        values,
        target.buffer.data.dtype,
        from_unsigned=source.buffer.is_unsigned,
        to_unsigned=target.buffer.is_unsigned,
    )


def fill(target: TileLike, value: Any) -> None:
    """Set every element of a region."""
    region = as_region(target)
    dtype = region.buffer.data.dtype
    filler = np.asarray(value)
    if filler.dtype != dtype:
        filler = converted(
            filler, dtype, from_unsigned=False, to_unsigned=region.buffer.is_unsigned
        )
    region.write(filler)


def transpose(source: TileLike, target: TileLike) -> None:
    """Copy a matrix with its last two axes exchanged."""
    one, other = as_region(source), as_region(target)
    values, defined = one.read(partial=not other.buffer.is_global)
    values = _as_target(values, one, other)
    flipped = _flipped(values)
    if squeezed(flipped.shape) != squeezed(other.extents):
        message = (
            f"the transpose of {one.text()} has shape {flipped.shape}, but {other.text()} "
            "has shape "
            f"{other.extents}"
        )
        raise RuntimeFault("shape", message, ["swap the extents of one of them"])
    flipped_defined = None if defined is None else _flipped(defined).reshape(other.extents)
    other.write(flipped.reshape(other.extents), flipped_defined)


def _flipped(values: Any) -> Any:
    if values.ndim < 2:
        return values
    return np.ascontiguousarray(np.swapaxes(values, -1, -2))


def _is_deep(region: TileSlice) -> bool:
    return len(region.extents) != 2


def im2col(
    image: TileLike,
    column: TileLike,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
) -> None:
    """Gather the patches of a convolution: rows are output pixels, columns taps and channels.

    `image` is N, H, W, C; `nhw_step` counts blocks of output pixels, `c_step` blocks of the axis
    that runs over taps (row by row) and channels within a tap.
    """
    source, target = as_region(image), as_region(column)
    pixels, _ = source.read()
    count, height, width, channels = pixels.shape
    out_h = (height + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    out_w = (width + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    rows, taps = (1, 1, *squeezed(target.extents))[-2:] if _is_deep(target) else target.extents
    row = int(nhw_step) * rows + np.arange(rows)[:, None]
    tap = int(c_step) * taps + np.arange(taps)[None, :]
    tap_index, channel = tap // channels, tap % channels
    n = row // (out_h * out_w)
    y = row % (out_h * out_w) // out_w * stride + tap_index // kernel * dilation - pad
    x = row % out_w * stride + tap_index % kernel * dilation - pad
    inside = (n < count) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    inside &= tap_index < kernel * kernel
    index = [np.where(inside, each, 0) for each in (n, y, x, channel)]
    values = where(inside, pixels[tuple(index)], pixels.dtype.type(0))
    target.write(_as_target(values, source, target).reshape(target.extents))
