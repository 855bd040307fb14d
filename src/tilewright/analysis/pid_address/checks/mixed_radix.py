"""P1: offsets as numbers with digits, so that equal addresses mean equal digits.

The offset is a sum of strides times digits, ``offset = sum S_k * X_k + constant``. The strides are
polynomials in arguments; what has the same symbolic stride is collected into one digit, such as
``X = 128*pid_m + lane0`` with stride ``2*stride_cm``. If ``0 <= X_k < N_k`` and

    S_k >= sum over later digits of S_l * (N_l - 1) + e      for every k

then two elements of e bytes can only share a byte if all their digits are equal: the first digit
that differs moves the address by more than all later ones can undo. What is left is linear with
integer factors: do equal digits mean equal program ids, or equal tile coordinates, and do equal
coordinates mean equal programs? Inequalities that nothing decides are the proof's conditions. What
the given grid and arguments decide is decided: a condition that fails there is no proof, and one
that speaks of nothing open is not left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import gcd

from tilewright.analysis.affine import (
    Context,
    Formula,
    Interval,
    Poly,
    Space,
    SymbolKind,
    conjunction,
    disjunction,
)
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.affine.poly import total
from tilewright.analysis.pid_address.atoms import AXES, kind_of
from tilewright.analysis.pid_address.checks import intervals, presburger
from tilewright.analysis.pid_address.checks.findings import program_text
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.procedures import SYMBOLIC
from tilewright.analysis.pid_address.checks.questions import Question, query
from tilewright.analysis.pid_address.checks.regions import (
    PRIME,
    VARYING,
    AddressRegion,
    conjuncts,
    different_programs,
    is_opaque,
    shown_content,
    varies,
)
from tilewright.analysis.pid_address.report import MemoryOp

MAX_DIGITS = 4
MAX_CHOICES = 16
"""Combinations of bounds that are tried for one inequality."""


@dataclass(frozen=True)
class Radix:
    """A proof that programs are disjoint, given the conditions."""

    reason: str
    conditions: tuple[str, ...]
    fails: str | None = None
    """Why a condition does not hold in the launch that was described: then nothing is proved."""


@dataclass(frozen=True)
class Term:
    """A variable of the offset with its stride."""

    name: str
    value: Poly
    stride: Poly
    limits: Interval
    is_program: bool
    """A program id or a tile coordinate, as opposed to a counter or a lane."""


@dataclass(frozen=True)
class Digit:
    """Variables with a common stride: stride * sum factor * variable."""

    stride: Poly
    parts: tuple[tuple[int, Term], ...]

    @property
    def value(self) -> Poly:
        return total(self.stride.space, (term.value * factor for factor, term in self.parts))

    def __str__(self) -> str:
        texts = (t.name if factor == 1 else f"{factor}*{t.name}" for factor, t in self.parts)
        return " + ".join(texts)


def disjoint(launch: Launch, left: MemoryOp, right: MemoryOp) -> Radix | None:
    """Different programs never conflict in two accesses with the same address formula."""
    if left.offset != right.offset or left.elem_bytes != right.elem_bytes:
        return None
    region = launch.region(left)
    terms = _terms(region)
    if terms is None:
        return None
    digits = _digits(terms)
    if len(digits) > MAX_DIGITS or (len(digits) < 2 and left.virtual is None):
        return None
    if not _determine_programs(launch, region, digits):
        return None
    conditions: list[str] = []
    # The later digits of one side pull the address up, those of the other down, never both.
    for access in (left, right):
        found = _separating(launch.region(access), digits, left.elem_bytes)
        if found is None:
            return None
        conditions += found
    coordinates, fails = _coordinates_differ(launch, left, right)
    conditions += coordinates
    strides = ", ".join(str(digit.stride) for digit in digits)
    reason = f"the address has the digits {'; '.join(map(str, digits))} with strides {strides}"
    return Radix(reason, tuple(dict.fromkeys(conditions)), fails)


# Digits.


def _terms(region: AddressRegion) -> list[Term] | None:
    """The offset as strides times variables; None if it is not of that form."""
    terms = list(_program_terms(region))
    rest = region.offset - total(region.space, (t.stride * t.value for t in terms))
    for atom in region.symbols:
        if kind_of(atom) == "pid":
            continue
        value = region.space.of_atom(atom)
        stride = rest.coefficient_of(atom)
        if stride is None or varies(stride):
            return None
        if stride.terms:
            terms.append(Term(atom.name, value, stride, atom.range, False))
            rest = rest - stride * value
    return None if varies(rest) or not terms else terms


def _program_terms(region: AddressRegion) -> Iterator[Term]:
    access = region.access
    strides: Mapping[str, Poly | None]
    coordinates: Mapping[str, Poly]
    if access.virtual is not None:
        strides, coordinates = access.virtual.strides, access.virtual.coordinates
    else:
        strides = {str(axis): stride for axis, stride in access.pid_strides.items()}
        coordinates = dict[str, Poly]()
    for name, stride in strides.items():
        if stride is None or not stride.terms or varies(stride):
            continue
        if name in coordinates:
            yield Term(name, coordinates[name], stride, Interval(None, None), True)
        else:
            pid = region.pids[int(name)]
            assert pid.atom is not None
            yield Term(f"pid{name}", pid, stride, pid.atom.range, True)


def _digits(terms: Iterable[Term]) -> list[Digit]:
    groups: dict[Poly, list[tuple[int, Term]]] = {}
    for term in terms:
        constant = term.stride.constant
        size = term.stride.content * term.stride.sign if constant is None else constant
        groups.setdefault(term.stride.exact_quotient(size), []).append((size, term))
    digits: list[Digit] = []
    for primitive, members in groups.items():
        unit = gcd(*(size for size, _ in members))
        parts = tuple((size // unit, term) for size, term in members)
        digits.append(Digit(primitive * unit, parts))
    # Arguments of one kernel usually come with the widest stride first; integers are last.
    return sorted(digits, key=lambda d: (d.stride.constant is not None, min(d.stride.terms)))


# Equal addresses mean equal digits.


@dataclass(frozen=True)
class _DigitBounds:
    """A digit with what is known about its size."""

    stride: Poly
    counts: tuple[Poly, ...]
    """Numbers of values it may have: each is right."""
    sign: str | None
    """What has to hold for it to be a digit, if that is not known."""


def _separating(
    region: AddressRegion, digits: Sequence[Digit], size: int
) -> tuple[str, ...] | None:
    """Conditions under which digits do not interfere, for the best order of digits."""
    context = region.context()
    bounds = [_digit_bounds(region, context, digit) for digit in digits]
    best: tuple[str, ...] | None = None
    for order in permutations(bounds):
        found = _conditions(context, order, size)
        if found is not None and (best is None or len(found) < len(best)):
            best = found
    return best


def _digit_bounds(region: AddressRegion, context: Context, digit: Digit) -> _DigitBounds:
    counts = [bound + 1 for bound in intervals.upper_bounds(region, digit.value)]
    divisor = _divisor(context, digit.value)
    sign: str | None = None
    if divisor is not None:
        counts.append(divisor)
        if not context.is_positive(divisor):
            sign = f"{divisor} >= 1"
    elif not context.is_nonneg(digit.value):
        sign = f"{digit} >= 0"
    return _DigitBounds(digit.stride, tuple(counts), sign)


def _divisor(context: Context, value: Poly) -> Poly | None:
    """The D of a remainder of something that is not negative: it has D values, if D is positive."""
    atom = value.view().atom
    if (
        atom is None
        or atom.kind not in (SymbolKind.MOD, SymbolKind.TREM)
        or value.view().content != 1
    ):
        return None
    dividend, divisor = atom.args
    return divisor if context.is_nonneg(dividend) and not varies(divisor) else None


def _conditions(
    context: Context, bounds: Sequence[_DigitBounds], size: int
) -> tuple[str, ...] | None:
    """What is not decided of the inequalities; None if one is wrong or a digit has no bound."""
    texts: list[str] = []
    for at, bound in enumerate(bounds):
        later = bounds[at + 1 :]
        if not all(other.counts for other in later):
            return None
        spans = [_span(context, later, choice, size) for choice in _choices(later)]
        if any(context.decide(compare(">=", bound.stride, span)) is True for span in spans):
            continue
        span = _min_span(context, later, size)
        if context.decide(compare(">=", bound.stride, span)) is False:
            return None
        texts.append(_lower_bound(bound.stride, span))
    # Nothing comes before the first digit: it may be as large or small as it likes.
    signs = [bound.sign for bound in bounds[1:] if bound.sign is not None]
    return (*texts, *signs)


def _choices(bounds: Sequence[_DigitBounds]) -> list[tuple[Poly, ...]]:
    """One bound for each digit, in all combinations."""
    return list(islice(product(*(bound.counts for bound in bounds)), MAX_CHOICES))


def _span(
    context: Context, bounds: Sequence[_DigitBounds], counts: Iterable[Poly], size: int
) -> Poly:
    """Bytes that digits can cover."""
    pairs = zip(bounds, counts, strict=True)
    parts = (bound.stride * (count - 1) for bound, count in pairs)
    return context.limited(total(context.space, parts) + size)


def _min_span(context: Context, bounds: Sequence[_DigitBounds], size: int) -> Poly:
    """The same by the smallest of all bounds: the weakest condition. Bounds by arguments alone are
    more readable than those by the number of programs."""
    counts: list[Poly] = []
    for bound in bounds:
        plain = [c for c in bound.counts if not any(kind_of(a) == "np" for a in c.atoms())]
        counts.append(context.minimum(*(plain or bound.counts)))
    return _span(context, bounds, counts, size)


def _lower_bound(stride: Poly, span: Poly) -> str:
    unit = gcd(shown_content(stride), shown_content(span)) or 1
    return f"{stride.exact_quotient(unit)} >= {span.exact_quotient(unit)}"


# Equal digits mean equal programs.


def _determine_programs(launch: Launch, region: AddressRegion, digits: Sequence[Digit]) -> bool:
    """Do equal digits exclude different program ids or coordinates?"""
    space = region.space
    equal: list[Formula] = []
    different: list[Formula] = []
    for digit in digits:
        own, other = space.zero, space.zero
        for factor, term in digit.parts:
            here, there = _twins(space, term)
            own, other = own + here * factor, other + there * factor
            if term.is_program:
                different.append(compare("!=", here, there))
        equal.append(compare("=", own, other))
    claim = conjunction(space, (*equal, disjunction(space, different)))
    question = Question(claim, (), False)
    if presburger.decide(question, launch.effort).possible is not False:
        return False
    if region.access.virtual is not None:
        return True
    named = {term.name for digit in digits for _, term in digit.parts}
    axes = [f"pid{axis}" for axis, count in enumerate(launch.grid) if count != 1]
    return named.issuperset(axes)


def _twins(space: Space, term: Term) -> tuple[Poly, Poly]:
    """Variables for the value of a term in two programs."""
    name = f"digit {term.name}"
    return space.symbol(name, term.limits), space.symbol(f"{name}'", term.limits)


def _coordinates_differ(
    launch: Launch, left: MemoryOp, right: MemoryOp
) -> tuple[tuple[str, ...], str | None]:
    """Conditions for different programs to have different coordinates, and why they fail."""
    if left.virtual is None:
        return (), None
    coordinates = left.virtual.coordinates
    own, other, prime = launch.region(left), launch.primed(right), launch.priming(right)
    axes = [int(name) for name in left.virtual.strides if name not in coordinates]
    same = [compare("=", own.pids[axis], other.pids[axis]) for axis in axes]
    equal = [compare("=", value, prime.poly(value)) for value in coordinates.values()]
    joined = [compare("=", value, prime.poly(value)) for value in _dividends(coordinates)]
    domains = (launch.domain(left), prime.formula(launch.domain(right)))
    common = (*same, *domains, different_programs(own, other))
    for extra in (joined, equal) if joined else (equal,):
        question = Question(conjunction(own.space, (*common, *extra)), (), False)
        if query(question, launch.effort, SYMBOLIC).possible is False:
            return (), None
    names = ", ".join(coordinates)
    return (f"({names}) differ between programs",), _shared(
        launch, names, (*own.pids, *other.pids), (*same, *equal), common
    )


def _shared(
    launch: Launch,
    names: str,
    pids: Sequence[Poly],
    equal: Sequence[Formula],
    common: Sequence[Formula],
) -> str | None:
    """Two programs with equal coordinates, where the grid alone decides which have them."""
    space = launch.space()
    if None in launch.grid or any(_is_open(space, part) for part in equal):
        return None
    known = [part for formula in common for part in conjuncts(formula) if not _is_open(space, part)]
    order = tuple(pid.atom for pid in pids if pid.atom is not None)
    question = Question(conjunction(space, (*equal, *known)), order, True)
    result = query(question, launch.effort, SYMBOLIC)
    if result.values is None:
        return f"({names}) not shown to differ between programs: {result.reason}"
    first, second = (
        tuple(result.values.get(f"pid{axis}{mark}", 0) for axis in range(AXES))
        for mark in ("", PRIME)
    )
    return f"programs {program_text(first)} and {program_text(second)} have the same ({names})"


def _is_open(space: Space, part: Formula) -> bool:
    """Whether something occurs that neither the grid nor the given arguments determine."""
    symbols = (atom for atom in space.atoms_within((part,)) if atom.is_symbol)
    return is_opaque(space, (part,)) or any(kind_of(atom) not in VARYING for atom in symbols)


def _dividends(coordinates: Mapping[str, Poly]) -> list[Poly]:
    """Values T with both T/D and T - D*(T/D) among the coordinates, for a D that all programs
    share: where the coordinates are equal, T is equal."""
    values = list(coordinates.values())
    found: list[Poly] = []
    for quotient in values:
        atom = quotient.atom
        if (
            atom is None
            or atom.kind not in (SymbolKind.FDIV, SymbolKind.TDIV)
            or quotient.content != 1
        ):
            continue
        dividend, divisor = atom.args
        if not varies(divisor) and (dividend - divisor * quotient) in values:
            found.append(dividend)
    return found
