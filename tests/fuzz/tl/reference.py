"""What generated references are written with: plain NumPy, nothing of Tilewright.

Types are those of the language. Integers wrap, division truncates, the remainder has the sign of the
dividend. A float result that its type cannot hold is a mistake of the generator, and raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = Any

DTYPES: dict[str, np.dtype[Any]] = {
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in
       (8, 16, 32, 64)},
    **{name: np.dtype(name) for name in ("float16", "float32", "float64")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8e5": np.dtype(ml_dtypes.float8_e5m2),
    "int1": np.dtype(bool),
}  # fmt: skip


class Inexact(AssertionError):
    """A generated kernel whose result depends on rounding."""


def _is_integral(array: Array) -> bool:
    return array.dtype.kind in "iub"


def _exactly(wide: Array, dtype: np.dtype[Any]) -> Array:
    found = wide.astype(dtype)
    if not (found.astype(np.float64) == wide).all():
        raise Inexact(f"{wide} is no {dtype}")
    return found


def cast(value: Array, dtype: str) -> Array:
    """The value as `dtype`, which floats must fit."""
    found, wanted = np.asarray(value), DTYPES[dtype]
    if wanted.kind == "b":
        return found.astype(np.float64) != 0 if not _is_integral(found) else found != 0
    if wanted.kind in "iu":
        if _is_integral(found):
            return found.astype(wanted)
        wide = found.astype(np.float64)
        bounds = np.iinfo(wanted)
        if not ((wide > bounds.min - 1.0) & (wide < bounds.max + 1.0)).all():
            raise Inexact(f"{wide} outside of {dtype}")
        return np.trunc(wide).astype(wanted)
    if (
        found.dtype.kind in "iu"
        and found.size
        and max(abs(int(found.max())), abs(int(found.min()))) > 2**53
    ):
        raise Inexact(f"{found} is no {dtype}")
    return _exactly(found.astype(np.float64), wanted)


def _operands(a: Array, b: Array) -> tuple[Array, Array]:
    """Both with one type; a Python number takes that of the other."""
    if isinstance(a, (int, float)):
        b = np.asarray(b)
        return np.asarray(a).astype(b.dtype), b
    a = np.asarray(a)
    if isinstance(b, (int, float)):
        return a, np.asarray(b).astype(a.dtype)
    b = np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    return a, b


_ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def arith(word: str, a: Array, b: Array) -> Array:
    a, b = _operands(a, b)
    if _is_integral(a):
        return _ARITHMETIC[word](a, b)
    wide = _ARITHMETIC[word](a.astype(np.float64), b.astype(np.float64))
    return _exactly(wide, a.dtype)


def clip(a: Array, low: int, high: int) -> Array:
    a = np.asarray(a)
    return np.minimum(np.maximum(a.astype(np.float64), low), high).astype(a.dtype)


def absolute(a: Array) -> Array:
    a = np.asarray(a)
    return np.abs(a)


def negative(a: Array) -> Array:
    return arith("-", 0, a)


_BITS: dict[str, Callable[[Array, Array], Array]] = {
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift,
    ">>": np.right_shift,
}  # fmt: skip


def bits(word: str, a: Array, b: Array) -> Array:
    a, b = _operands(a, b)
    return _BITS[word](a, b)


def inverse(a: Array) -> Array:
    return ~np.asarray(a)


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal,
}  # fmt: skip


def compare(word: str, a: Array, b: Array) -> Array:
    a, b = _operands(a, b)
    if not _is_integral(a):
        a, b = a.astype(np.float64), b.astype(np.float64)
    return np.asarray(_COMPARISONS[word](a, b))


def quotient(a: Array, b: Array) -> Array:
    """Truncated towards zero."""
    a, b = _operands(a, b)
    if a.dtype.kind == "u":
        return a // b
    floor = a // b
    inexact = (a - floor * b) != 0
    return (floor + (inexact & ((a < 0) != (b < 0)))).astype(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend."""
    a, b = _operands(a, b)
    return (a - quotient(a, b) * b).astype(a.dtype)


def high_product(a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(*_operands(a, b))
    width = a.dtype.itemsize * 8
    pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    mask = 2**width - 1
    found = [((x & mask) * (y & mask)) >> width for x, y in pairs]
    unsigned = np.array(found, np.dtype(f"u{a.dtype.itemsize}"))
    return unsigned.view(a.dtype).reshape(a.shape)


def where(condition: Array, a: Array, b: Array) -> Array:
    a, b = _operands(a, b)
    return np.where(condition, a, b).astype(a.dtype)


def reinterpret(a: Array, dtype: str) -> Array:
    return np.ascontiguousarray(a).view(DTYPES[dtype]).reshape(np.shape(a))


# -- shapes --------------------------------------------------------------------------------------


def aranged(start: int, stop: int) -> Array:
    return np.arange(start, stop, dtype=np.int32)


def filled(shape: Sequence[int], value: Array, dtype: str) -> Array:
    return np.broadcast_to(cast(value, dtype), tuple(shape)).copy()


def joined(a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.stack([a, b], -1)


def interleaved(a: Array, b: Array) -> Array:
    both = joined(a, b)
    return both.reshape(*both.shape[:-2], -1)


# -- reductions ----------------------------------------------------------------------------------


def _typed(wide: Array, dtype: np.dtype[Any]) -> Array:
    return wide.astype(dtype) if dtype.kind in "iub" else _exactly(wide, dtype)


def reduced(word: str, a: Array, axis: int | None, keep: bool) -> Array:
    """A sum, product, least or largest element, or bits of all of them."""
    a = np.asarray(a)
    wide = a if _is_integral(a) else a.astype(np.float64)
    name = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}.get(word)
    ufunc: Any = name or _BITS[word]
    found = ufunc.reduce(wide, axis=axis, keepdims=keep, **({"dtype": wide.dtype} if name else {}))
    return _typed(np.asarray(found), a.dtype)


def placed(word: str, a: Array, axis: int, keep: bool) -> Array:
    """The index of the first least or largest element."""
    a = np.asarray(a)
    wide = a if _is_integral(a) else a.astype(np.float64)
    found = (np.argmin if word == "min" else np.argmax)(wide, axis=axis)
    return (np.expand_dims(found, axis) if keep else np.asarray(found)).astype(np.int32)


Combine = Callable[..., Any]


def _tuple(found: Any) -> tuple[Array, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def folded(combine: Combine, arrays: Sequence[Array], axis: int, keep: bool) -> Any:
    """``combine`` of all elements along an axis."""
    parts = [np.moveaxis(np.asarray(each), axis, 0) for each in arrays]
    state = tuple(part[0] for part in parts)
    for index in range(1, parts[0].shape[0]):
        state = _tuple(combine(*state, *(part[index] for part in parts)))
    found = tuple(np.expand_dims(each, axis) if keep else np.asarray(each) for each in state)
    return found if len(found) > 1 else found[0]


def scanned(combine: Combine, arrays: Sequence[Array], axis: int, reverse: bool) -> Any:
    """``combine`` of all elements up to each one."""
    parts = [np.moveaxis(np.asarray(each), axis, 0) for each in arrays]
    if reverse:
        parts = [part[::-1] for part in parts]
    state = tuple(part[0] for part in parts)
    rows = [state]
    for index in range(1, parts[0].shape[0]):
        state = _tuple(combine(*state, *(part[index] for part in parts)))
        rows.append(state)
    found = [np.stack([row[number] for row in rows]) for number in range(len(parts))]
    if reverse:
        found = [each[::-1] for each in found]
    back = tuple(np.ascontiguousarray(np.moveaxis(each, 0, axis)) for each in found)
    return back if len(back) > 1 else back[0]


def running(word: str, a: Array, axis: int, reverse: bool) -> Array:
    return scanned(lambda x, y: arith(word, x, y), [a], axis, reverse)


def ordered(a: Array, descending: bool) -> Array:
    a = np.asarray(a)
    wide = a if _is_integral(a) else a.astype(np.float64)
    found = np.sort(wide, axis=-1)
    return (found[..., ::-1] if descending else found).astype(a.dtype)


def counted(a: Array, bins: int, mask: Array | None = None) -> Array:
    chosen = np.asarray(a) if mask is None else np.asarray(a)[np.broadcast_to(mask, np.shape(a))]
    return np.bincount(chosen.astype(np.int64), minlength=bins)[:bins].astype(np.int32)


def product(a: Array, b: Array, dtype: str, acc: Array | None = None) -> Array:
    """A matrix product of small integers: exact."""
    kind = np.int64 if _is_integral(np.asarray(a)) else np.float64
    wide = np.asarray(a).astype(kind) @ np.asarray(b).astype(kind)
    if acc is not None:
        wide = wide + np.asarray(acc).astype(kind)
    return _typed(wide, DTYPES[dtype])


# -- memory --------------------------------------------------------------------------------------


def _places(array: Array, offsets: Array, mask: Array | None, *others: Array) -> tuple[Any, ...]:
    spread = np.broadcast_arrays(offsets, True if mask is None else mask, *others)
    place, chosen = spread[0].astype(np.int64), spread[1]
    inside = (place >= 0) & (place < array.size)
    assert (inside | ~chosen).all(), "the generator made an access out of bounds"
    return place, chosen, *spread[2:]


def load(array: Array, offsets: Array, mask: Array | None = None, other: Array = 0) -> Array:
    place, chosen, fill = _places(array, offsets, mask, other)
    found = array[np.where(chosen, place, 0)]
    return np.where(chosen, found, fill.astype(array.dtype)).astype(array.dtype)


def store(array: Array, offsets: Array, value: Array, mask: Array | None = None) -> None:
    place, chosen, values = _places(array, offsets, mask, value)
    assert np.unique(place[chosen]).size == int(chosen.sum()), "two lanes store to one element"
    array[place[chosen]] = values[chosen].astype(array.dtype)


def update(
    word: str, array: Array, offsets: Array, value: Array, mask: Array | None = None
) -> Array:
    """An atomic operation by all lanes; what each found there, if each has its own element."""
    place, chosen, values = _places(array, offsets, mask, value)
    old = np.where(chosen, array[np.where(chosen, place, 0)], 0).astype(array.dtype)
    for at, each in zip(place[chosen], values[chosen], strict=True):
        if word == "xchg":
            array[at] = each
        elif word in _BITS:
            array[at] = bits(word, array[at], each)
        else:
            array[at] = arith(word, array[at], each)
    return old


def swap(array: Array, offsets: Array, wanted: Array, value: Array) -> Array:
    place, _, expected, values = _places(array, offsets, None, wanted, value)
    old = array[place]
    array[place] = np.where(old == expected, values, old)
    return np.asarray(old)


def _whole(array: Array, shape: Sequence[int], pitch: int) -> Array:
    return array[: int(np.prod(shape[:-1], dtype=int)) * pitch].reshape(*shape[:-1], pitch)


def box(
    array: Array, shape: Sequence[int], corner: Sequence[Any], block: Sequence[int], pitch: int
) -> Array:
    """A block of a tensor whose rows are `pitch` elements apart, zero outside of it."""
    inside = np.ones(tuple(block), bool)
    places = []
    for start, axis, extent in zip(corner, np.indices(tuple(block)), shape, strict=True):
        place = int(start) + axis
        inside &= (place >= 0) & (place < extent)
        places.append(np.clip(place, 0, extent - 1))
    found = _whole(array, shape, pitch)[tuple(places)]
    return np.where(inside, found, np.zeros((), array.dtype)).astype(array.dtype)


def put_box(
    array: Array, shape: Sequence[int], corner: Sequence[Any], value: Array, pitch: int
) -> None:
    """A block to a tensor; what lies outside is dropped."""
    whole = _whole(array, shape, pitch)
    for index in np.ndindex(*np.shape(value)):
        place = tuple(int(start) + each for start, each in zip(corner, index, strict=True))
        if all(0 <= each < extent for each, extent in zip(place, shape, strict=True)):
            whole[place] = value[index]


def combine_box(word: str, array: Array, shape: Sequence[int], value: Array, pitch: int) -> None:
    """A block combined with the one at the start of a tensor."""
    whole = _whole(array, shape, pitch)
    part = whole[..., : shape[-1]]
    part[...] = bits(word, part, value) if word in _BITS else arith(word, part, value)


def looped(*bounds: Any) -> Iterator[Array]:
    for each in range(*(int(bound) for bound in bounds)):
        yield np.int32(each)


def programs(*grid: int) -> Iterator[tuple[Array, ...]]:
    for index in np.ndindex(*grid[::-1]):
        yield tuple(np.int32(each) for each in index[::-1])


def halved(a: Array) -> Array:
    """The floor of the half of each element."""
    a = np.asarray(a)
    return np.floor(a.astype(np.float64) * 0.5).astype(a.dtype)
