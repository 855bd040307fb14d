"""Tile ops that compute: GEMMs, reductions, scans.

Results must not depend on how the IR was rearranged around an op, only on the values it gets: the
operands of a GEMM are always copied into row-major arrays of their own, so the same routine is
called on the same shapes wherever they come from, whatever version of a buffer that is. A GEMM is
computed in single precision (double for doubles, exactly for integers) and added to the
accumulator, which rounds once to its type. Sums go through `np.add.reduce` on a contiguous array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.dot import dot, dot_scaled
from tilewright.targets.numpy.support.extrema import maximumf, maxnumf, minimumf, minnumf
from tilewright.targets.numpy.support.integers import maxui, minui
from tilewright.targets.numpy.support.reductions import fold, total
from tilewright.targets.numpy.tile.support.convert import converted
from tilewright.targets.numpy.tile.support.movement import TileLike
from tilewright.targets.numpy.tile.support.problems import RuntimeFault
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region, matrix, squeezed

_SINGLES = (np.dtype(np.float32), np.dtype(np.float64))


# GEMMs.


def gemm(
    a: TileLike,
    b: TileLike,
    c: TileLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    clear: Any = False,
) -> None:
    """`c += a @ b`, or `c = a @ b` with `clear`."""
    multiply(as_region(a), as_region(b), as_region(c), transpose_a, transpose_b, bool(clear))


def multiply(
    a: TileSlice,
    b: TileSlice,
    c: TileSlice,
    transpose_a: bool,
    transpose_b: bool,
    clear: bool,
    engine: str = "",
) -> None:
    """As `gemm`; `engine` is the asynchronous unit that runs it, empty for tasks."""
    left = operand(a, transpose_a, engine)
    right = operand(b, transpose_b, engine)
    rows, inner = left.shape
    if right.shape[0] != inner or squeezed(c.extents) != squeezed((rows, right.shape[1])):
        raise _mismatch(a, b, c, left, right)
    shape = (rows, right.shape[1])
    if clear:
        before = np.zeros(shape, c.buffer.data.dtype)
    else:
        before = np.ascontiguousarray(accumulator(c, engine).reshape(shape))
    c.write(dot(left, right, before).reshape(c.extents), engine=engine)


def scaled_gemm(
    a: TileLike,
    a_scale: TileLike | None,
    a_format: str,
    b: TileLike,
    b_scale: TileLike | None,
    b_format: str,
    c: TileLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    pack_m: bool = False,
    pack_n: bool = False,
    clear: Any = False,
) -> None:
    """`c += (a * a_scale) @ (b * b_scale)`, computed as at the pointer level."""
    left, right = (
        np.array(values.T if is_transposed else values, order="C")
        for values, is_transposed in ((_plain(a), transpose_a), (_plain(b), transpose_b))
    )
    scales = [None if each is None else _plain(each) for each in (a_scale, b_scale)]
    target = as_region(c)
    rows = left.shape[0] * (2 if a_format == "e2m1" and pack_m else 1)
    columns = right.shape[1] * (2 if b_format == "e2m1" and pack_n else 1)
    if bool(clear):
        before = np.zeros((rows, columns), target.buffer.data.dtype)
    else:
        before = np.ascontiguousarray(accumulator(target, "").reshape(rows, columns))
    result = dot_scaled(
        left, scales[0], a_format, not pack_m, right, scales[1], b_format, not pack_n, before
    )
    target.write(result.reshape(target.extents))


def _plain(value: TileLike) -> Any:
    """A matrix as it is in memory."""
    return np.array(matrix(as_region(value).read()[0]), order="C")


def accumulator(c: TileSlice, engine: str) -> Any:
    try:
        return c.read(engine=engine)[0]
    except RuntimeFault as problem:
        if problem.kind == "uninitialised":
            name = c.buffer.name
            problem.notes[-1:] = RuntimeFault(
                problem.kind,
                "",
                [
                    f"a GEMM accumulates into {name}: T.clear({name}) first, or pass "
                    "clear_accum=True"
                ],
            ).notes
        raise


def operand(region: TileSlice, is_transposed: bool, engine: str) -> Any:
    """A matrix in row-major order, in an element type that GEMMs take."""
    values = matrix(region.read(engine=engine)[0])
    values = np.array(values.T if is_transposed else values, order="C")
    if region.buffer.is_unsigned and values.dtype.itemsize < 8:
        wide = {1: np.int16, 2: np.int32, 4: np.int64}[values.dtype.itemsize]
        values = converted(values, np.dtype(wide), from_unsigned=True, to_unsigned=False)
    return values


def _mismatch(a: TileSlice, b: TileSlice, c: TileSlice, left: Any, right: Any) -> RuntimeFault:
    message = (
        f"GEMM shape mismatch: {a.text()} with shape {left.shape} times {b.text()} with shape "
        f"{right.shape} does not fit {c.text()} with shape {c.extents}"
    )
    return RuntimeFault(
        "shape", message, ["check transpose_A and transpose_B, and the tile extents"]
    )


# Reductions.

_Combine = Callable[[Any, Any], Any]


def _ufunc(kind: str, is_unsigned: bool, is_float: bool, nan_propagate: bool) -> _Combine:
    if kind in ("max", "absmax"):
        if is_float:
            return maximumf if nan_propagate else maxnumf
        return maxui if is_unsigned else np.maximum
    if kind == "min":
        if is_float:
            return minimumf if nan_propagate else minnumf
        return minui if is_unsigned else np.minimum
    return _PLAIN[kind]


_PLAIN: Mapping[str, _Combine] = {
    "sum": np.add,
    "prod": np.multiply,
    "abssum": np.add,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "any": np.logical_or,
    "all": np.logical_and,
}


def reduce(
    source: TileLike,
    target: TileLike,
    kind: str,
    dim: int,
    *,
    clear: bool = True,
    nan_propagate: bool = False,
) -> None:
    """Combine the elements along an axis; without `clear` the target takes part."""
    one, other = as_region(source), as_region(target)
    values, _ = one.read()
    axis = dim % values.ndim
    dtype = other.buffer.data.dtype
    is_unsigned = one.buffer.is_unsigned
    values = converted(
        values, dtype, from_unsigned=is_unsigned, to_unsigned=other.buffer.is_unsigned
    )
    result = reduction(*_front(values, axis), kind, is_unsigned, nan_propagate)
    rest = tuple(extent for i, extent in enumerate(values.shape) if i != axis)
    if squeezed(rest) != squeezed(other.extents):
        message = (
            f"reducing axis {axis} of {one.text()} with shape {values.shape} yields shape "
            f"{rest}, but "
            f"{other.text()} has shape {other.extents}"
        )
        raise RuntimeFault("shape", message, [f"give {other.buffer.name} the shape {rest}"])
    result = np.asarray(result).reshape(other.extents)
    if not clear:
        before, _ = other.read()
        is_float = dtype.kind not in "iub"
        result = _ufunc(kind, is_unsigned, is_float, nan_propagate)(before, result)
    other.write(np.asarray(result).astype(dtype))


def _front(values: Any, axis: int) -> tuple[Any, int]:
    """Without leading extents of 1, so that every version of a buffer is summed alike."""
    while axis > 0 and values.shape[0] == 1:
        values, axis = values[0], axis - 1
    return values, axis


def reduction(values: Any, axis: int, kind: str, is_unsigned: bool, nan_propagate: bool) -> Any:
    """Elements combined along an axis, in an order that depends on their number only."""
    dtype = values.dtype
    is_float = dtype.kind not in "iub"
    if kind.startswith("abs") and not is_unsigned:
        values = np.abs(values)
    if kind in ("sum", "abssum"):
        if not is_float:
            return values.sum(axis=axis, dtype=dtype)
        if dtype in _SINGLES:
            return total(np.add, values, axis)
    return folded(_ufunc(kind, is_unsigned, is_float, nan_propagate), values, axis)


def folded(combine: _Combine, values: Any, axis: int) -> Any:
    """Adjacent elements, then pairs, then fours: each step rounds to the type of the elements."""
    # The first axis is that of programs there.
    return fold(combine, np.ascontiguousarray(values)[None], axis + 1)[0]


def scan(source: TileLike, target: TileLike, kind: str, dim: int, *, reverse: bool = False) -> None:
    """Running sums or maxima along an axis."""
    one, other = as_region(source), as_region(target)
    values, _ = one.read()
    axis = dim % values.ndim
    dtype = other.buffer.data.dtype
    values = converted(
        values, dtype, from_unsigned=one.buffer.is_unsigned, to_unsigned=other.buffer.is_unsigned
    )
    is_float = dtype.kind not in "iub"
    combine = _ufunc(kind, one.buffer.is_unsigned, is_float, nan_propagate=False)
    lanes = np.moveaxis(values, axis, 0)
    if reverse:
        lanes = lanes[::-1]
    rows = [lanes[0]]
    for row in lanes[1:]:
        rows.append(combine(rows[-1], row).astype(dtype))
    result = np.stack(rows[::-1] if reverse else rows)
    other.write(np.moveaxis(result, 0, axis).reshape(other.extents))
