"""Formulas: one object for one condition, negation without a node, text."""

import pytest
from hypothesis import given, settings

from tests.analysis.affine.expressions import (
    Maker,
    Undefined,
    build_formula,
    declare,
    makers,
    reference_truth,
)
from tests.sampling import examples
from tilewright.analysis.affine import FormulaKind, Space, conjunction, disjunction, holds
from tilewright.analysis.affine.formula import compare, with_polarity


@settings(max_examples=examples(600))
@given(makers)
def test_formulas_hold_where_the_condition_does(maker: Maker):
    space = Space()
    condition = maker.condition(2)
    formula = build_formula(space.root, declare(space), condition)
    known = space.root.known(formula)
    canonical, flipped = with_polarity(formula) if formula.truth is None else (formula, False)
    for _ in range(5):
        values = maker.valuation()
        try:
            expected = reference_truth(condition, values)
        except Undefined:
            continue
        assert holds(formula, values) == expected
        assert holds(~formula, values) != expected
        assert holds(known, values) == expected
        assert holds(canonical, values) == (expected != flipped)
    assert ~~formula is formula
    assert with_polarity(~formula)[0] is canonical if formula.truth is None else True


@pytest.fixture
def space() -> Space:
    return Space()


def test_equal_conditions_are_one_object(space: Space):
    x, y = space.symbol("x"), space.symbol("y")
    assert compare("<", x, y) is compare(">", y, x)
    assert compare("<=", x, y) is ~compare("<", y, x)
    assert compare("<", 4 * x, 4 * y + 2) is compare("<=", x, y)
    assert compare("=", 2 * x, 2 * y) is compare("=", y, x)
    assert compare("=", 2 * x, 2 * y + 1) is space.false
    assert compare("!=", 2 * x, 2 * y + 1) is space.true
    assert compare("<", x, x) is space.false
    assert compare("<=", x, x) is space.true
    a, b, c = compare("<", x, 1), compare("<", y, 2), compare("=", x, y)
    assert (a & b) & c is a & (c & b)
    assert a & a is a
    assert a & ~a is space.false
    assert a | ~a is space.true
    assert ~(a & b) is (~a | ~b)
    assert a ^ a is space.false
    assert a & space.true is a
    assert a | space.true is space.true
    assert conjunction(space, ()) is space.true
    assert disjunction(space, ()) is space.false
    with pytest.raises(ValueError, match="no relation"):
        compare("=<", x, y)


def test_text(space: Space):
    n, offset, x = space.symbol("n"), space.symbol("offset"), space.symbol("x")
    assert str(compare("<", offset, n)) == "offset < n"
    assert str(compare("<=", offset, n)) == "offset <= n"
    assert str(compare(">=", x, 0)) == "x >= 0"
    assert str(compare(">", x, 5)) == "x > 5"
    assert str(compare("<", x, -3)) == "x < -3"
    assert str(compare("<", x + 3, n)) == "x + 3 < n"
    assert str(compare("<", x, n + 3)) == "x < n + 3"
    assert str(compare("=", x, 4)) == "x = 4"
    assert str(compare("!=", x, n)) == "x != n" or str(compare("!=", x, n)) == "n != x"
    both = compare(">=", x, 0) & compare("<", x, n)
    assert str(both) == "x < n and x >= 0"
    assert str(both | compare("=", n, 0)) == "(x < n and x >= 0) or n = 0"
    unknown = space.predicate("p", (x,))
    assert str(~unknown) == "not p(x)"
    assert (str(space.true), str(space.false)) == ("true", "false")


def test_predicates_are_opaque_and_depend_on_their_operands(space: Space):
    x = space.symbol("x")
    p = space.predicate("p", (x,), deps=("mem",))
    assert p.kind is FormulaKind.PREDICATE
    assert p.deps == {"x", "mem"}
    assert (~p).negated
    assert ~~p is p
    assert space.root.decide(p) is None
    assert holds(p, {"x": 3, "p": lambda x: x > 2})
    assert holds(~p, {"x": 1, "p": lambda x: x > 2})
    assert space.root.assume(p).decide(p) is True
    assert space.root.assume(p).decide(~p) is False
    assert p & ~p is space.false


def test_a_formula_is_no_condition(space: Space):
    with pytest.raises(TypeError, match="no truth value"):
        bool(compare("<", space.symbol("x"), 0))
