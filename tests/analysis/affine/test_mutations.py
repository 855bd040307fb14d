"""The property tests notice when a rule, a bound or a proof is wrong.

Every rule with conditions is let loose without them; every function that bounds an atom is made
too sure of itself; the shared arithmetic of division, views, facts and proofs gets an error each.
The checks of `test_properties` and `test_facts` must then fail.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.analysis.affine.expressions import (
    Maker,
    Undefined,
    build,
    build_formula,
    declare,
    reference,
    reference_truth,
)
from tests.analysis.affine.test_properties import check_expression, check_value
from tilewright.analysis.affine import (
    Congruence,
    Interval,
    Space,
    SymbolKind,
    bounds,
    division_rules,
    facts,
    formula,
    prover,
    residues,
    simplify,
    view,
)
from tilewright.analysis.affine.rule import Rule

SEEDS = 400

OPERATIONS: dict[SymbolKind, tuple[str, ...]] = {
    SymbolKind.FDIV: ("fdiv", "mod"),
    SymbolKind.TDIV: ("tdiv", "trem"),
    SymbolKind.MOD: ("mod", "sub"),
    SymbolKind.TREM: ("trem",),
    SymbolKind.MIN: ("min",),
    SymbolKind.MAX: ("max",),
    SymbolKind.AND: ("and",),
    SymbolKind.OR: ("or",),
    SymbolKind.XOR: ("xor",),
    SymbolKind.SHL: ("shl",),
    SymbolKind.SHR: ("shr",),
    SymbolKind.INDICATOR: ("sel",),
}


def is_noticed(operations: tuple[str, ...], seeds: int = SEEDS) -> bool:
    """Does the property check fail on some expression of these operations?"""
    for seed in range(seeds):
        for operation in operations:
            maker = Maker(Random(seed))
            try:
                check_expression(maker, maker.operation(operation, 2))
            except (AssertionError, ArithmeticError, RecursionError, ValueError):
                return True
    return False


def is_noticed_under_assumptions(seeds: int = SEEDS) -> bool:
    """The same for values simplified where a condition holds."""
    for seed in range(seeds):
        maker = Maker(Random(seed))
        try:
            check_under_assumption(maker)
        except AssertionError:
            return True
    return False


def check_under_assumption(maker: Maker) -> None:
    space = Space()
    symbols = declare(space)
    condition, expr, question = maker.condition(1), maker.expression(2), maker.condition(0)
    ctx = space.root.assume(build_formula(space.root, symbols, condition))
    poly = build(ctx, symbols, expr)
    result = ctx.decide(build_formula(ctx, symbols, question))
    for _ in range(10):
        values = maker.valuation()
        try:
            if not reference_truth(condition, values):
                continue
            assert not ctx.unreachable
            assert result is None or reference_truth(question, values) == result
            expected = reference(expr, values)
        except Undefined:
            continue
        for symbol in symbols.values():
            assert values[symbol.atom.name] in ctx.range(symbol)
            assert values[symbol.atom.name] in ctx.congruence(symbol)
        check_value(ctx, poly, values, expected)


# Rules

CONDITIONAL = (
    "S1 small",
    "fdiv common factor",
    "S1 low part",
    "S4",
    "S7",
    "tdiv small",
    "S6 min",
    "S6 max",
    "S8 disjoint and",
    "S8 covering mask",
    "S8 low part of and",
    "S8 disjoint or",
    "S8 low part of or",
    "S8 disjoint xor",
    "S8 low part of xor",
)


@pytest.mark.parametrize("seeds", [80, pytest.param(SEEDS, marks=pytest.mark.slow)])
def test_the_unchanged_rules_pass(seeds: int):
    for operations in OPERATIONS.values():
        assert not is_noticed(operations, seeds)
    assert not is_noticed_under_assumptions(seeds)


@pytest.mark.parametrize("name", CONDITIONAL)
def test_a_rule_without_its_conditions_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    kind, rules = next(
        (kind, rules) for kind, rules in simplify.RULES.items() if name in {r.name for r in rules}
    )
    loose = tuple(
        replace(rule, holds=lambda proposal, ctx: True) if rule.name == name else rule
        for rule in rules
    )
    monkeypatch.setitem(simplify.RULES, kind, loose)
    assert is_noticed(OPERATIONS[kind])


def test_no_conditional_rule_is_missing_from_the_list():
    """A rule is conditional if it ever makes a proposal that is not proved, or has conditions."""
    seen: set[str] = set()

    def watched(rule: Rule) -> Rule:
        def holds(proposal, ctx):
            if proposal.nonneg or not proposal.given:
                seen.add(rule.name)
            return rule.holds(proposal, ctx)

        return replace(rule, holds=holds)

    unwatched = dict(simplify.RULES)
    try:
        for kind, rules in unwatched.items():
            simplify.RULES[kind] = tuple(map(watched, rules))
        for operations in OPERATIONS.values():
            for seed in range(60):
                maker = Maker(Random(seed))
                check_expression(maker, maker.operation(operations[0], 2))
    finally:
        simplify.RULES.update(unwatched)
    assert seen == set(CONDITIONAL)


# Bounds of atoms


def _tighter(known: Interval) -> Interval:
    """The range without its largest member, or from 0 on if there is no largest."""
    if known.hi is None:
        return Interval(max(0, known.lo or 0), None)
    if known.lo == known.hi:
        return Interval(known.hi + 1, known.hi + 1)
    return Interval(known.lo, known.hi - 1)


BOUNDED = sorted(
    (kind for kind in bounds.ATOM_RANGES if kind in OPERATIONS), key=lambda kind: kind.name
)


@pytest.mark.parametrize("kind", BOUNDED, ids=lambda kind: kind.name)
def test_a_range_that_is_too_small_is_noticed(kind: SymbolKind, monkeypatch: pytest.MonkeyPatch):
    right = bounds.ATOM_RANGES[kind]
    monkeypatch.setitem(bounds.ATOM_RANGES, kind, lambda ctx, atom: _tighter(right(ctx, atom)))
    assert is_noticed(OPERATIONS[kind])


CLASSED = sorted(
    (
        kind
        for kind in residues.ATOM_CONGRUENCES
        if kind in OPERATIONS and kind is not SymbolKind.MOD
    ),
    key=lambda kind: kind.name,
)


@pytest.mark.parametrize("kind", CLASSED, ids=lambda kind: kind.name)
def test_a_residue_that_is_wrong_is_noticed(kind: SymbolKind, monkeypatch: pytest.MonkeyPatch):
    right = residues.ATOM_CONGRUENCES[kind]

    def finer(ctx, atom):
        found = right(ctx, atom)
        return Congruence.of(2 * found.m, found.r)

    monkeypatch.setitem(residues.ATOM_CONGRUENCES, kind, finer)
    assert is_noticed(OPERATIONS[kind])


# Shared arithmetic


def _rounding_divide(dividend, divisor):
    """S2, S5: takes out what is not a multiple."""
    quotient, rest = division_rules_divide(dividend, divisor)
    remaining = {monomial: c for monomial, c in rest.terms.items() if abs(c) != 3}
    return quotient, type(rest)(rest.space, remaining)


def _one_side_only(ctx, poly, condition):
    """A case distinction that forgets the other case."""
    chosen, rest, _ = poly.split(condition)
    return ctx.case(condition.formula).range(rest + chosen)


def _rounded_too_far(known, congruence):
    """An end moved to the class even where it is a member already."""
    right = bounds_rounded(known, congruence)
    return right if right.lo is None or right.lo == right.hi else Interval(right.lo + 1, right.hi)


bounds_rounded = bounds._rounded
division_rules_divide = division_rules.divide
view_turned = view._turned


def _turned_without_divisor(poly, quotient, step, value, divisor):
    """S3: a*fdiv + b*mod turned although a is not b*D."""
    return view_turned(poly, quotient, step, value, divisor) + step


MUTATIONS: dict[str, tuple[object, str, Callable[..., object], tuple[str, ...]]] = {
    "S2, S5: rounding division": (division_rules, "divide", _rounding_divide, ("mod", "fdiv")),
    "S3: wrong remainder": (view, "_turned", _turned_without_divisor, ("mod", "trem")),
    "S2: residue of a dividend": (view, "reduced", lambda value, divisor: value * 0, ("mod",)),
    "cases: one side only": (bounds, "_split_range", _one_side_only, ("sel",)),
    "residues: end too far": (bounds, "_rounded", _rounded_too_far, ("mod", "fdiv")),
    "polarity not flipped": (simplify, "with_polarity", lambda f: (~f, False), ("sel",)),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_an_error_in_shared_arithmetic_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    module, attribute, wrong, operations = MUTATIONS[name]
    monkeypatch.setattr(module, attribute, wrong)
    assert is_noticed(operations)


bound_atoms = facts.Facts.bound_atoms
add_inequality = facts.Facts.add_inequality
note_remainder = facts.Facts.note_remainder
less = formula._less


def _narrowed_too_far(self, ctx, poly):
    bound_atoms(self, ctx, poly - 1)


def _recorded_too_strong(self, poly):
    add_inequality(self, poly - 1)


def _other_remainder(self, poly):
    note_remainder(self, poly + 1)


FACT_MUTATIONS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "atoms bounded too far": (facts.Facts, "bound_atoms", _narrowed_too_far),
    "inequality too strong": (facts.Facts, "add_inequality", _recorded_too_strong),
    "remainder off by one": (facts.Facts, "note_remainder", _other_remainder),
    "content rounded up": (formula, "_less", lambda poly: less(poly - 1)),
    "every question open to proof": (prover._Search, "proves", lambda self, goal, steps: True),
}


@pytest.mark.parametrize("name", FACT_MUTATIONS)
def test_an_error_in_facts_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    owner, attribute, wrong = FACT_MUTATIONS[name]
    monkeypatch.setattr(owner, attribute, wrong)
    assert is_noticed_under_assumptions()
