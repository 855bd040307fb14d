"""NumPy evaluation: the same numbers as with big integers, broadcast, exact beyond 64 bits."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.analysis.affine.expressions import NAMES, Maker, build, build_formula, declare, makers
from tests.sampling import examples
from tilewright.analysis.affine import Interval, Space, evaluate, holds
from tilewright.analysis.affine.arrays import ArrayEvaluator, evaluate_array, holds_array


@settings(max_examples=examples(400))
@given(makers)
def test_arrays_agree_with_big_integers(maker: Maker):
    space = Space()
    symbols = declare(space)
    poly = build(space.root, symbols, maker.expression(4))
    formula = build_formula(space.root, symbols, maker.condition(2))
    points = [maker.valuation() for _ in range(6)]
    arrays = {name: np.array([p[name] for p in points], dtype=object) for name in NAMES}
    evaluator = ArrayEvaluator(arrays)
    values = np.broadcast_to(evaluator.value(poly), (6,))
    assert [int(v) for v in values] == [evaluate(poly, p) for p in points]
    viewed = np.broadcast_to(evaluator.value(poly.view()), (6,))
    assert [int(v) for v in viewed] == [int(v) for v in values]
    truths = np.broadcast_to(evaluator.truth(formula), (6,))
    assert truths.tolist() == [holds(formula, p) for p in points]


@pytest.fixture
def space() -> Space:
    return Space()


def test_axes_broadcast_and_small_values_stay_machine_integers(space: Space):
    pid, lane = space.symbol("pid"), space.symbol("lane", Interval(0, 7))
    n = space.symbol("n", divisor=4)
    ctx = space.root
    offset = ctx.mod(pid * 8 + lane, n) * 4
    grid = {"pid": np.arange(5)[:, None], "lane": np.arange(8)[None, :], "n": 12}
    result = evaluate_array(offset, grid)
    assert result.dtype == np.int64
    assert result.shape == (5, 8)
    assert result.tolist() == [[(p * 8 + i) % 12 * 4 for i in range(8)] for p in range(5)]
    inside = holds_array(ctx.compare("<", pid * 8 + lane, n), grid)
    assert inside.tolist() == [[p * 8 + i < 12 for i in range(8)] for p in range(5)]


def test_nothing_overflows(space: Space):
    x = space.symbol("x")
    result = evaluate_array(x * x * x, {"x": np.array([2**40, -(2**62), 3])})
    assert result.dtype == object
    assert result.tolist() == [2**120, -(2**186), 27]
    low = evaluate_array(x * x - x * x + x, {"x": np.array([2**40])})
    assert low.dtype == np.int64


def test_opaque_values_are_functions_of_arrays(space: Space):
    lane = space.symbol("lane")
    load = space.call("u", (lane,))
    memory = np.array([7, 5, 3, 1])
    values = {"lane": np.arange(4), "u": lambda index: memory[index]}
    assert evaluate_array(load * 2 + lane, values).tolist() == [14, 11, 8, 5]


def test_wrong_valuations_are_refused(space: Space):
    n = space.symbol("n", divisor=16)
    with pytest.raises(ValueError, match="no multiples of 16"):
        evaluate_array(n, {"n": np.array([16, 17])})
    with pytest.raises(ValueError, match="not a multiple of 16"):
        evaluate(n, {"n": 17})
    with pytest.raises(KeyError, match="no value given for n"):
        evaluate_array(n, {})
    with pytest.raises(KeyError, match="no value given for n"):
        evaluate(n, {})
