"""Residue classes: closed under the operations, joined and met exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.analysis.affine.congruence import ANY, Congruence, constant

classes = st.builds(Congruence.of, st.integers(0, 60), st.integers(-200, 200))
steps = st.integers(-(2**70), 2**70)


@given(classes, classes, steps, steps)
def test_results_of_members_are_members(a, b, i, j):
    x, y = a.r + a.m * i, b.r + b.m * j
    assert x in a
    assert x + y in a + b
    assert x - y in a - b
    assert x * y in a * b
    assert -x in -a
    assert 7 * x in a.scaled(7)
    assert x in a.join(b)
    assert y in a.join(b)
    assert x % a.divisor == 0 if a.divisor else x == 0


@given(classes, classes)
def test_meet_is_the_intersection(a, b):
    both = {x for x in range(-4000, 4000) if x in a and x in b}
    meet = a.meet(b)
    if meet is None:
        assert both == set()
    else:
        assert both == {x for x in range(-4000, 4000) if x in meet}


@given(classes, classes)
def test_join_is_the_smallest_class_above_both(a, b):
    joined = a.join(b)
    sample = [c.r + c.m * k for c in (a, b) for k in (0, 1)]
    for m in range(1, 60):
        if len({x % m for x in sample}) == 1:
            assert joined.m % m == 0


def test_modulo_and_constants():
    assert Congruence.of(12, 7).modulo(4) == 3
    assert Congruence.of(12, 7).modulo(5) is None
    assert constant(-5).modulo(4) == 3
    assert constant(-5).constant == -5
    assert ANY.constant is None
    assert Congruence.of(0, 9) == constant(9)
    assert Congruence.of(-6, -1) == Congruence(6, 5)
    assert (str(constant(3)), str(Congruence(8, 3))) == ("3", "3 mod 8")


def test_a_class_stays_reduced():
    with pytest.raises(ValueError, match="not reduced"):
        Congruence(4, 4)
