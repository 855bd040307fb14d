"""Every operation against plain integers, for random expressions and random, also huge, values."""

from random import Random

import pytest
from hypothesis import given, settings

from tests.analysis.affine.expressions import (
    BUILD,
    Expr,
    Maker,
    Undefined,
    build,
    declare,
    makers,
    reference,
)
from tests.sampling import examples
from tilewright.analysis.affine import Context, Poly, Space, evaluate


def check_value(ctx: Context, poly: Poly, values: dict[str, int], expected: int) -> None:
    """Value, view, range and congruence of a polynomial agree with the true value."""
    assert evaluate(poly, values) == expected
    assert evaluate(poly.view(), values) == expected
    assert expected in ctx.range(poly)
    assert expected in ctx.congruence(poly)
    assert not ctx.is_nonneg(poly) or expected >= 0
    assert not ctx.is_nonneg(-poly) or expected <= 0


def check_expression(maker: Maker, expr: Expr) -> int:
    """The number of valuations for which the expression had a value, and the right one."""
    space = Space()
    poly = build(space.root, declare(space), expr)
    checked = 0
    for _ in range(5):
        values = maker.valuation()
        try:
            expected = reference(expr, values)
        except Undefined:
            continue
        check_value(space.root, poly, values, expected)
        checked += 1
    return checked


@settings(max_examples=examples(1500))
@given(makers)
def test_simplified_values_are_the_values_of_the_expression(maker: Maker):
    check_expression(maker, maker.expression(4))


@pytest.mark.parametrize("operation", [*sorted(BUILD), "sel"])
def test_each_operation_on_operands_for_which_there_are_rules(operation: str):
    makers = [Maker(Random(seed)) for seed in range(150)]
    checked = sum(check_expression(maker, maker.operation(operation, 2)) for maker in makers)
    assert checked > 300
