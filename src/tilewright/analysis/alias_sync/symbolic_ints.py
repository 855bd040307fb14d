"""Integers of a kernel that is followed without arguments, and arguments that make loops short.

A number is an int, or a term over *roots*: arguments, program ids, words loaded from memory. Two
tasks that compute the same term mean the same number, so what one of them is taken for holds for
the other: loops of a producer and of a consumer over ``K // 64`` run equally often.

`Assumptions` gives roots values only when a number is needed. A loop asks for a trip count, and
the term of its bound is solved for the roots::

    (K + 63) // 64 == 5     ->    257 <= K <= 320    ->    K = 320

preferring round numbers. Everything else that asks takes the default of what is still open. What
was read from memory has no default: whoever decides by data is not analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

RootKind: TypeAlias = Literal["argument", "program", "programs", "data"]


@dataclass(frozen=True)
class Root:
    """A number that the kernel is given."""

    kind: RootKind
    key: Hashable


@dataclass(frozen=True)
class Term:
    """An operation on numbers."""

    op: str
    args: tuple[Number, ...]


Number: TypeAlias = int | Root | Term

DEFAULTS: Mapping[RootKind, int] = {"argument": 256, "program": 0, "programs": 1}
"""Of roots that no loop has chosen."""


def _quotient(a: int, b: int) -> int:
    """Division that rounds towards zero."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _remainder(a: int, b: int) -> int:
    """What `_quotient` leaves."""
    return a - b * _quotient(a, b)


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "div": _quotient,
    "rem": _remainder,
    "floordiv": int.__floordiv__,
    "ceildiv": _ceiling,
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "shl": int.__lshift__,
    "shr": int.__rshift__,
    "min": min,
    "max": max,
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
_DIVISIONS = frozenset(("div", "rem", "floordiv", "ceildiv"))
_MAX_SHIFT = 63
_GRID: tuple[RootKind, ...] = ("program", "programs")


def apply(op: str, values: Sequence[int]) -> int | None:
    """An operation on ints; None where it has no value."""
    if op == "select":
        return values[1] if values[0] else values[2]
    first, second = values
    if op in _DIVISIONS and second == 0:
        return None
    if op in ("shl", "shr") and not 0 <= second <= _MAX_SHIFT:
        return None
    return int(_BINARY[op](first, second))


@dataclass
class Assumptions:
    """What roots are taken for, in one run."""

    known: dict[Root, int] = field(default_factory=dict[Root, int])
    is_plan: bool = False
    """Whether only loops may choose: others see defaults, which are forgotten."""
    is_persistent: bool = False
    """Whether a loop steps by the number of programs: the first one then has most to do."""
    least: int = 1
    """Of arguments that are chosen: sizes are positive, unless a loop is not to run at all."""
    trips: dict[tuple[Number, ...], int] = field(default_factory=dict[tuple[Number, ...], int])
    """Of loops whose bounds could not be solved, by their bounds."""

    def make(self, op: str, *args: Number) -> Number | None:
        """An operation on numbers; None where it has no value."""
        values = [self.reduced(arg) for arg in args]
        if op == "add" and isinstance(values[1], int):
            values = _flat_sum(values[0], values[1])
            if len(values) == 1:
                return values[0]
        ints = [value for value in values if isinstance(value, int)]
        return apply(op, ints) if len(ints) == len(values) else Term(op, tuple(values))

    def reduced(self, number: Number) -> Number:
        """The number as an int if all it depends on is known."""
        found = self.value(number)
        return number if found is None else found

    def value(self, number: Number) -> int | None:
        """What a number is taken for; None while that is open."""
        if isinstance(number, int):
            return number
        if isinstance(number, Root):
            return self.known.get(number)
        values = [self.value(arg) for arg in number.args]
        ints = [value for value in values if value is not None]
        return apply(number.op, ints) if len(ints) == len(values) else None

    def settled(self, number: Number) -> int | None:
        """A number, with defaults for what is open; None if it depends on data."""
        known = Assumptions(dict(self.known)) if self.is_plan else self
        for root in roots_of(number):
            if root not in self.known and root.kind != "data":
                known.known[root] = DEFAULTS[root.kind]
        return known.value(number)

    def trip_count(self, low: Number, high: Number, step: Number, wanted: int) -> int | None:
        """How often a loop runs: `wanted` times if its bounds leave a choice.

        None if it runs backwards or not at all for a reason that is not a count.
        """
        first, last, by = (self.reduced(each) for each in (low, high, step))
        is_open = not (isinstance(first, int) and isinstance(last, int) and isinstance(by, int))
        if is_open:
            self.is_persistent |= any(root.kind in _GRID for root in roots_of(by))
            key = (first, last, by)
            if key in self.trips:
                return self.trips[key]
            start, stride = self.settled(first), self.settled(by)
            if start is None or stride is None or stride <= 0:
                self.trips[key] = wanted
                return wanted
            first, by = start, stride
            if not isinstance(last, int):
                most = start + wanted * stride
                self.least = min(wanted, 1)
                self.want(last, most - stride + 1 if wanted else most, most)
                end = self.settled(last)
                if end is None:
                    self.trips[key] = wanted
                    return wanted
                last = end
        assert isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
        return max(-(-(last - first) // by), 0) if by > 0 else None

    def want(self, number: Number, low: int, high: int | None) -> bool:
        """Choose roots so that a number lies in a range; False, and no choice, if none is found.

        The first program is preferred, another one taken only where that alone helps.
        """
        grid = {root: DEFAULTS[root.kind] for root in roots_of(number) if root.kind in _GRID}
        attempts = [{**grid, **self.known}]
        if grid and not self.is_persistent:
            attempts.append(dict(self.known))
        for known in attempts:
            attempt = Assumptions(known, least=self.least)
            if attempt.solve(number, low, high):
                self.known.update(attempt.known)
                return True
        return False

    def solve(self, number: Number, low: int, high: int | None) -> bool:
        """As `want`; a failure may leave choices behind."""
        if high is not None and low > high:
            return False
        found = self.value(number)
        if found is not None:
            return low <= found and (high is None or found <= high)
        if isinstance(number, Root):
            least = self.least if number.kind == "argument" else 0
            if high is not None and high < least:
                return False
            self.known[number] = _round_number(max(low, least), high)
            return True
        assert isinstance(number, Term)
        rule = _RULES.get(number.op)
        return rule is not None and rule(self, number, low, high)

    def take(self, number: Number) -> int | None:
        """A value for the side of a sum that is not solved for: offsets are 0."""
        for root in roots_of(number):
            self.known.setdefault(root, DEFAULTS[root.kind] if root.kind in _GRID else 0)
        return self.value(number)

    def depends(self, one: Number, other: Number) -> bool:
        """Whether two open numbers hang together, so that none can be chosen for itself."""
        mine = {root for root in roots_of(one) if root not in self.known}
        return any(root in mine for root in roots_of(other))


def _flat_sum(number: Number, more: int) -> list[Number]:
    """A sum as a term and one constant, so that equal addresses are equal terms."""
    while isinstance(number, Term) and number.op == "add" and isinstance(number.args[1], int):
        number, more = number.args[0], more + number.args[1]
    return [number, more] if more or isinstance(number, int) else [number]


def roots_of(number: Number) -> list[Root]:
    """What a number depends on, each once, in order."""
    if isinstance(number, int):
        return []
    if isinstance(number, Root):
        return [number]
    return list(dict.fromkeys(root for arg in number.args for root in roots_of(arg)))


def _round_number(low: int, high: int | None) -> int:
    """The number of a range that the highest power of two divides; 0 is the roundest."""
    if high is None:
        return max(low, 0)
    if low <= 0 <= high:
        return 0
    for power in range(max(abs(low), abs(high)).bit_length(), -1, -1):
        found = -(-low >> power) << power
        if found <= high:
            return found
    return low


_Rule: TypeAlias = Callable[[Assumptions, Term, int, int | None], bool]


def _shifted(bound: int | None, by: int) -> int | None:
    return None if bound is None else bound + by


def _add(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    if known.depends(one, other):
        return False
    if known.value(one) is not None:
        one, other = other, one
    fixed = known.take(other)
    if fixed is None:
        return False
    return known.solve(one, low - fixed, _shifted(high, -fixed))


def _sub(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    if known.depends(one, other):
        return False
    fixed = known.take(other)
    if fixed is None:
        return False
    return known.solve(one, low + fixed, _shifted(high, fixed))


def _mul(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    if known.depends(one, other):
        return False
    if known.value(one) is not None:
        one, other = other, one
    factor = known.value(other)
    if factor is None and known.solve(other, 1, 1):
        factor = 1
    if factor is None or factor <= 0:
        return False
    most = None if high is None else high // factor
    return known.solve(one, -(-low // factor), most)


def _div(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    divisor = known.value(other)
    if divisor is None or divisor <= 0 or low < 0:
        return False
    first, last = low * divisor, None if high is None else high * divisor + divisor - 1
    if term.op == "ceildiv":
        first, last = first - divisor + 1, _shifted(last, 1 - divisor)
    return known.solve(one, first, last)


def _min(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    solve = known.solve
    pairs = ((one, other), (other, one))
    return any(solve(tight, low, high) and solve(loose, low, None) for tight, loose in pairs)


def _max(known: Assumptions, term: Term, low: int, high: int | None) -> bool:
    one, other = term.args
    solve = known.solve
    pairs = ((one, other), (other, one))
    return any(solve(tight, low, high) and solve(loose, 0, high) for tight, loose in pairs)


_RULES: Mapping[str, _Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "floordiv": _div,
    "ceildiv": _div,
    "min": _min,
    "max": _max,
}
