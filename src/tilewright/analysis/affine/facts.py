"""What a formula implies about atoms: narrower ranges, congruences, inequalities.

    formula                       becomes
    P < 0                         the inequality -P - 1 >= 0, a bound of its linear form, and a
                                  bound of every atom that is a term of it on its own
    P = 0                         both inequalities; a congruence if P is a remainder
    P != 0                        an inequality, where 0 is an end of P's range
    and                           the facts of all parts
    or                            the hull of what every part implies about an atom
    anything                      itself, so that a query for it finds it

Facts that contradict each other are marked `contradictory`, with the ranges as they were:
conclusions then concern code that never runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.analysis.affine.congruence import ANY, Congruence
from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.prover import decide_by_range
from tilewright.analysis.affine.ranges import ALL, Interval
from tilewright.analysis.affine.symbols import SymbolKind
from tilewright.analysis.affine.view import with_remainders

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

# A disjunction of more parts than this is ignored: each part costs a context.
_MAX_DISJUNCTS = 4

# Bounds found for one atom help to bound the next; after this many rounds they rarely do.
_ROUNDS = 2


@dataclass(slots=True)
class Facts:
    """The facts of a context beyond what its atoms declare."""

    ranges: dict[int, Interval] = field(default_factory=dict[int, Interval])
    """Atom id -> range."""
    congruences: dict[int, Congruence] = field(default_factory=dict[int, Congruence])
    forms: dict[Poly, Interval] = field(default_factory=dict[Poly, Interval])
    """Range of a linear form: no constant term, content 1, positive sign."""
    inequalities: dict[Monomial, tuple[Poly, ...]] = field(
        default_factory=dict[Monomial, tuple[Poly, ...]]
    )
    """Monomial -> polynomials with that monomial, known to be at least 0."""
    held: frozenset[int] = frozenset()
    """Ids of formulas known to hold."""
    covered: int = 0
    """Support of everything the facts are about; about other atoms nothing is known."""
    contradictory: bool = False

    def range_of_form(self, poly: Poly) -> Interval:
        """What the inequalities imply for a polynomial of the same linear form."""
        inequalities = self.inequalities
        if not inequalities or any(m not in inequalities for m in poly.terms if m):
            return ALL
        form, scale = linear_form(poly)
        known = self.forms.get(form)
        if known is None:
            return ALL
        return known.scaled(scale) + Interval.point(poly.constant_term)

    def note(self, parent: Context, leaf: Formula, inequalities: list[Poly]) -> None:
        """Inequalities, congruences and ranges that one part of a conjunction gives."""
        if leaf.kind is FormulaKind.OR:
            self._note_disjunction(parent, leaf)
        if leaf.kind is not FormulaKind.CMP:
            return
        poly = leaf.poly
        assert poly is not None
        if leaf.rel == "<":
            inequalities.append(-poly - 1)
        elif leaf.rel == "=":
            inequalities.extend((poly, -poly))
            self.note_remainder(poly)
        else:
            known = parent.range(poly)
            if known.lo == 0:
                inequalities.append(poly - 1)
            elif known.hi == 0:
                inequalities.append(-poly - 1)

    def note_remainder(self, poly: Poly) -> None:
        """mod(a*x + b, c) = k fixes x modulo c if a and c have no common factor."""
        view = with_remainders(poly)
        linear = view - view.constant_term
        atom = linear.atom
        if atom is None or atom.kind is not SymbolKind.MOD or abs(linear.content) != 1:
            return
        remainder = -view.constant_term * next(iter(linear.terms.values()))
        dividend, divisor = atom.args[0], atom.args[1].constant
        unknown = (dividend - dividend.constant_term).atom
        if divisor is None or divisor < 1 or unknown is None:
            return
        factor = next(c for monomial, c in dividend.terms.items() if monomial)
        try:
            inverse = pow(factor, -1, divisor)
        except ValueError:
            return
        found = Congruence.of(divisor, (remainder - dividend.constant_term) * inverse)
        known = self.congruences.get(unknown.id, ANY).meet(found)
        if known is None:
            self.contradictory = True
        else:
            self.congruences[unknown.id] = known

    def _note_disjunction(self, parent: Context, formula: Formula) -> None:
        if len(formula.parts) > _MAX_DISJUNCTS:
            return
        sides = [parent.assume(part) for part in formula.parts]
        reached = [side.facts for side in sides if not side.unreachable]
        if not reached:
            self.contradictory = True
            return
        first, *others = reached
        for id in sorted(first.ranges):
            hull: Interval | None = first.ranges[id]
            for other in others:
                found = other.ranges.get(id)
                hull = None if hull is None or found is None else hull.hull(found)
            if hull is not None:
                self._narrow(id, hull)

    def add_inequality(self, poly: Poly) -> None:
        """Records P >= 0 by its linear form and by its monomials."""
        form, scale = linear_form(poly)
        if not form.terms:
            return
        # scale*form + constant >= 0
        constant = poly.constant_term
        if scale > 0:
            bound = Interval(-(constant // scale), None)
        else:
            bound = Interval(None, constant // -scale)
        known = self.forms.get(form, ALL).meet(bound)
        if known is None:
            self.contradictory = True
            return
        self.forms[form] = known
        for monomial in form.terms:
            self.inequalities[monomial] = (*self.inequalities.get(monomial, ()), poly)

    def bound_atoms(self, ctx: Context, poly: Poly) -> None:
        """From a*x + rest >= 0 a bound of x, for every atom x that is a term on its own."""
        for monomial, coefficient in poly.terms.items():
            if len(monomial) != 1:
                continue
            rest = Poly(poly.space, {m: c for m, c in poly.terms.items() if m != monomial})
            upper = ctx.range(rest).hi
            if upper is None:
                continue
            # coefficient * x >= -most
            if coefficient > 0:
                self._narrow(monomial[0], Interval(-(upper // coefficient), None))
            else:
                self._narrow(monomial[0], Interval(None, upper // -coefficient))

    def _narrow(self, id: int, found: Interval) -> None:
        known = self.ranges.get(id, ALL).meet(found)
        if known is None:
            self.contradictory = True
        else:
            self.ranges[id] = known


def facts_with(parent: Context, formula: Formula) -> Facts:
    """The facts of a context and one formula more."""
    old = parent.facts
    facts = Facts(
        dict(old.ranges),
        dict(old.congruences),
        dict(old.forms),
        dict(old.inequalities),
        old.held | {leaf.id for leaf in _leaves(formula)} | {formula.id},
        old.covered | formula.support,
        old.contradictory or decide_by_range(parent, formula) is False,
    )
    if facts.contradictory:
        return facts
    inequalities: list[Poly] = []
    for leaf in _leaves(formula):
        facts.note(parent, leaf, inequalities)
    for inequality in inequalities:
        facts.add_inequality(inequality)
    for _ in range(_ROUNDS):
        # A context caches ranges, so each round looks through a fresh one.
        scratch = type(parent)(parent.space, facts, parent.splits)
        for inequality in inequalities:
            facts.bound_atoms(scratch, inequality)
    return facts


def _leaves(formula: Formula) -> Iterator[Formula]:
    if formula.kind is FormulaKind.AND:
        yield from formula.parts
    else:
        yield formula


def linear_form(poly: Poly) -> tuple[Poly, int]:
    """(F, k) with poly = k*F + constant, F of content 1 and positive sign."""
    linear = poly - poly.constant_term
    if not linear.terms:
        return linear, 1
    scale = linear.content * linear.sign
    return linear.exact_quotient(scale), scale
