"""Intervals of integers: what is known about the size and the sign of a value.

A bound is an integer, or None, which stands for infinity on its side. Every operation returns
an interval that holds each result the operation can have on members of its operands; where it
can be exact at no cost, it is. Intervals are never empty: a meet of disjoint intervals is None,
so that the caller has to handle a contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `lo` to `hi`, both included; None is unbounded."""

    lo: int | None = None
    hi: int | None = None

    def __post_init__(self) -> None:
        if self.lo is not None and self.hi is not None and self.lo > self.hi:
            raise ValueError(f"empty interval [{self.lo}, {self.hi}]")

    @staticmethod
    def point(value: int) -> Interval:
        return Interval(value, value)

    @staticmethod
    def of_bits(width: int, signed: bool = True) -> Interval:
        """The values of an integer type."""
        if signed:
            return Interval(-(1 << (width - 1)), (1 << (width - 1)) - 1)
        return Interval(0, (1 << width) - 1)

    @property
    def is_bounded(self) -> bool:
        return self.lo is not None and self.hi is not None

    @property
    def constant(self) -> int | None:
        """The only member, if there is only one."""
        return self.lo if self.lo == self.hi else None

    @property
    def size(self) -> int | None:
        """How many members, None if infinitely many."""
        return None if self.lo is None or self.hi is None else self.hi - self.lo + 1

    def __contains__(self, value: int) -> bool:
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)

    def contains(self, other: Interval) -> bool:
        return (self.lo is None or (other.lo is not None and self.lo <= other.lo)) and (
            self.hi is None or (other.hi is not None and other.hi <= self.hi)
        )

    def __add__(self, other: Interval) -> Interval:
        lo = None if self.lo is None or other.lo is None else self.lo + other.lo
        hi = None if self.hi is None or other.hi is None else self.hi + other.hi
        return Interval(lo, hi)

    def __neg__(self) -> Interval:
        return Interval(
            None if self.hi is None else -self.hi, None if self.lo is None else -self.lo
        )

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        a, b, c, d = self.lo, self.hi, other.lo, other.hi
        if a is not None and b is not None and c is not None and d is not None:
            products = (a * c, a * d, b * c, b * d)
            return Interval(min(products), max(products))
        corners = [
            _times(x, y)
            for x in (_end(self.lo, -1), _end(self.hi, 1))
            for y in (_end(other.lo, -1), _end(other.hi, 1))
        ]
        low, high = min(corners), max(corners)
        return Interval(None if low[0] else low[1], None if high[0] else high[1])

    def scaled(self, factor: int) -> Interval:
        """The interval of `factor * value`."""
        if factor == 0:
            return ZERO
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return Interval(lo, hi) if factor > 0 else Interval(hi, lo)

    def power(self, exponent: int) -> Interval:
        """The interval of a power, exponent at least 1; an even power is not negative."""
        result = self
        for _ in range(exponent - 1):
            result = result * self
        if exponent % 2 == 1:
            return result
        return result.narrowed(NON_NEGATIVE)

    def hull(self, other: Interval) -> Interval:
        lo = None if self.lo is None or other.lo is None else min(self.lo, other.lo)
        hi = None if self.hi is None or other.hi is None else max(self.hi, other.hi)
        return Interval(lo, hi)

    def meet(self, other: Interval) -> Interval | None:
        """Members of both; None if there are none."""
        lo = (
            self.lo if other.lo is None else other.lo if self.lo is None else max(self.lo, other.lo)
        )
        hi = (
            self.hi if other.hi is None else other.hi if self.hi is None else min(self.hi, other.hi)
        )
        if lo is not None and hi is not None and lo > hi:
            return None
        return Interval(lo, hi)

    def narrowed(self, other: Interval) -> Interval:
        """The meet of two ranges of one value; unchanged if they contradict each other.

        A contradiction means code that is never reached: any result is right there.
        """
        return self.meet(other) or self

    def floor_div(self, divisor: Interval) -> Interval:
        """The interval of floor division by a divisor known to be positive."""
        if divisor.lo is None or divisor.lo <= 0:
            raise ValueError("floor_div wants a positive divisor")
        smallest, largest = divisor.lo, divisor.hi
        lo = hi = None
        if self.lo is not None:
            by = largest if self.lo >= 0 else smallest
            lo = 0 if by is None else self.lo // by
        if self.hi is not None:
            by = smallest if self.hi >= 0 else largest
            hi = -1 if by is None else self.hi // by
        return Interval(lo, hi)

    def floor_mod(self, divisor: Interval) -> Interval:
        """The interval of the remainder of floor division by a positive divisor."""
        if divisor.lo is None or divisor.lo <= 0:
            raise ValueError("floor_mod wants a positive divisor")
        if self.lo is not None and self.lo >= 0 and self.hi is not None and self.hi < divisor.lo:
            return self
        top = None if divisor.hi is None else divisor.hi - 1
        if self.lo is not None and self.lo >= 0 and self.hi is not None:
            top = self.hi if top is None else min(top, self.hi)
        return Interval(0, top)

    def __str__(self) -> str:
        return (
            f"[{'-inf' if self.lo is None else self.lo}, {'inf' if self.hi is None else self.hi}]"
        )


# An end of an interval as a pair that sorts: (-1, 0) and (1, 0) are the infinities.
_End = tuple[int, int]


def _end(bound: int | None, side: int) -> _End:
    return (side, 0) if bound is None else (0, bound)


def _times(x: _End, y: _End) -> _End:
    """A corner of a product. Infinity times zero is zero: an infinite end stands for integers
    as large as one likes, never for infinity itself."""
    if not x[0] and not y[0]:
        return (0, x[1] * y[1])
    sign = _sign(x) * _sign(y)
    return (sign, 0)


def _sign(x: _End) -> int:
    return x[0] or (x[1] > 0) - (x[1] < 0)


ALL = Interval()
ZERO = Interval(0, 0)
BIT = Interval(0, 1)
NON_NEGATIVE = Interval(0, None)
