"""Proof by enumeration that a placement satisfies its guarantees.

This file is written apart from the planner and shares no code with it: it does not know trees,
levels or strides. It is given the final intervals, buffer by buffer and index by index, and what
is guaranteed about every pair, and it looks for a counterexample. It finds:

* two buffers that are guaranteed distinct and overlap;
* two buffers that may share, overlapping at different logical indices;
* two indices of one buffer that overlap;
* an interval outside the backing storage, or outside the window of its logical index;
* a start that is not where its alignment wants it;
* a backing storage larger than the memory.

A pair without a stated relation is reported too: silence is not a guarantee. All intervals are
half-open, ``start .. end`` without the end, in the texts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Guarantee(Enum):
    """What holds for two buffers. FREE: the user is responsible, they may overlap anywhere."""

    DISTINCT = "distinct"
    SHARED = "shared"
    FREE = "free"


class PlacementViolation(Enum):
    """What was broken."""

    DISTINCT_OVERLAP = "distinct buffers overlap"
    INDEX_OVERLAP = "shared buffers overlap across logical indices"
    SELF_OVERLAP = "buffers of one allocation overlap"
    OUTSIDE_BACKING = "outside the backing storage"
    OUTSIDE_WINDOW = "outside the window of its logical index"
    MISALIGNED = "misaligned"
    OVER_CAPACITY = "over capacity"
    MALFORMED = "malformed claim"


@dataclass(frozen=True)
class Backing:
    """The storage of all intervals. Its base address is `residue` modulo `alignment`."""

    name: str
    extent: int
    unit_name: str = "bytes"
    alignment: int = 1
    residue: int = 0
    capacity: int | None = None


@dataclass(frozen=True)
class Span:
    """Buffer `index` covers ``start .. start + length``."""

    index: int
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass(frozen=True)
class Window:
    """Logical index q = index div `per_index` owns ``q * stride .. (q + 1) * stride``."""

    stride: int
    per_index: int = 1


@dataclass(frozen=True)
class Claim:
    """One allocation: its intervals, and ``address mod alignment == residue`` for each."""

    name: str
    spans: tuple[Span, ...]
    alignment: int = 1
    residue: int = 0
    window: Window | None = None


@dataclass(frozen=True)
class Pair:
    """The guarantee for two allocations; ``index div …_per`` is the logical index they share."""

    first: str
    second: str
    guarantee: Guarantee
    first_per: int = 1
    second_per: int = 1


@dataclass(frozen=True)
class Case:
    """Everything the checker looks at."""

    backing: Backing
    claims: tuple[Claim, ...]
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Violation:
    """A counterexample: which buffers, at which indices, and the stretch in question."""

    fault: PlacementViolation
    text: str
    first: str
    first_index: int | None = None
    second: str | None = None
    second_index: int | None = None
    low: int = 0
    high: int = 0

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.text}"


def check(case: Case) -> tuple[Violation, ...]:
    """Every counterexample there is; empty means the placement is proved."""
    malformed = tuple(_malformed(case))
    if malformed:
        return malformed
    return (*_capacity(case), *_single(case), *_overlaps(case))


def _malformed(case: Case) -> Iterator[Violation]:
    names = [claim.name for claim in case.claims]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield _bad(name, f"'{name}' is claimed {names.count(name)} times")
    for claim in case.claims:
        if [span.index for span in claim.spans] != list(range(len(claim.spans))) or not claim.spans:
            yield _bad(claim.name, f"'{claim.name}' does not list its indices from 0")
        for span in claim.spans:
            if span.length < 1:
                text = f"'{claim.name}'[{span.index}] has length {span.length}"
                yield _bad(claim.name, text)
    for divisor in (divisor for claim in case.claims for divisor in _divisors(claim)):
        if divisor < 1:
            yield _bad(case.backing.name, f"alignment, stride or count {divisor} is not positive")
    yield from _malformed_pairs(case, set(names))


def _divisors(claim: Claim) -> tuple[int, ...]:
    if claim.window is None:
        return (claim.alignment,)
    return claim.alignment, claim.window.stride, claim.window.per_index


def _malformed_pairs(case: Case, names: set[str]) -> Iterator[Violation]:
    for pair in case.pairs:
        if pair.first == pair.second or not {pair.first, pair.second} <= names:
            yield _bad(pair.first, f"unknown pair '{pair.first}' and '{pair.second}'")
        elif min(pair.first_per, pair.second_per) < 1:
            yield _bad(pair.first, f"'{pair.first}' and '{pair.second}' share by no index")


def _bad(name: str, text: str) -> Violation:
    return Violation(PlacementViolation.MALFORMED, text, name)


def _capacity(case: Case) -> Iterator[Violation]:
    backing = case.backing
    if backing.capacity is not None and backing.extent > backing.capacity:
        text = (
            f"'{backing.name}' needs {backing.extent} {backing.unit_name}, "
            f"{backing.capacity} available"
        )
        yield Violation(
            PlacementViolation.OVER_CAPACITY,
            text,
            backing.name,
            low=backing.capacity,
            high=backing.extent,
        )


def _single(case: Case) -> Iterator[Violation]:
    """What can be seen from one interval alone."""
    for claim in case.claims:
        for span in claim.spans:
            yield from _bounds_of(claim, span, case.backing)
            yield from _alignment(claim, span, case.backing)


def _bounds_of(claim: Claim, span: Span, backing: Backing) -> Iterator[Violation]:
    bounds = [(PlacementViolation.OUTSIDE_BACKING, 0, backing.extent, f"'{backing.name}'")]
    if claim.window is not None:
        logical = span.index // claim.window.per_index
        low = logical * claim.window.stride
        high = low + claim.window.stride
        bounds.append((PlacementViolation.OUTSIDE_WINDOW, low, high, f"logical index {logical}"))
    for fault, low, high, owner in bounds:
        if span.start < low or span.end > high:
            text = f"{_span_text(claim, span, backing)} is not inside {owner}, {low}..{high}"
            yield Violation(fault, text, claim.name, span.index, low=span.start, high=span.end)


def _alignment(claim: Claim, span: Span, backing: Backing) -> Iterator[Violation]:
    # The base is known modulo the backing's alignment only: a stricter demand cannot be shown.
    known = backing.alignment % claim.alignment == 0
    if known and (backing.residue + span.start - claim.residue) % claim.alignment == 0:
        return
    text = f"{_span_text(claim, span, backing)} has to start at a multiple of {claim.alignment}"
    if claim.residue:
        text += f" plus {claim.residue}"
    if not known:
        text += f", but the base is only aligned to {backing.alignment}"
    elif backing.residue:
        text += f", with the base at {backing.residue} modulo {backing.alignment}"
    yield Violation(
        PlacementViolation.MISALIGNED, text, claim.name, span.index, low=span.start, high=span.end
    )


def _span_text(claim: Claim, span: Span, backing: Backing) -> str:
    return f"'{claim.name}'[{span.index}] ({backing.unit_name} {span.start}..{span.end})"


def _overlaps(case: Case) -> Iterator[Violation]:
    """Sweep over all intervals by start; each is compared with those that still reach it."""
    guarantees = _guarantees(case.pairs)
    everything = [(span, claim) for claim in case.claims for span in claim.spans]
    everything.sort(key=lambda entry: (entry[0].start, entry[0].end))
    reaching: list[tuple[Span, Claim]] = []
    for span, claim in everything:
        reaching = [(other, owner) for other, owner in reaching if other.end > span.start]
        for other, owner in reaching:
            yield from _judge(case.backing, (owner, other), (claim, span), guarantees)
        reaching.append((span, claim))
    yield from _unstated(case, guarantees)


_Guarantees = Mapping[tuple[str, str], Sequence[tuple[Guarantee, int, int]]]


def _guarantees(pairs: Sequence[Pair]) -> _Guarantees:
    """Both directions of every pair. A pair in several phases has several guarantees."""
    found: dict[tuple[str, str], list[tuple[Guarantee, int, int]]] = {}
    for pair in pairs:
        there = (pair.guarantee, pair.first_per, pair.second_per)
        back = (pair.guarantee, pair.second_per, pair.first_per)
        found.setdefault((pair.first, pair.second), []).append(there)
        found.setdefault((pair.second, pair.first), []).append(back)
    return found


def _judge(
    backing: Backing, one: tuple[Claim, Span], two: tuple[Claim, Span], guarantees: _Guarantees
) -> Iterator[Violation]:
    (claim, span), (other, other_span) = one, two
    if claim.name == other.name:
        yield _overlap(PlacementViolation.SELF_OVERLAP, backing, one, two)
        return
    for guarantee, per, other_per in guarantees.get((claim.name, other.name), ()):
        if guarantee is Guarantee.DISTINCT:
            yield _overlap(PlacementViolation.DISTINCT_OVERLAP, backing, one, two)
        elif guarantee is Guarantee.SHARED and span.index // per != other_span.index // other_per:
            yield _overlap(PlacementViolation.INDEX_OVERLAP, backing, one, two)


def _overlap(
    fault: PlacementViolation, backing: Backing, one: tuple[Claim, Span], two: tuple[Claim, Span]
) -> Violation:
    (claim, span), (other, other_span) = one, two
    low, high = max(span.start, other_span.start), min(span.end, other_span.end)
    text = (
        f"{_span_text(claim, span, backing)} and {_span_text(other, other_span, backing)} "
        f"both have {backing.unit_name} {low}..{high}"
    )
    return Violation(fault, text, claim.name, span.index, other.name, other_span.index, low, high)


def _unstated(case: Case, guarantees: _Guarantees) -> Iterator[Violation]:
    names = [claim.name for claim in case.claims]
    for position, first in enumerate(names):
        for second in names[position + 1 :]:
            if (first, second) not in guarantees:
                text = f"no relation is stated for '{first}' and '{second}'"
                yield Violation(PlacementViolation.MALFORMED, text, first, second=second)
