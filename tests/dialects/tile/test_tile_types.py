"""Types, and when two shapes agree."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DYNAMIC_INDEX, f16, f32, i32

from tilewright.dialects.tile import PtrType, RegionType, ReuseGroupType, StorageAliasSpecType
from tilewright.dialects.tile.mixed import INDEX, integers, join, known, split
from tilewright.dialects.tile.types import (
    have_equal_extents,
    is_buffer,
    is_numeric,
    shape_text,
    squeezed,
)

shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)
open_shapes = st.lists(st.sampled_from((1, 2, 3, DYNAMIC_INDEX)), max_size=4).map(tuple)


def filled(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All shapes that `shape` may turn out to be."""
    choices = [(1, 2, 3) if extent == DYNAMIC_INDEX else (extent,) for extent in shape]
    return list(product(*choices))


@given(shapes, shapes)
def test_known_shapes_agree_when_equal_but_for_ones(one: tuple[int, ...], other: tuple[int, ...]):
    assert have_equal_extents(one, other) == (squeezed(one) == squeezed(other))


@given(open_shapes, open_shapes)
def test_open_shapes_agree_when_they_can(one: tuple[int, ...], other: tuple[int, ...]):
    can = any(squeezed(a) == squeezed(b) for a, b in product(filled(one), filled(other)))
    found = have_equal_extents(one, other)
    assert found or not can or have_open_ends(one, other)
    assert not found or can
    assert found == have_equal_extents(other, one)


def have_open_ends(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Both sides have extents that may turn out to be 1, which is too much guessing to accept."""
    return DYNAMIC_INDEX in one and DYNAMIC_INDEX in other


def test_shape_text():
    assert shape_text((3, DYNAMIC_INDEX, 1)) == "3x?x1"
    assert squeezed((1, 64, 1, 128)) == (64, 128)


def test_types_in_words():
    assert str(RegionType(f32, (4, DYNAMIC_INDEX), "fragment")) == (
        "!tile.region<4x?xf32, #tile.space<fragment>>"
    )
    assert str(PtrType(f16)) == "!tile.ptr<f16>"
    assert str(PtrType(f16, "shared")) == "!tile.ptr<f16, #tile.space<shared>>"
    assert StorageAliasSpecType("tmem").keyword.data == "tmem"
    assert ReuseGroupType("distinct").keyword.data == "distinct"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RegionType(f16, (), "shared"), "a region requires at least one dimension"),
        (
            lambda: StorageAliasSpecType("global"),
            "the storage of a storage_alias_spec must be shared or tmem, got 'global'",
        ),
        (
            lambda: ReuseGroupType("both"),
            "the kind of a reuse_group must be shared or distinct, got 'both'",
        ),
    ],
)
def test_wrong_types(make, message: str):
    with pytest.raises(Exception, match=message):
        make()


def test_questions():
    assert is_numeric(f16) and is_numeric(i32) and is_numeric(INDEX)
    assert not is_numeric(PtrType(f16))
    assert not is_buffer(f16)


@given(st.lists(st.integers(-5, 5)))
def test_lists_of_numbers(values: list[int]):
    static, dynamic = split(values)
    assert dynamic == []
    assert integers(static) == tuple(values) == join(static, dynamic)
    assert [known(value) for value in values] == values
