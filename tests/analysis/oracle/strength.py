"""Is one report weaker than another? Then it says less, and nothing else.

A mutant that only makes the analysis give up earlier is no danger: unknown is never reported as
safe. Every field of every access must be the same, unknown, or a consequence of what the other
report says. (The class follows from axes and strides; the reason for a class claims nothing.) Two
formulas that differ are the same if they agree at random points of their symbols' ranges, and one
is weaker if an opaque value took the place of something known. The same on fewer conditions is
more.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any
from zlib import crc32

from tilewright.analysis.affine import Atom, Formula, Poly, evaluate, holds
from tilewright.analysis.axis_info import AxisInfo
from tilewright.analysis.pid_address import (
    AddressReport,
    AssumptionKind,
    Bound,
    Box,
    MemoryOp,
    ValueInfo,
)

_POINTS = 40
_FURTHER_POINTS = 1000


def fingerprint(report: AddressReport) -> str:
    """Everything a report says, as text."""
    _written.clear()
    lines = [repr(report.params), repr(report.grid), *report.notes]
    for access in report.accesses:
        fields = {k: v for k, v in vars(access).items() if k != "operation"}
        lines.append(_text(fields))
    lines += [
        _text({k: v for k, v in vars(one).items() if k != "operation"}) for one in report.values
    ]
    lines += [
        _text({k: v for k, v in vars(one).items() if k != "operation"})
        for one in report.assumptions
    ]
    return "\n".join(lines)


def _text(value: object) -> str:
    """A text without addresses of objects."""
    if isinstance(value, int | str | None):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, Atom):
        return value.name
    if isinstance(value, Poly):
        return _poly(value)
    if hasattr(value, "__dataclass_fields__"):
        names = value.__dataclass_fields__
        return _text({name: getattr(value, name) for name in names if name != "operation"})
    return str(value)


_written: dict[int, tuple[Poly, str]] = {}
"""Texts of the polynomials of the report at hand."""


def _poly(value: Poly) -> str:
    known = _written.get(id(value))
    if known is None:
        known = _written[id(value)] = (value, str(value))
    return known[1]


def is_weaker(report: AddressReport, known: AddressReport) -> bool:
    """Whether `report` says nothing that `known` does not say, or that its formulas contradict."""
    if len(report.accesses) != len(known.accesses):
        return False
    accesses = zip(report.accesses, known.accesses, strict=True)
    if not all(_access(mine, theirs) for mine, theirs in accesses):
        return False
    if _rests_on_less(report, known):
        return False
    lines = {_place(line): line for line in known.values}
    for line in report.values:
        other = lines.get(_place(line))
        if other is not None and not _line(line, other):
            return False
    assumed = {(one.kind, one.operation, one.call): one for one in known.assumptions}
    pairs = [(one, assumed.get((one.kind, one.operation, one.call))) for one in report.assumptions]
    return all(other is None or _formula(one.expr, other.expr) for one, other in pairs)


def _rests_on_less(report: AddressReport, known: AddressReport) -> bool:
    """Whether the same is said of an access, on fewer conditions: that says more.

    That nothing overflows is asked for by formulas, signs also by what is said of lanes.
    """
    for mine, theirs in zip(report.accesses, known.accesses, strict=True):
        dropped = _premises(known, theirs) - _premises(report, mine)
        if not _are_equal(mine, theirs, ("offset", "mask")):
            continue
        if any(kind is AssumptionKind.NO_OVERFLOW for kind, *_ in dropped):
            return True
        if dropped and _are_equal(mine, theirs, ("contiguity", "mask_constancy", "coalesced")):
            return True
    return False


def _are_equal(mine: MemoryOp, known: MemoryOp, fields: Iterable[str]) -> bool:
    return all(str(getattr(mine, name)) == str(getattr(known, name)) for name in fields)


def _premises(report: AddressReport, access: MemoryOp) -> set[tuple[object, ...]]:
    assumed = [report.assumptions[index] for index in access.assumptions]
    return {(one.kind, one.operation, one.call) for one in assumed}


def _place(line: ValueInfo) -> tuple[object, ...]:
    return line.call, line.ssa_name, line.is_address, line.operation


def is_weaker_axis(info: AxisInfo, known: AxisInfo) -> bool:
    if info.rank != known.rank:
        return False
    pairs = (
        (info.contiguity, known.contiguity),
        (info.divisibility, known.divisibility),
        (info.constancy, known.constancy),
    )
    less = all(b % a == 0 for x, y in pairs for a, b in zip(x, y, strict=True))
    empty = all(number == 1 for numbers, _ in pairs for number in numbers)
    rests = empty or info.assumes >= known.assumes
    return less and info.constant in (None, known.constant) and rests


# Fields.


def _access(mine: MemoryOp, known: MemoryOp) -> bool:
    same = ("index", "op", "kind", "result", "elem_bytes", "shape", "call", "masked")
    if any(getattr(mine, name) != getattr(known, name) for name in same):
        return False
    loose = mine.base == "?" or (mine.base[0] == "*" and known.base[0] == "%")
    if not (loose or mine.base == known.base) or len(mine.loops) != len(known.loops):
        return False
    if mine.coalesced not in (None, known.coalesced):
        return False
    return (
        (loose or _formula(mine.offset, known.offset))
        and _formula(mine.mask, known.mask)
        and _formula(mine.guard, known.guard)
        and set(mine.pid_axes) >= set(known.pid_axes)
        and set(mine.guard_axes) >= set(known.guard_axes)
        and all(_trips(a.trips, b.trips) for a, b in zip(mine.loops, known.loops, strict=True))
        and _virtual(mine, known)
        and _facts(mine, known)
        and all(_bound(bound, known.domain.bounds) for bound in mine.domain.bounds)
        and _box(mine.box, known.box)
        and _says_less(mine, known)
    )


def _facts(mine: MemoryOp, known: MemoryOp) -> bool:
    """Nothing is known but what the other knows, or something about what is not known at all."""
    texts = {str(one) for one in known.facts}
    names = set[str]().union(*map(_opaque, known.facts))
    return all(str(one) in texts or _opaque(one) - names for one in mine.facts)


def _trips(mine: Poly | None, known: Poly | None) -> bool:
    return mine is None or (known is not None and _formula(mine, known))


def _virtual(mine: MemoryOp, known: MemoryOp) -> bool:
    """The same coordinates, or others over which the exact offset moves as they say."""
    virtual = mine.virtual
    if virtual is None or _text(virtual) == _text(known.virtual):
        return True
    exact = known.offset
    polys = (exact, *virtual.strides.values(), *virtual.coordinates.values())
    if set[str]().union(*map(_opaque, polys[1:])) - _opaque(exact):
        return True
    symbols = {atom.name: atom for one in polys for atom in one.space.atoms_within((one,))}
    pick = Random(str(exact))
    for _ in range(_POINTS):
        here = _values(pick, symbols)
        there = here.copied()
        for name, atom in symbols.items():
            if name in ("pid0", "pid1", "pid2"):
                there[name] = pick.randint(0, min(atom.range.hi or 0, 60))
        moved = 0
        for name, stride in virtual.strides.items():
            if name.isdigit():
                apart = there.get(f"pid{name}", 0) - here.get(f"pid{name}", 0)
            else:
                place = virtual.coordinates[name]
                apart = evaluate(place, there) - evaluate(place, here)
            moved += evaluate(stride, here) * apart
        if evaluate(exact, there) - evaluate(exact, here) != moved:
            return False
    return True


def _box(mine: Box | None, known: Box | None) -> bool:
    if mine is None or known is None:
        return mine is None
    parts = [(mine.offset, known.offset), *zip(mine.shape, known.shape, strict=True)]
    parts += [*zip(mine.strides, known.strides, strict=True)]
    parts += [*zip(mine.indices, known.indices, strict=True)]
    return all(_formula(a, b) for a, b in parts)


def _says_less(mine: MemoryOp, known: MemoryOp) -> bool:
    """Numbers and strides are those of the other, or hold of its exact offset at many points.

    A mutant may leave a formula in a shape that shows more of its divisors than the usual one, or
    call affine what is affine for any one launch. What it says is true then, only not the same.
    """
    if _fewer_lanes(mine, known) and _fewer_strides(mine, known):
        return True
    if mine.contiguity != known.contiguity or mine.block_size > known.block_size:
        return False
    if known.mask_constancy % mine.mask_constancy or not _is_vector(mine):
        return False
    return not _opaque(known.offset) and _holds_at_many_points(mine, known)


def _is_vector(mine: MemoryOp) -> bool:
    """Whether the width follows from runs, alignment and mask."""
    size = mine.elem_bytes
    if mine.vector_bits is None or mine.vector_bits <= 8 * size or not mine.order:
        return True
    run = mine.contiguity[mine.order[0]]
    widest = min(16, mine.align_bytes or size, size * run, size * mine.mask_constancy)
    return mine.vector_bits <= 8 * widest


def _fewer_lanes(mine: MemoryOp, known: MemoryOp) -> bool:
    return (
        all(b % a == 0 for a, b in zip(mine.contiguity, known.contiguity, strict=True))
        and mine.block_size <= known.block_size
        and _at_most(mine.align_bytes, known.align_bytes, mine.elem_bytes)
        and _at_most(mine.vector_bits, known.vector_bits, 8 * mine.elem_bytes)
        and known.mask_constancy % mine.mask_constancy == 0
    )


def _fewer_strides(mine: MemoryOp, known: MemoryOp) -> bool:
    pairs = list(zip(mine.lane_strides, known.lane_strides, strict=True))
    pairs += [(mine.pid_strides[a], known.pid_strides.get(a)) for a in mine.pid_axes]
    loops = zip(mine.loop_strides, known.loop_strides, strict=True)
    pairs += [(a.stride, b.stride) for a, b in loops]
    return all(_stride(a, b) for a, b in pairs)


def _holds_at_many_points(mine: MemoryOp, known: MemoryOp) -> bool:
    exact = known.offset
    symbols = {atom.name: atom for atom in exact.space.atoms_within((exact,))}
    for stride in (*mine.pid_strides.values(), *mine.lane_strides):
        if stride is not None:
            more = stride.space.atoms_within((stride,))
            symbols = {atom.name: atom for atom in more} | symbols
    steps: list[tuple[str, Poly]] = []
    for axis, stride in mine.pid_strides.items():
        steps += [] if stride is None else [(f"pid{axis}", stride)]
    for lane, stride in zip(known.lanes, mine.lane_strides, strict=True):
        steps += [] if stride is None or lane is None else [(lane.name, stride)]
    for item in mine.loop_strides:
        steps += [] if item.stride is None else [(item.loop.counter.name, item.stride)]
    pick = Random(str(exact))
    divisor = mine.base_divisibility or mine.elem_bytes
    for _ in range(_FURTHER_POINTS):
        values = _values(pick, symbols)
        for dim, lane in enumerate(known.lanes):
            if lane is not None:
                size = mine.contiguity[dim] if dim == mine.order[0] else 1
                values[lane.name] = pick.randrange(0, mine.shape[dim], size)
        try:
            here = evaluate(exact, values)
            if (divisor * (2 * pick.randrange(50) + 1) + here) % (mine.align_bytes or 1):
                return False
            for name, stride in steps:
                values[name] = values.get(name, 0)
                if evaluate(stride, values) != _moved(exact, values, name) - here:
                    return False
        except (KeyError, ValueError):
            return False
    return True


def _moved(exact: Poly, values: _Values, name: str) -> int:
    there = values.copied()
    there[name] = values[name] + 1
    return evaluate(exact, there)


def _at_most(mine: int | None, known: int | None, always: int) -> bool:
    """`always`: what every access to an element has."""
    return mine is None or mine <= max(known or 0, always)


def _stride(mine: Poly | None, known: Poly | None) -> bool:
    """The same, or with something unknown in it."""
    if mine is None or known is None:
        return mine is None
    return _same(mine, known) or bool(_opaque(mine) - _opaque(known))


def _bound(mine: Bound, known: Iterable[Bound]) -> bool:
    for other in known:
        if other.symbol.name == mine.symbol.name:
            return _limit(mine.lower, other.lower, 1) and _limit(mine.upper, other.upper, -1)
    return True


def _limit(mine: Poly | None, known: Poly | None, sign: int) -> bool:
    """Whether a bound says no more; `sign` is 1 for lower bounds, -1 for upper ones."""
    if mine is None or known is None:
        return mine is None
    if mine.constant is not None and known.constant is not None:
        return sign * mine.constant <= sign * known.constant
    return _formula(mine, known)


def _line(mine: ValueInfo, known: ValueInfo) -> bool:
    limits, others = mine.offset, known.offset
    wider = limits is None or (others is not None and limits.contains(others))
    if mine.base != known.base:
        return mine.coalesced in (None, known.coalesced)
    strides = [(mine.pid_strides[a], known.pid_strides.get(a)) for a in mine.pid_axes]
    return (
        _formula(mine.expr, known.expr)
        and set(mine.pid_axes) >= set(known.pid_axes)
        and all(a is None or b is None or _same(a, b) for a, b in strides)
        and wider
        and mine.coalesced in (None, known.coalesced)
    )


# Formulas.


def _formula(mine: Any, known: Any) -> bool:
    """The same value, or less of it known."""
    if mine is None or known is None:
        return mine is known
    if _same(mine, known) or _opaque(mine) - _opaque(known):
        return True
    # The same but for what opaque values may depend on.
    return _same(mine, known, by_name=True) and mine.deps >= known.deps


def _opaque(value: Poly | Formula) -> set[str]:
    """Names of what is not known in a formula."""
    atoms = value.space.atoms_within((value,))
    names = {atom.name for atom in atoms if atom.is_opaque}
    formulas = [atom.formula for atom in atoms] + [value if isinstance(value, Formula) else None]
    return names.union(*(_predicates(one) for one in formulas if one is not None))


def _predicates(formula: Formula) -> set[str]:
    names = {formula.name} if formula.kind.name == "PREDICATE" else set[str]()
    return names.union(*map(_predicates, formula.parts)) if formula.parts else names


def _same(mine: Poly | Formula, known: Poly | Formula, *, by_name: bool = False) -> bool:
    if str(mine) == str(known):
        return True
    pick = Random(str(known))
    symbols = {atom.name: atom for one in (mine, known) for atom in one.space.atoms_within((one,))}
    for _ in range(_POINTS):
        values = _values(pick, symbols, by_name=by_name)
        try:
            if _at(mine, values) != _at(known, values):
                return False
        except (KeyError, ValueError):
            return False
    return True


class _Values(dict[str, Any]):
    """Values of symbols, and truth values for all predicates there may be."""

    def __init__(self, salt: float, by_name: bool) -> None:
        self._salt = salt
        self._by_name = by_name

    def copied(self) -> _Values:
        other = _Values(self._salt, self._by_name)
        other.update(self)
        return other

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        def truth(*args: int) -> int:
            return crc32(repr((self._salt, name, () if self._by_name else args)).encode()) % 2

        return truth


def _at(value: Poly | Formula, values: dict[str, Any]) -> int:
    return evaluate(value, values) if isinstance(value, Poly) else int(holds(value, values))


def _values(pick: Random, symbols: dict[str, Atom], *, by_name: bool = False) -> dict[str, Any]:
    """Random values; `by_name`: opaque values are the same for all operands."""
    values = _Values(pick.random(), by_name)
    for name, atom in symbols.items():
        low = -40 if atom.range.lo is None else max(atom.range.lo, -40)
        high = 120 if atom.range.hi is None else min(atom.range.hi, 120)
        number = pick.randint(low, max(low, high)) * atom.divisor
        if atom.is_symbol:
            values[name] = number
        elif atom.is_opaque:
            salt = pick.random()
            divisor = atom.divisor
            values[name] = lambda *args, s=salt, d=divisor: (
                hash((s, () if by_name else args)) % 97 * d
            )
    return values
