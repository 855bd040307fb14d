"""What contexts conclude from what they know, and that it is true."""

import pytest
from hypothesis import given, settings

from tests.analysis.affine.expressions import (
    Maker,
    Undefined,
    build,
    build_formula,
    declare,
    makers,
    reference,
    reference_truth,
)
from tests.analysis.affine.test_properties import check_value
from tests.sampling import examples
from tilewright.analysis.affine import Congruence, Interval, Poly, Space


@settings(max_examples=examples(500))
@given(makers)
def test_what_is_simplified_under_an_assumption_is_right_where_it_holds(maker: Maker):
    space = Space()
    symbols = declare(space)
    condition = maker.condition(1)
    if maker.random.randrange(2):
        condition = ("all", condition, maker.condition(1))
    expr, question = maker.expression(3), maker.condition(1)
    ctx = space.root.assume(build_formula(space.root, symbols, condition))
    poly = build(ctx, symbols, expr)
    result = ctx.decide(build_formula(ctx, symbols, question))
    for _ in range(20):
        values = maker.valuation()
        try:
            if not reference_truth(condition, values):
                continue
            assert not ctx.unreachable
            assert result is None or reference_truth(question, values) == result
            expected = reference(expr, values)
        except Undefined:
            continue
        check_value(ctx, poly, values, expected)


@pytest.fixture
def space() -> Space:
    return Space()


@pytest.fixture
def x(space: Space) -> Poly:
    return space.symbol("x")


def test_a_mask_bounds_an_opaque_value(space: Space):
    """A histogram's bin: inside 0 <= u < n it is a bin."""
    n = space.symbol("n_bins", Interval(1, 256))
    u = space.call("u0", range=Interval.of_bits(32), deps=("mem",))
    ctx = space.root
    inside = ctx.assume(ctx.compare(">=", u, 0) & ctx.compare("<", u, n))
    assert inside.range(u) == Interval(0, 255)
    assert inside.is_nonneg(n - 1 - u)
    assert inside.is_nonneg(4 * n - 4 * u - 4)
    assert ctx.range(u) == Interval.of_bits(32)


def test_facts_of_a_form_hold_for_its_multiples(space: Space, x: Poly):
    y = space.symbol("y")
    ctx = space.root.assume(space.root.compare("<=", x - y, 5))
    assert ctx.range(x - y) == Interval(None, 5)
    assert ctx.range(3 * y - 3 * x) == Interval(-15, None)
    assert ctx.range(x - y + 7) == Interval(None, 12)
    assert ctx.range(x + y) == Interval(None, None)


def test_inequalities_are_combined(space: Space, x: Poly):
    y, z = space.symbol("y"), space.symbol("z")
    root = space.root
    ctx = root.assume(root.compare("<", x, y)).assume(root.compare("<=", y, z))
    assert ctx.decide(root.compare("<", x, z)) is True
    assert ctx.decide(root.compare("<", 3 * x + 2, 3 * z)) is True
    assert ctx.decide(root.compare(">=", x, z)) is False
    assert ctx.decide(root.compare("=", x, z)) is False
    assert not ctx.proves_equal(x, z)
    assert ctx.assume(root.compare("<=", z, x + 1)).proves_equal(z, x + 1)
    assert ctx.decide(root.compare("<", x + 1, z)) is None
    assert root.decide(root.compare("<", x, z)) is None


def test_program_ids_stay_below_the_grid(space: Space):
    """pid < np, np*256 <= n: the last lane of the last program is inside."""
    root = space.root
    np = space.symbol("np", Interval(1, 2**31 - 1))
    pid = space.symbol("pid", Interval(0, 2**31 - 2))
    lane = space.symbol("lane", Interval(0, 255))
    n = space.symbol("n", Interval(0, 2**40))
    ctx = root.assume(root.compare("<", pid, np)).assume(root.compare("<=", np * 256, n))
    assert ctx.is_positive(n - (pid * 256 + lane))
    assert not ctx.is_positive(n - (pid * 256 + lane + 1))


def test_min_and_max_bound_their_operands(space: Space, x: Poly):
    y = space.symbol("y")
    ctx = space.root
    low, high = ctx.minimum(x, y), ctx.maximum(x, y)
    assert ctx.is_nonneg(x - low)
    assert ctx.is_nonneg(high - y)
    assert ctx.is_nonneg(high - low)
    assert not ctx.is_nonneg(low - x)


def test_a_quotient_bounds_its_dividend(space: Space, x: Poly):
    ctx = space.root
    quotient = ctx.fdiv(x, 8)
    assert ctx.is_nonneg(x - 8 * quotient)
    assert ctx.is_nonneg(8 * quotient + 7 - x)
    assert not ctx.is_nonneg(8 * quotient + 6 - x)


def test_equations_and_excluded_ends(space: Space):
    small = space.symbol("s", Interval(0, 10))
    root = space.root
    assert root.assume(root.compare("=", small, 3)).range(small * 2) == Interval(6, 6)
    assert root.assume(root.compare("!=", small, 0)).range(small) == Interval(1, 10)
    assert root.assume(root.compare("!=", small, 10)).range(small) == Interval(0, 9)
    assert root.assume(root.compare("!=", small, 5)).range(small) == Interval(0, 10)


def test_a_known_remainder_fixes_the_residue(space: Space, x: Poly):
    root = space.root
    ctx = root.assume(root.compare("=", root.mod(x, 128), 0))
    assert ctx.congruence(x) == Congruence(128, 0)
    assert ctx.mod(x, 16) == 0
    assert ctx.mod(3 * x + 5, 16) == 5
    shifted = root.assume(root.compare("=", root.mod(3 * x + 1, 8), 4))
    assert shifted.congruence(x) == Congruence(8, 1)
    assert root.congruence(x) == Congruence(1, 0)


def test_known_residues_let_a_low_part_go(space: Space, x: Poly):
    lane = space.symbol("lane", Interval(0, 127))
    root = space.root
    ctx = root.assume(root.compare("=", root.mod(x, 128), 0))
    assert ctx.fdiv(x + lane, 128) == ctx.fdiv(x, 128)
    assert ctx.fdiv(x + lane, 256) == ctx.fdiv(x, 256)
    assert root.fdiv(x + lane, 128) != root.fdiv(x, 128)


def test_disjunctions_give_the_hull(space: Space):
    s = space.symbol("s", Interval(0, 100))
    root = space.root
    either = root.compare("<", s, 10) | root.compare("=", s, 20)
    assert root.assume(either).range(s) == Interval(0, 20)
    never = root.compare("<", s, 10) | root.compare(">", s, 200)
    assert root.assume(never).range(s) == Interval(0, 9)


def test_contradictions_are_noticed(space: Space, x: Poly):
    s = space.symbol("s", Interval(0, 100))
    root = space.root
    assert root.assume(root.compare("<", s, 10)).assume(root.compare(">", s, 20)).unreachable
    assert root.assume(space.false).unreachable
    ctx = root.assume(root.compare("<", x, 0))
    assert ctx.assume(root.compare(">", x, 3)).unreachable
    assert not ctx.unreachable
    odd = root.assume(root.compare("=", root.mod(x, 2), 1))
    assert odd.assume(root.compare("=", root.mod(x, 4), 2)).unreachable


def test_conditions_split_ranges(space: Space, x: Poly):
    """A clamp written with a selection is as good as one with max."""
    root = space.root
    clamped = root.select(root.compare("<", x, 0), 0, x)
    assert root.range(clamped) == Interval(0, None)
    both = root.select(root.compare(">", clamped, 9), 9, clamped)
    assert root.range(both) == Interval(0, 9)
    flag = root.select(root.compare("<", x, 0), 16, 48)
    assert root.range(flag) == Interval(16, 48)
    assert root.is_multiple(flag, 16)


def test_assume_is_remembered_and_leaves_the_parent_alone(space: Space, x: Poly):
    root = space.root
    formula = root.compare(">", x, 3)
    assert root.assume(formula) is root.assume(formula)
    assert root.assume(space.true) is root
    assert root.range(x) == Interval(None, None)
    assert root.assume(formula).known(formula) is space.true
    both = formula & root.compare("<", space.symbol("y"), 0)
    assert root.assume(formula).known(both) is root.compare("<", space.symbol("y"), 0)
