"""Layouts as functions: numbers, arrays and inverses agree, for sizes that are no powers of two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.layouts.from_linear import layout_from_linear
from tilewright.layouts.encodings import NvmmaShared, SwizzledShared
from tilewright.layouts.index_map import Layout, coordinates_of, row_major

SHAPES = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


@given(SHAPES, st.data())
def test_strided_layouts_by_enumeration(shape: tuple[int, ...], data: st.DataObject):
    strides = tuple(data.draw(st.integers(0, 9)) for _ in shape)
    layout = Layout.strided(shape, strides)
    expected = sum(axis * stride for axis, stride in zip(np.indices(shape), strides, strict=True))
    assert layout.offsets == tuple(int(n) for n in np.ravel(expected))
    assert layout.is_injective() == (len(set(np.ravel(expected))) == layout.size)
    np.testing.assert_array_equal(layout.forward(*np.indices(shape)), expected)
    collision = layout.collision()
    assert (collision is None) == layout.is_injective()
    if collision:
        one, other = collision
        assert one != other
        assert layout(*one) == layout(*other)


@given(SHAPES)
def test_coordinates_and_offsets_are_inverse(shape: tuple[int, ...]):
    for offset, point in enumerate(np.ndindex(*shape)):
        assert row_major(point, shape) == offset
        assert coordinates_of(offset, shape) == point


@given(SHAPES, st.permutations(range(3)))
def test_inverse_of_a_transposition(shape: tuple[int, ...], order: list[int]):
    axes = [axis for axis in order if axis < len(shape)]
    layout = Layout(shape, lambda *index: tuple(index[axis] for axis in axes))
    inverse = layout.inverse()
    assert inverse.shape == tuple(shape[axis] for axis in axes)
    assert layout.compose(inverse) == Layout.row_major(shape)
    assert inverse.compose(layout) == Layout.row_major(inverse.shape)


def test_swizzle_with_rows_that_are_not_a_power_of_two():
    layout = Layout((176, 64), lambda i, j: (i, j ^ i % 8 * 8))
    assert layout.is_bijective()
    assert layout.physical_shape == (176, 64)
    assert layout(9, 3) == (9, 11)
    assert layout.inverse()(9, 11) == (9, 3)
    table = np.array(layout.forward(*np.indices((176, 64)))).reshape(2, -1).T
    assert [tuple(int(n) for n in row) for row in table] == list(layout.locations)


def test_two_elements_at_one_location_have_no_inverse():
    layout = Layout((4, 4), lambda i, j: i + j)
    assert not layout.is_injective()
    with pytest.raises(
        ValueError, match=r"elements \(0, 1\) and \(1, 0\) map to the same location"
    ):
        layout.inverse()


def test_padding_leaves_locations_empty():
    layout = Layout.padded((3, 4), 2)
    assert layout.offset(2, 1) == 13
    assert layout.is_injective()
    assert not layout.is_bijective()
    with pytest.raises(ValueError, match="4 of 16 locations are empty"):
        layout.inverse()


def test_equality_is_about_locations_not_about_functions():
    plain = Layout.row_major((6, 10))
    assert plain == Layout((6, 10), lambda i, j: (i, (j * 11) % 10))
    assert plain != Layout((6, 10), lambda i, j: i * 10 + j)
    assert plain.same_memory(Layout((6, 10), lambda i, j: i * 10 + j))
    assert hash(plain) == hash(Layout((6, 10), lambda i, j: (i, j)))
    assert plain != Layout((6, 10), lambda i, j: (i, 9 - j))


def test_repeating_and_stages():
    atom = Layout((8, 4), lambda i, j: (i, j ^ i % 4))
    tall = atom.repeat(0, 3)
    assert tall.shape == (24, 4)
    assert tall(17, 2) == (17, 2 ^ 1)
    wide = atom.repeat(1, 2)
    assert wide(3, 5) == (8 + 3, 1 ^ 3)
    assert wide.is_bijective()
    staged = atom.with_outer(3)
    assert staged.physical_shape == (3, 8, 4)
    assert staged.offset(2, 1, 0) == 2 * 32 + 1 * 4 + 1


def test_reshaping_keeps_the_memory():
    layout = Layout((6, 4), lambda i, j: (j, i))
    flat = layout.reshaped((24,))
    assert flat(9) == layout(2, 1)
    assert flat.reshaped((6, 4)) == layout
    with pytest.raises(ValueError, match="does not have 24 elements"):
        layout.reshaped((5, 5))


@pytest.mark.parametrize(
    "encoding",
    [NvmmaShared(128, 16), NvmmaShared(64, 16, transposed=True), SwizzledShared(8, 1, 8, (1, 0))],
)
def test_layouts_over_bits_become_functions(encoding: NvmmaShared | SwizzledShared):
    linear = encoding.to_linear([64, 64])
    layout = layout_from_linear(linear)
    assert layout.is_bijective()
    for inputs, point in linear.points():
        assert layout(*point) == (inputs["offset"],)


def test_errors_of_invalid_layouts():
    with pytest.raises(ValueError, match=r"positive sizes, got \[4, 0\]"):
        Layout.row_major((4, 0))
    with pytest.raises(ValueError, match="takes 2 coordinates, got 1"):
        Layout.row_major((4, 4))(1)
    with pytest.raises(ValueError, match="negative index"):
        _ = Layout((4,), lambda i: i - 1).physical_shape
