"""Typed expressions, written twice: as `T` sees them and as NumPy does.

Types follow the language (docs/tile-kernels.md): int and float give the float, more bits win, of
one size the unsigned one; numbers of Python are int32. Every value of a float type is an integer of
known magnitude, so that sums and products are exact in any order; a value that is not (a quotient,
a root) is `loose`, and goes straight to global memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

BITS = {
    "int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64,
    "float8_e4m3fn": 8, "float8_e5m2": 8, "float16": 16, "bfloat16": 16, "float32": 32,
}  # fmt: skip
LARGEST = {
    "float8_e4m3fn": 400, "float8_e5m2": 50_000,
    "float16": 60_000, "bfloat16": 1e30, "float32": 1e30,
}  # fmt: skip
"""Magnitudes that cannot overflow."""


def is_float(dtype: str) -> bool:
    return "float" in dtype


def largest(dtype: str) -> float:
    """The magnitude of any value of an integer type."""
    return 2 ** BITS[dtype] if dtype.startswith("u") else 2 ** (BITS[dtype] - 1)


def promoted(one: str, other: str) -> str:
    if one == other:
        return one
    if is_float(one) != is_float(other):
        return one if is_float(one) else other
    if BITS[one] != BITS[other]:
        return one if BITS[one] > BITS[other] else other
    if is_float(one):
        return "float32"
    return one if one.startswith("u") else other


@dataclass(frozen=True)
class Value:
    """A scalar expression in both languages."""

    tile: str
    numpy: str
    dtype: str
    bound: float
    """Its magnitude; integers wrap, and have that of their type."""

    def cast(self, dtype: str) -> Value:
        """The same value of another type, asked for by the author."""
        if dtype == self.dtype:
            return self
        bound = self.bound if is_float(dtype) else largest(dtype)
        return Value(
            f"T.cast({self.tile}, {dtype!r})", f"cast({self.numpy}, {dtype!r})", dtype, bound
        )

    def implicit(self, dtype: str) -> str:
        """The NumPy text of a conversion that the language makes by itself."""
        return self.numpy if dtype == self.dtype else f"cast({self.numpy}, {dtype!r})"

    def clamped(self, bound: float) -> Value:
        """The value cut down to magnitude `bound`."""
        if self.bound <= bound:
            return self
        number = int(bound)
        low, high = (f"cast({sign}{number}, {self.dtype!r})" for sign in ("-", ""))
        return Value(
            f"T.clamp({self.tile}, {-number}, {number})",
            f"np.minimum(np.maximum({self.numpy}, {low}), {high})",
            self.dtype,
            bound,
        )


def number(value: int) -> Value:
    """A number of Python, which takes part in arithmetic as an int32."""
    return Value(str(value), f"cast({value}, 'int32')", "int32", abs(value))


_GROWTH: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "min": max,
    "max": max,
}
_NAMED = {"min": "np.minimum", "max": "np.maximum"}


def binary(word: str, left: Value, right: Value) -> Value:
    """``left word right``, cut down first if it might overflow."""
    dtype = promoted(left.dtype, right.dtype)
    bound = _GROWTH[word](left.bound, right.bound)
    if is_float(dtype) and max(bound, left.bound, right.bound) > LARGEST[dtype]:
        root = int(LARGEST[dtype] ** 0.5) // 2
        return binary(word, _small(left, root), _small(right, root))
    if not is_float(dtype):
        bound = largest(dtype)
    a, b = left.implicit(dtype), right.implicit(dtype)
    if word in _NAMED:
        return Value(
            f"T.{word}({left.tile}, {right.tile})", f"{_NAMED[word]}({a}, {b})", dtype, bound
        )
    return Value(f"({left.tile} {word} {right.tile})", f"({a} {word} {b})", dtype, bound)


def _small(value: Value, bound: int) -> Value:
    """The value within `bound`: floats are cut, integers lose their high bits."""
    if is_float(value.dtype):
        return value.clamped(bound)
    mask = 15 if bound >= 15 else 7
    return integer("&", value, mask) if value.bound > mask else value


def integer(word: str, value: Value, right: int) -> Value:
    """Operators of integers with a number: ``& | ^ << >> // %``."""
    dtype = promoted(value.dtype, "int32")
    text = f"({value.implicit(dtype)} {word} cast({right}, {dtype!r}))"
    bound = right if word in ("&", "%") else largest(dtype)
    return Value(f"({value.tile} {word} {right})", text, dtype, bound)


def choice(condition: tuple[str, str], then: Value, otherwise: Value) -> Value:
    dtype = promoted(then.dtype, otherwise.dtype)
    bound = max(then.bound, otherwise.bound) if is_float(dtype) else largest(dtype)
    if is_float(dtype) and bound > LARGEST[dtype]:
        limit = int(LARGEST[dtype])
        return choice(condition, _small(then, limit), _small(otherwise, limit))
    return Value(
        f"T.if_then_else({condition[0]}, {then.tile}, {otherwise.tile})",
        f"np.where({condition[1]}, {then.implicit(dtype)}, {otherwise.implicit(dtype)})",
        dtype,
        bound,
    )


def negated(value: Value) -> Value:
    return Value(f"(-{value.tile})", f"(-{value.numpy})", value.dtype, value.bound)


def magnitude(value: Value) -> Value:
    return Value(f"T.abs({value.tile})", f"np.abs({value.numpy})", value.dtype, value.bound)


def loose(value: Value, rng: random.Random) -> Value:
    """Something that is no integer any more, of a float32."""
    single = value.clamped(1000).cast("float32") if is_float(value.dtype) else None
    if single is None:
        single = integer("&", value, 255).cast("float32")
    one = "cast(1, 'float32')"
    t, n = single.tile, single.numpy
    forms = (
        (f"({t} * 0.3)", f"({n} * cast(0.3, 'float32'))"),
        (f"T.sqrt(T.abs({t}))", f"np.sqrt(np.abs({n}))"),
        (f"({t} / (T.abs({t}) + 1))", f"({n} / (np.abs({n}) + {one}))"),
        (f"T.max({t}, 0.5)", f"np.maximum({n}, cast(0.5, 'float32'))"),
    )
    tile, numpy = rng.choice(forms)
    return Value(tile, numpy, "float32", 1e6)


def stored(value: Value, dtype: str, bound: float) -> Value:
    """`value` so that an element of `dtype` within `bound` can hold it."""
    if is_float(dtype):
        small = value.clamped(bound) if is_float(value.dtype) else _fitting(value, bound)
        return small
    if is_float(value.dtype):
        return (magnitude(value) if dtype == "uint8" else value).clamped(100)
    return value


def _fitting(value: Value, bound: float) -> Value:
    if value.bound <= bound:
        return value
    mask = 1
    while mask * 2 + 1 <= bound:
        mask = mask * 2 + 1
    return integer("&", value, mask)
