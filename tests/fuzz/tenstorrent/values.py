"""Expressions of one element, with what is known of their values.

Inputs hold small integers, so that sums and comparisons are exact in every float format; a value
that is not (a root, a quotient, an integer too large for its format) carries a bound of its error.
Comparisons of data take exact values only: rounding may not decide which branch is selected.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.fuzz.tile.values import promoted

EPSILON = {"int32": 0.0, "bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 2.0**-21}
"""Rounding of one operation, relative to the largest magnitude."""
EXACT = {"int32": 2**31, "bfloat16": 256, "float16": 2048, "float32": 2**22}
"""Integers of up to this magnitude are exact."""
LARGEST = 1000.0
"""Values of larger magnitude are clamped before they grow further."""
COARSE = 2.0**-6
"""A value with a larger error, relative to its bound, is not used in further expressions."""


@dataclass(frozen=True)
class Known:
    """What is known of all elements of a value."""

    bound: float
    error: float = 0.0

    @property
    def is_exact(self) -> bool:
        return self.error == 0

    @property
    def is_coarse(self) -> bool:
        return self.error > COARSE * max(self.bound, 1.0)

    def rounded(self, dtype: str) -> Known:
        """The same values in a format."""
        if self.is_exact and self.bound <= EXACT[dtype]:
            return self
        return replace(self, error=self.error + 2 * EPSILON[dtype] * self.bound)

    def joined(self, other: Known) -> Known:
        return Known(max(self.bound, other.bound), max(self.error, other.error))


@dataclass(frozen=True)
class Value:
    """An expression."""

    text: str
    dtype: str
    known: Known

    @property
    def bound(self) -> float:
        return self.known.bound

    @property
    def error(self) -> float:
        return self.known.error

    def made(self, text: str, bound: float, error: float, *, loose: bool = False) -> Value:
        """An expression of this value, rounded to the format of its operands."""
        known = Known(bound, max(error, 1e-30) if loose else error)
        return Value(text, self.dtype, known.rounded(self.dtype))

    def clamped(self, bound: int) -> Value:
        if self.bound <= bound:
            return self
        return replace(
            self,
            text=f"T.clamp({self.text}, {-bound}, {bound})",
            known=Known(bound, min(self.error, 2.0 * bound)),
        )


def literal(value: int, dtype: str) -> Value:
    return Value(str(value), dtype, Known(abs(value)))


def constant(value: int, dtype: str) -> Value:
    """A number as an element of its own."""
    return Value(f"T.cast({value}, {dtype!r})", dtype, Known(abs(value)))


def binary(word: str, left: Value, right: Value) -> Value:
    """``left word right``, in the wider of both formats."""
    dtype = promoted(left.dtype, right.dtype)
    if max(left.bound, right.bound) > LARGEST:
        left, right = left.clamped(30), right.clamped(30)
    error = left.error + right.error
    bound = left.bound + right.bound
    if word == "*":
        error = left.error * right.bound + right.error * left.bound
        bound = left.bound * right.bound
    text = f"({left.text} {word} {right.text})"
    if word in ("min", "max"):
        text, bound = f"T.{word}({left.text}, {right.text})", max(left.bound, right.bound)
    return Value(text, dtype, Known(bound, error).rounded(dtype))


def chosen(condition: str, then: Value, otherwise: Value) -> Value:
    dtype = promoted(then.dtype, otherwise.dtype)
    text = f"T.if_then_else({condition}, {then.text}, {otherwise.text})"
    return Value(text, dtype, then.known.joined(otherwise.known).rounded(dtype))


def unary(rng: random.Random, value: Value) -> Value:
    """A function of one element, within bounds."""
    t, bound, error = value.text, value.bound, value.error
    kind = rng.randrange(13)
    if kind < 2:
        return replace(value, text=f"(-{t})")
    if kind < 4:
        return replace(value, text=f"T.abs({t})")
    if kind == 4:
        return value.clamped(rng.choice((1, 3, 20)))
    if kind == 5:
        return value.made(f"T.tanh({t})", 1, error, loose=True)
    if kind == 6:
        return value.made(f"T.sigmoid({t})", 1, error, loose=True)
    if kind == 7:
        word, growth = rng.choice((("exp", 7.4), ("exp2", 4.0)))
        return value.made(f"T.{word}(T.min({t}, 2))", growth, growth * error, loose=True)
    if kind == 8:
        return value.made(f"T.sqrt(T.abs({t}) + 1)", (bound + 1) ** 0.5, error, loose=True)
    if kind == 9:
        return value.made(f"T.rsqrt(T.abs({t}) + 1)", 1, error, loose=True)
    if kind == 10:
        word, growth = rng.choice((("log", 7), ("log2", 10)))
        return value.made(f"T.{word}(T.abs({t}) + 1)", growth, 2 * error, loose=True)
    if kind == 11:
        return value.made(f"({t} * 0.3)", bound * 0.3, error, loose=True)
    return value.made(f"(1 / (T.abs({t}) + 1))", 1, error, loose=True)


def quotient(left: Value, right: Value) -> Value:
    """A quotient whose divisor is at least 1."""
    dtype = promoted(left.dtype, right.dtype)
    error = left.error + left.bound * right.error + 1e-30
    text = f"({left.text} / (T.abs({right.text}) + 1))"
    return Value(text, dtype, Known(left.bound, error).rounded(dtype))
