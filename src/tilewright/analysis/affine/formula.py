"""Conditions over polynomials: comparisons with zero, and, or, opaque predicates.

    rel   meaning         "<" also carries <=, >, >=: over the integers P <= 0 is P - 1 < 0
    <     P < 0
    =     P = 0           negation is pushed down to comparisons and predicates, so it is no
    !=    P != 0          node of its own

Formulas are hash-consed by their space: equal ones are the same object. Coefficients of a
comparison are divided by their content, `and`/`or` are flat, sorted and free of repetition, so
the order in which a mask was put together does not show.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import gcd
from typing import TYPE_CHECKING

from tilewright.analysis.affine.poly import Poly

if TYPE_CHECKING:
    from tilewright.analysis.affine.space import Space


class FormulaKind(Enum):
    TRUE = "true"
    FALSE = "false"
    CMP = "cmp"
    AND = "and"
    OR = "or"
    PREDICATE = "predicate"


class Formula:
    """One hash-consed condition. Compared by identity; made by the functions below."""

    __slots__ = (
        "_negation",
        "args",
        "deps_mask",
        "depth",
        "id",
        "kind",
        "name",
        "negated",
        "own_deps",
        "parts",
        "poly",
        "rel",
        "space",
        "support",
    )

    def __init__(
        self,
        space: Space,
        id: int,
        kind: FormulaKind,
        rel: str,
        poly: Poly | None,
        parts: tuple[Formula, ...],
        name: str,
        args: tuple[Poly, ...],
        negated: bool,
        own_deps: int,
        deps_mask: int,
        support: int,
        depth: int,
    ) -> None:
        self.space = space
        self.id = id
        self.kind = kind
        self.rel = rel
        self.poly = poly
        """Of a comparison: what is compared with zero."""
        self.parts = parts
        """Of `and`, `or`."""
        self.name = name
        self.args = args
        self.negated = negated
        """Of a predicate: holds where the predicate does not."""
        self.own_deps = own_deps
        """Bit set of the dependencies declared for a predicate itself."""
        self.deps_mask = deps_mask
        self.support = support
        self.depth = depth
        self._negation: Formula | None = None

    @property
    def polys(self) -> tuple[Poly, ...]:
        return self.args if self.poly is None else (self.poly,)

    @property
    def truth(self) -> bool | None:
        """True or False for the constants."""
        return _TRUTH.get(self.kind)

    @property
    def deps(self) -> frozenset[str]:
        return self.space.dep_names(self.deps_mask)

    def depends_on(self, dep: str) -> bool:
        return bool(self.deps_mask & self.space.dep_bit(dep))

    def __and__(self, other: Formula) -> Formula:
        return conjunction(self.space, (self, other))

    def __or__(self, other: Formula) -> Formula:
        return disjunction(self.space, (self, other))

    def __xor__(self, other: Formula) -> Formula:
        return (self & ~other) | (~self & other)

    def __invert__(self) -> Formula:
        if self._negation is None:
            self._negation = _negate(self)
            self._negation._negation = self
        return self._negation

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value of its own: see `truth`, or query a context")

    def __str__(self) -> str:
        from tilewright.analysis.affine.text import formula_text

        return formula_text(self)

    def __repr__(self) -> str:
        return f"Formula({self})"


_TRUTH = {FormulaKind.TRUE: True, FormulaKind.FALSE: False}

RELATIONS = ("<", "<=", ">", ">=", "=", "==", "!=")


def compare(rel: str, left: Poly, right: Poly | int = 0) -> Formula:
    """The comparison as a formula, decided only where both sides differ by a constant."""
    difference = left - right
    if rel == "<":
        return _less(difference)
    if rel == "<=":
        return _less(difference - 1)
    if rel == ">":
        return _less(-difference)
    if rel == ">=":
        return _less(-difference - 1)
    if rel in ("=", "=="):
        return _equal(difference)
    if rel == "!=":
        return ~_equal(difference)
    raise ValueError(f"no relation {rel!r}, there are {', '.join(RELATIONS)}")


def _less(poly: Poly) -> Formula:
    """P < 0, divided by the content g of what is not constant: A*g + k < 0 means
    A < -k/g, and A + floor(k/g) < 0 has the same integer solutions."""
    space, value = poly.space, poly.constant
    if value is not None:
        return space.true if value < 0 else space.false
    constant = poly.constant_term
    linear = poly - constant
    content = linear.content
    if content > 1:
        poly = linear.exact_quotient(content) + constant // content
    return space.formula(FormulaKind.CMP, "<", poly)


def _equal(poly: Poly) -> Formula:
    space, value = poly.space, poly.constant
    if value is not None:
        return space.true if value == 0 else space.false
    linear_content = (poly - poly.constant_term).content
    if poly.constant_term % linear_content:
        return space.false
    poly = poly.exact_quotient(gcd(linear_content, poly.constant_term))
    poly *= poly.sign
    return space.formula(FormulaKind.CMP, "=", poly)


def conjunction(space: Space, parts: Iterable[Formula]) -> Formula:
    return _combine(space, parts, FormulaKind.AND)


def disjunction(space: Space, parts: Iterable[Formula]) -> Formula:
    return _combine(space, parts, FormulaKind.OR)


# More parts than this are not compared in pairs.
_MAX_COMPARED = 8


def _combine(space: Space, parts: Iterable[Formula], kind: FormulaKind) -> Formula:
    unit, absorber = space.true, space.false
    if kind is FormulaKind.OR:
        unit, absorber = absorber, unit
    flat: dict[int, Formula] = {}
    for part in parts:
        for leaf in part.parts if part.kind is kind else (part,):
            if leaf is absorber:
                return absorber
            if leaf is not unit:
                flat[leaf.id] = leaf
    if any((~leaf).id in flat for leaf in flat.values()):
        return absorber
    if not flat:
        return unit
    if len(flat) == 1:
        return next(iter(flat.values()))
    ordered = tuple(flat[id] for id in sorted(flat))
    if len(ordered) <= _MAX_COMPARED:
        shorter = _merged(space, ordered, kind)
        if shorter is not None:
            return _combine(space, shorter, kind)
    return space.formula(kind, parts=ordered)


def _merged(
    space: Space, parts: tuple[Formula, ...], kind: FormulaKind
) -> tuple[Formula, ...] | None:
    """Fewer parts with the same meaning: a or (a and b) is a, (a and c) or (a and not c) is a.

    This is what makes the guard of a block after a conditional the guard before it.
    """
    dual = FormulaKind.OR if kind is FormulaKind.AND else FormulaKind.AND
    literals = [
        frozenset(part.parts) if part.kind is dual else frozenset((part,)) for part in parts
    ]
    for i, first in enumerate(literals):
        for j, second in enumerate(literals):
            if i == j:
                continue
            if first < second:
                return parts[:j] + parts[j + 1 :]
            differing = first ^ second
            if i < j and len(differing) == 2 and len(first) == len(second):
                one, other = differing
                if ~one is other:
                    common = sorted(first & second, key=lambda leaf: leaf.id)
                    rest = tuple(part for k, part in enumerate(parts) if k not in (i, j))
                    return (*rest, _combine(space, common, dual))
    return None


def _negate(formula: Formula) -> Formula:
    space, kind = formula.space, formula.kind
    if kind is FormulaKind.TRUE:
        return space.false
    if kind is FormulaKind.FALSE:
        return space.true
    if kind is FormulaKind.AND:
        return disjunction(space, (~part for part in formula.parts))
    if kind is FormulaKind.OR:
        return conjunction(space, (~part for part in formula.parts))
    if kind is FormulaKind.PREDICATE:
        return space.formula(
            kind,
            name=formula.name,
            args=formula.args,
            negated=not formula.negated,
            deps=formula.own_deps,
        )
    assert formula.poly is not None
    if formula.rel == "<":
        return _less(-formula.poly - 1)
    return space.formula(kind, "!=" if formula.rel == "=" else "=", formula.poly)


def with_polarity(formula: Formula) -> tuple[Formula, bool]:
    """(g, flipped): the one of a formula and its negation that stands for both in indicators."""
    negation = ~formula
    if formula.kind is FormulaKind.CMP and formula.rel == "<":
        assert formula.poly is not None
        return (formula, False) if formula.poly.sign > 0 else (negation, True)
    preferred = (
        (formula.kind is FormulaKind.CMP and formula.rel == "=")
        or formula.kind is FormulaKind.AND
        or (formula.kind is FormulaKind.PREDICATE and not formula.negated)
    )
    return (formula, False) if preferred else (negation, True)
