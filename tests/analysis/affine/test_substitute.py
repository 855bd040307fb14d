"""Substitution: simultaneous, everywhere, simplified again."""

import pytest
from hypothesis import given, settings

from tests.analysis.affine.expressions import (
    SYMBOLS,
    Maker,
    Undefined,
    build,
    build_formula,
    declare,
    makers,
    reference,
    reference_truth,
)
from tests.sampling import examples
from tilewright.analysis.affine import (
    Interval,
    Space,
    Substitution,
    SymbolKind,
    evaluate,
    holds,
    substitute,
)


@settings(max_examples=examples(400))
@given(makers)
def test_substituting_constants_is_evaluating(maker: Maker):
    space = Space()
    symbols = declare(space)
    expr = maker.expression(4)
    poly = build(space.root, symbols, expr)
    values = maker.valuation()
    try:
        expected = reference(expr, values)
    except Undefined:
        return
    result = substitute(space.root, poly, {symbols[name].atom: v for name, v in values.items()})
    assert result.constant == expected


@settings(max_examples=examples(400))
@given(makers)
def test_substituting_values_is_evaluating_at_them(maker: Maker):
    space = Space()
    symbols = declare(space)
    expr, condition = maker.expression(3), maker.condition(1)
    poly = build(space.root, symbols, expr)
    formula = build_formula(space.root, symbols, condition)
    free = [name for name, symbol in SYMBOLS.items() if symbol.lo is None and symbol.divisor == 1]
    replaced = {name: maker.expression(2) for name in free}
    substitution = Substitution(
        space.root,
        {symbols[name].atom: build(space.root, symbols, e) for name, e in replaced.items()},
    )
    result, truth = substitution.poly(poly), substitution.formula(formula)
    for _ in range(4):
        values = maker.valuation()
        try:
            inner = {name: reference(e, values) for name, e in replaced.items()}
            expected = reference(expr, values | inner)
            expected_truth = reference_truth(condition, values | inner)
        except Undefined:
            continue
        assert evaluate(result, values) == expected
        assert holds(truth, values) == expected_truth


@pytest.fixture
def space() -> Space:
    return Space()


def test_replacements_are_simultaneous(space: Space):
    x, y = space.symbol("x"), space.symbol("y")
    swapped = substitute(space.root, x - 2 * y, {x.atom: y, y.atom: x})
    assert swapped == y - 2 * x


def test_lanes_move_into_opaque_values_and_conditions(space: Space):
    lane0, lane1 = (space.symbol(f"lane{d}", Interval(0, 31)) for d in (0, 1))
    ctx = space.root
    load = space.call("u0", (lane0,), Interval(0, 99), deps=("mem",))
    mask = ctx.compare("<", lane0, 20) & space.predicate("p", (lane0,))
    value = ctx.select(mask, load, 0)
    moved = Substitution(ctx, {lane0.atom: lane1})
    assert moved.poly(load) == space.call("u0", (lane1,), Interval(0, 99), deps=("mem",))
    assert moved.poly(load).deps == {"lane1", "mem"}
    assert moved.poly(value).deps == {"lane1", "mem"}
    assert moved.formula(mask).deps == {"lane1"}
    back = Substitution(ctx, {lane1.atom: lane0})
    assert back.poly(moved.poly(value)) == value
    assert back.formula(moved.formula(mask)) is mask


def test_values_make_rules_fire(space: Space):
    """A wrap-around goes once the extent is known."""
    m = space.symbol("M", Interval(1, 2**31 - 1))
    pid = space.symbol("pid", Interval(0, 2))
    lane = space.symbol("lane", Interval(0, 127))
    ctx = space.root
    wrapped = ctx.mod(128 * pid + lane, m)
    assert wrapped.view().atoms()[0].kind is SymbolKind.MOD
    assert substitute(ctx, wrapped, {m.atom: 384}) == 128 * pid + lane
    assert substitute(ctx, wrapped, {m.atom: 256}) != 128 * pid + lane


def test_a_declared_divisor_is_held_to(space: Space):
    n = space.symbol("n", divisor=16)
    x = space.symbol("x")
    ctx = space.root
    assert substitute(ctx, n + 1, {n.atom: 32}) == 33
    assert substitute(ctx, n, {n.atom: 48 * x}) == 48 * x
    with pytest.raises(ValueError, match="n = 40 is not a multiple of 16"):
        substitute(ctx, n, {n.atom: 40})
    with pytest.raises(ValueError, match="neither a symbol nor a call"):
        substitute(ctx, n, {ctx.fdiv(x, 3).atom: 1})


def test_untouched_values_are_returned_as_they_are(space: Space):
    x, y = space.symbol("x"), space.symbol("y")
    poly = space.root.fdiv(y, 7)
    assert substitute(space.root, poly, {x.atom: 1}) is poly


def test_opaque_values_can_be_replaced(space: Space):
    x = space.symbol("x")
    load = space.call("u", (x,))
    assert substitute(space.root, space.root.fdiv(load, 4), {load.atom: 4 * x}) == x


def test_values_that_were_too_large_come_back(space: Space):
    many = [space.symbol(f"x{i}") for i in range(70)]
    wrapped = space.root.limited(sum(many, space.zero))
    small = substitute(space.root, wrapped, {x.atom: 1 for x in many[:40]})
    assert small == sum(many[40:], space.const(40))
