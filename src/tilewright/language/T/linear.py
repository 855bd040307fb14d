"""What integers of a kernel are built from, so that differences of two of them can be numbers.

    A[bx * 64 : (bx + 1) * 64]        the extent is 64 x (bx + 1) - 64 x bx = 64

A `Linear` is a sum of atoms with integer factors. Atoms are SSA values, quotients and remainders,
and loads of one element with no write in between; equal atoms are the same number.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

Terms = frozenset[tuple[Hashable, int]]


@dataclass(frozen=True)
class Linear:
    """A sum of atoms, each with a factor, and a number."""

    terms: Terms
    constant: int = 0

    @classmethod
    def atom(cls, key: Hashable) -> Linear:
        return cls(frozenset({(key, 1)}))

    @property
    def constant_value(self) -> int | None:
        """The constant, if there are no atoms."""
        return None if self.terms else self.constant

    def scaled(self, factor: int) -> Linear:
        if factor == 0:
            return NOTHING
        return Linear(
            frozenset({(atom, count * factor) for atom, count in self.terms}),
            self.constant * factor,
        )

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        counts: dict[Hashable, int] = dict(self.terms)
        for atom, count in other.terms:
            counts[atom] = counts.get(atom, 0) + factor * count
        terms = frozenset({(atom, count) for atom, count in counts.items() if count})
        return Linear(terms, self.constant + factor * other.constant)

    def divided(self, by: int) -> tuple[Linear, Linear]:
        """A multiple of `by`, divided, and the rest."""
        whole = frozenset({(atom, count // by) for atom, count in self.terms if not count % by})
        rest = frozenset({(atom, count) for atom, count in self.terms if count % by})
        return Linear(whole, self.constant // by), Linear(rest, self.constant % by)


NOTHING: Final = Linear(frozenset())


def of_constant(value: int) -> Linear:
    return Linear(frozenset(), value)


_OPAQUE: Final[Mapping[str, str]] = {
    "//": "floordiv",
    "%": "mod",
    "ceildiv": "ceildiv",
    "min": "min",
    "max": "max",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
}


def combined(operator: str, left: Linear, right: Linear) -> Linear | None:
    """``left operator right``; None if the operator has no such form."""
    if operator == "+":
        return left.plus(right)
    if operator == "-":
        return left.plus(right, -1)
    if operator == "*":
        if right.constant_value is not None:
            return left.scaled(right.constant_value)
        if left.constant_value is not None:
            return right.scaled(left.constant_value)
        return Linear.atom(("mul", left, right))
    divisor = right.constant_value
    if operator in ("//", "%") and divisor is not None and divisor > 0:
        # Both round down: (d * q + r) // d is q + r // d.
        quotient, rest = left.divided(divisor)
        if rest.constant_value is not None:
            return quotient if operator == "//" else rest
        inside = Linear.atom((_OPAQUE[operator], rest, right))
        return quotient.plus(inside) if operator == "//" else inside
    if operator in _OPAQUE:
        return Linear.atom((_OPAQUE[operator], left, right))
    return None
