"""Symbolic integers of a kernel analysed without arguments, and arguments that make loops short.

A symbolic integer is an int, or a term over *roots*: arguments, program ids, values loaded from
memory. Two tasks that compute the same term have the same value, so an assumption about one of them
holds for the other: loops of a producer and of a consumer over ``K // 64`` have the same trip
count.

`Assumptions` assigns values to roots only on demand. A loop requires a trip count, and the term of
its bound is solved for the roots::

    (K + 63) // 64 == 5     ->    257 <= K <= 320    ->    K = 320

preferring round values. Every other use takes the defaults of free roots. A value read from memory
has no default: data-dependent control flow is not analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.analysis.affine.arithmetic import trunc_div, trunc_rem
from tilewright.analysis.integers.unbounded import ceil_div

RootKind: TypeAlias = Literal["argument", "program", "programs", "data"]


@dataclass(frozen=True)
class Root:
    """An input of the kernel."""

    kind: RootKind
    key: Hashable


@dataclass(frozen=True)
class Term:
    """An operation on symbolic integers."""

    op: str
    args: tuple[SymbolicInt, ...]


SymbolicInt: TypeAlias = int | Root | Term

DEFAULTS: Mapping[RootKind, int] = {"argument": 256, "program": 0, "programs": 1}
"""The default of roots that no loop has chosen."""


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "div": trunc_div,
    "rem": trunc_rem,
    "floordiv": int.__floordiv__,
    "ceildiv": ceil_div,
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
    """Assumed values of roots, in one run."""

    known: dict[Root, int] = field(default_factory=dict[Root, int])
    is_plan: bool = False
    """Whether only loops may choose: other uses see defaults, which are not recorded."""
    is_persistent: bool = False
    """Whether a loop steps by the number of programs: the first one then has the most
    iterations."""
    min_argument: int = 1
    """The lower bound of chosen arguments: sizes are positive, unless a loop is to have trip count
    0."""
    trips: dict[tuple[SymbolicInt, ...], int] = field(
        default_factory=dict[tuple[SymbolicInt, ...], int]
    )
    """Trip counts of loops whose bounds could not be solved, by their bounds."""

    def make(self, op: str, *args: SymbolicInt) -> SymbolicInt | None:
        """An operation on symbolic integers; None where it has no value."""
        values = [self.reduced(arg) for arg in args]
        if op == "add" and isinstance(values[1], int):
            values = _flat_sum(values[0], values[1])
            if len(values) == 1:
                return values[0]
        ints = [value for value in values if isinstance(value, int)]
        return apply(op, ints) if len(ints) == len(values) else Term(op, tuple(values))

    def reduced(self, integer: SymbolicInt) -> SymbolicInt:
        """The value as an int if all its roots are assigned."""
        found = self.value(integer)
        return integer if found is None else found

    def value(self, integer: SymbolicInt) -> int | None:
        """The assumed value; None while it is undetermined."""
        if isinstance(integer, int):
            return integer
        if isinstance(integer, Root):
            return self.known.get(integer)
        values = [self.value(arg) for arg in integer.args]
        ints = [value for value in values if value is not None]
        return apply(integer.op, ints) if len(ints) == len(values) else None

    def value_or_default(self, integer: SymbolicInt) -> int | None:
        """The value, with defaults for free roots; None if it is data-dependent."""
        known = Assumptions(dict(self.known)) if self.is_plan else self
        for root in roots_of(integer):
            if root not in self.known and root.kind != "data":
                known.known[root] = DEFAULTS[root.kind]
        return known.value(integer)

    def trip_count(
        self, low: SymbolicInt, high: SymbolicInt, step: SymbolicInt, required: int
    ) -> int | None:
        """The trip count of a loop: `required` if its bounds leave a choice.

        None if it runs backwards or not at all for a reason that is not a count.
        """
        first, last, by = (self.reduced(each) for each in (low, high, step))
        is_open = not (isinstance(first, int) and isinstance(last, int) and isinstance(by, int))
        if is_open:
            self.is_persistent |= any(root.kind in _GRID for root in roots_of(by))
            key = (first, last, by)
            if key in self.trips:
                return self.trips[key]
            start, stride = self.value_or_default(first), self.value_or_default(by)
            if start is None or stride is None or stride <= 0:
                self.trips[key] = required
                return required
            first, by = start, stride
            if not isinstance(last, int):
                upper = start + required * stride
                self.min_argument = min(required, 1)
                self.require(last, upper - stride + 1 if required else upper, upper)
                end = self.value_or_default(last)
                if end is None:
                    self.trips[key] = required
                    return required
                last = end
        assert isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
        return max(-(-(last - first) // by), 0) if by > 0 else None

    def require(self, integer: SymbolicInt, low: int, high: int | None) -> bool:
        """Choose roots so that a value is in a range; False, and no choice, if none is found.

        The first program is preferred, another one taken only where necessary.
        """
        grid = {root: DEFAULTS[root.kind] for root in roots_of(integer) if root.kind in _GRID}
        attempts = [{**grid, **self.known}]
        if grid and not self.is_persistent:
            attempts.append(dict(self.known))
        for known in attempts:
            attempt = Assumptions(known, min_argument=self.min_argument)
            if attempt.solve(integer, low, high):
                self.known.update(attempt.known)
                return True
        return False

    def solve(self, integer: SymbolicInt, low: int, high: int | None) -> bool:
        """As `require`; a failure may leave some roots assigned."""
        if high is not None and low > high:
            return False
        found = self.value(integer)
        if found is not None:
            return low <= found and (high is None or found <= high)
        if isinstance(integer, Root):
            min_argument = self.min_argument if integer.kind == "argument" else 0
            if high is not None and high < min_argument:
                return False
            self.known[integer] = _roundest(max(low, min_argument), high)
            return True
        assert isinstance(integer, Term)
        rule = _RULES.get(integer.op)
        return rule is not None and rule(self, integer, low, high)

    def take(self, integer: SymbolicInt) -> int | None:
        """A value for the side of a sum that is not solved for: offsets are 0."""
        for root in roots_of(integer):
            self.known.setdefault(root, DEFAULTS[root.kind] if root.kind in _GRID else 0)
        return self.value(integer)

    def depends(self, one: SymbolicInt, other: SymbolicInt) -> bool:
        """Whether two undetermined values share roots, so that they cannot be chosen
        independently."""
        own_roots = {root for root in roots_of(one) if root not in self.known}
        return any(root in own_roots for root in roots_of(other))


def _flat_sum(integer: SymbolicInt, more: int) -> list[SymbolicInt]:
    """A sum as a term and one constant, so that equal addresses are equal terms."""
    while isinstance(integer, Term) and integer.op == "add" and isinstance(integer.args[1], int):
        integer, more = integer.args[0], more + integer.args[1]
    return [integer, more] if more or isinstance(integer, int) else [integer]


def roots_of(integer: SymbolicInt) -> list[Root]:
    """The roots that a value depends on, each once, in order."""
    if isinstance(integer, int):
        return []
    if isinstance(integer, Root):
        return [integer]
    return list(dict.fromkeys(root for arg in integer.args for root in roots_of(arg)))


def _roundest(low: int, high: int | None) -> int:
    """The integer of a range that the highest power of two divides; 0 is the roundest."""
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
    upper = None if high is None else high // factor
    return known.solve(one, -(-low // factor), upper)


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
