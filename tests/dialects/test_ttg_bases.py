"""Facts about bases against enumeration of all the inputs, and the shares of CTAs."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.dialects.ttg import bases as b
from tilewright.dialects.ttg.cga import cga_bases, cta_split_num, shape_per_cta

RANKED = st.integers(1, 3).flatmap(
    lambda rank: st.lists(
        st.tuples(*[st.sampled_from([0, 0, 1, 2, 3, 4])] * rank), min_size=1, max_size=5
    ).map(tuple)
)


def image(bases: b.Bases, rank: int | None = None) -> list[tuple[int, ...]]:
    """Where 0, 1, 2 ... go, by definition."""
    rank = b.rank_of(bases) if rank is None else rank
    points = []
    for number in range(2 ** len(bases)):
        point = [0] * rank
        for bit, basis in enumerate(bases):
            if number >> bit & 1:
                point = [old ^ new for old, new in zip(point, basis, strict=True)]
        points.append(tuple(point))
    return points


@given(RANKED)
def test_injective_means_no_two_inputs_meet(bases: b.Bases):
    points = image(bases)
    assert b.is_injective(bases) == (len(set(points)) == len(points))


@given(RANKED)
def test_surjective_means_every_point_is_reached(bases: b.Bases):
    sizes = b.extents(bases, b.rank_of(bases))
    assert b.is_surjective(bases) == (len(set(image(bases))) == prod(sizes))


@given(RANKED)
def test_extents_hold_every_point(bases: b.Bases):
    sizes = b.extents(bases, b.rank_of(bases))
    assert all(
        value < size for point in image(bases) for value, size in zip(point, sizes, strict=True)
    )


@given(RANKED)
def test_permutations_hit_each_point_equally_often(bases: b.Bases):
    if not b.is_permutation(bases):
        return
    points = image(bases)
    counts = {points.count(point) for point in points}
    assert counts == {2 ** sum(not any(basis) for basis in bases)}
    assert b.is_surjective(bases)


@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3), st.data())
def test_identity_runs_through_the_shape_in_order(extents: list[int], data: st.DataObject):
    shape = tuple(extents)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    slowest_first = tuple(reversed(order))
    expected = [
        tuple(at[slowest_first.index(dim)] for dim in range(len(shape)))
        for at in product(*(range(shape[dim]) for dim in slowest_first))
    ]
    assert image(b.identity_bases(shape, order), len(shape)) == expected


@given(RANKED, st.data())
def test_permuted_bases_reach_permuted_points(bases: b.Bases, data: st.DataObject):
    order = data.draw(st.permutations(range(b.rank_of(bases))))
    turned = image(b.permuted(bases, order))
    assert turned == [tuple(point[dim] for dim in order) for point in image(bases)]


def test_order_is_that_of_the_first_moves():
    assert b.order_of(((0, 1, 0), (1, 0, 0), (0, 2, 0)), 3) == (1, 0, 2)
    assert b.order_of((), 3) == (2, 1, 0)


def test_broadcasts_do_not_count():
    assert b.is_permutation(((0, 1), (0, 0), (1, 0)))
    assert b.without_broadcasts(((0, 1), (0, 0))) == ((0, 1),)
    assert not b.is_injective(((0, 0),))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ((), ()),
        (((0, 64),), ((0, 1),)),
        (((128, 0), (0, 64), (256, 0)), ((1, 0), (0, 1), (2, 0))),
        (((0, 0), (8, 0)), ((0, 0), (1, 0))),
    ],
)
def test_the_share_of_a_cta_is_the_unit(block: b.Bases, expected: b.Bases):
    assert b.cga_of(block) == expected


@pytest.mark.parametrize(
    ("ctas", "split", "order", "expected"),
    [
        ((1, 1), (1, 1), (1, 0), ()),
        ((2, 1), (2, 1), (1, 0), ((1, 0),)),
        ((1, 2), (1, 1), (1, 0), ((0, 0),)),
        ((2, 2), (2, 2), (1, 0), ((0, 1), (1, 0))),
        ((2, 2), (2, 2), (0, 1), ((1, 0), (0, 1))),
        ((4, 1), (2, 1), (1, 0), ((1, 0), (0, 0))),
        ((4,), (4,), (0,), ((1,), (2,))),
    ],
)
def test_cga_lists_of_older_releases(ctas, split, order, expected):
    bases = cga_bases(ctas, split, order)
    assert bases == expected
    assert 2 ** len(bases) == prod(ctas)
    assert cta_split_num(bases, len(ctas)) == tuple(map(min, ctas, split))


def test_share_of_a_shape():
    assert shape_per_cta((3, 64, 32), ((1, 0), (0, 0), (0, 1)), 2) == (3, 32, 16)
    assert shape_per_cta((64,), (), 1) == (64,)
    assert shape_per_cta((1,), ((1,),), 1) == (1,)
