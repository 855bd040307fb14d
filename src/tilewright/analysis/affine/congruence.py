"""Congruences: value = r (mod m), with any modulus, not only powers of two.

    m = 0    the value is the constant r
    m = 1    nothing is known
    else     0 <= r < m

These are the cosets of the subgroups of the integers, so sums and products of known classes are
classes again, and the join of two is the smallest class that holds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class Congruence:
    """The integers r, r + m, r - m, ..."""

    m: int
    r: int

    def __post_init__(self) -> None:
        if self.m < 0 or (self.m and not 0 <= self.r < self.m):
            raise ValueError(f"not reduced: {self.r} mod {self.m}")

    @staticmethod
    def of(m: int, r: int = 0) -> Congruence:
        """The class of r modulo m, reduced."""
        m = abs(m)
        return Congruence(m, r % m if m else r)

    @property
    def constant(self) -> int | None:
        return None if self.m else self.r

    @property
    def divisor(self) -> int:
        """The largest integer that divides every member; 0 for the constant 0."""
        return gcd(self.m, self.r)

    def __contains__(self, value: int) -> bool:
        return (value - self.r) % self.m == 0 if self.m else value == self.r

    def __add__(self, other: Congruence) -> Congruence:
        return Congruence.of(gcd(self.m, other.m), self.r + other.r)

    def __neg__(self) -> Congruence:
        return Congruence.of(self.m, -self.r)

    def __sub__(self, other: Congruence) -> Congruence:
        return self + -other

    def __mul__(self, other: Congruence) -> Congruence:
        m = gcd(self.m * other.m, self.m * other.r, self.r * other.m)
        return Congruence.of(m, self.r * other.r)

    def scaled(self, factor: int) -> Congruence:
        return Congruence.of(self.m * factor, self.r * factor)

    def join(self, other: Congruence) -> Congruence:
        """The smallest class that holds both."""
        return Congruence.of(gcd(self.m, other.m, self.r - other.r), self.r)

    def meet(self, other: Congruence) -> Congruence | None:
        """Members of both classes (Chinese remainder theorem); None if there are none."""
        if not self.m:
            return self if self.r in other else None
        if not other.m:
            return other if other.r in self else None
        common = gcd(self.m, other.m)
        distance = other.r - self.r
        if distance % common:
            return None
        step = distance // common * pow(self.m // common, -1, other.m // common)
        return Congruence.of(self.m // common * other.m, self.r + self.m * step)

    def modulo(self, modulus: int) -> int | None:
        """The remainder of every member modulo a positive integer, if they agree."""
        return self.r % modulus if self.m % modulus == 0 else None

    def __str__(self) -> str:
        return str(self.r) if not self.m else f"{self.r} mod {self.m}"


def constant(value: int) -> Congruence:
    return Congruence(0, value)


ANY = Congruence(1, 0)
