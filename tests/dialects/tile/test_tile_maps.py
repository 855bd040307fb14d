"""Layouts: expressions as text and as numbers, maps and what is asked of them, launch order."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.parser import Parser

from tests.dialects.tile.support import CONTEXT
from tilewright.dialects.tile import FragmentAttr, FragmentMap, LayoutAttr, LayoutMap, RasterAttr
from tilewright.dialects.tile.expressions import (
    Binary,
    Constant,
    Coordinate,
    LayoutExpr,
    as_expr,
    binary,
    coordinate_name,
    trace,
)

NAMES = ("i", "j")
X, Y = Coordinate(0), Coordinate(1)


def read(text: str):
    """The attribute that `text` spells."""
    CONTEXT.get_optional_attr("tile.layout")
    return Parser(CONTEXT, text).parse_attribute()


TEXTS = {
    "i": X,
    "7": Constant(7),
    "(-3)": Constant(-3),
    "i + j * 2": X + Y * 2,
    "(i + j) * 2": (X + Y) * 2,
    "i - (j - 1)": X - (Y - 1),
    "i - j - 1": X - Y - 1,
    "i * 8 floordiv 4 mod 2": X * 8 // 4 % 2,
    "i floordiv 8 + j mod 8": X // 8 + Y % 8,
    "i xor j": X ^ Y,
    "(i + 1) xor (j mod 8)": (X + 1) ^ (Y % 8),
    "(i xor j) + 1": (X ^ Y) + 1,
    "(i xor j) xor i": (X ^ Y) ^ X,
    "i * (j floordiv 2)": X * (Y // 2),
}


@pytest.mark.parametrize("text", TEXTS)
def test_expression_text(text: str):
    assert TEXTS[text].text(NAMES) == text
    attribute = read(f"#tile.layout<(i : 4, j : 4) -> ({text})>")
    assert attribute.data.results == (TEXTS[text],)


def test_operators_from_both_sides():
    assert (3 + X).text(NAMES) == "3 + i"
    assert (3 - X).text(NAMES) == "3 - i"
    assert (3 * X).text(NAMES) == "3 * i"
    assert (3 ^ X).text(NAMES) == "3 xor i"
    assert (X << 2).text(NAMES) == "i * 4"
    assert (X >> 2).text(NAMES) == "i floordiv 4"
    assert (X & 7).text(NAMES) == "i mod 8"


def test_what_cannot_be_said():
    with pytest.raises(ValueError, match="mask 6 is not supported"):
        _ = X & 6
    with pytest.raises(ValueError, match="the right operand of mod must be a positive integer"):
        _ = X % 0
    with pytest.raises(
        ValueError, match="the right operand of floordiv must be a positive integer"
    ):
        _ = 4 // X
    with pytest.raises(ValueError, match="the right operand of mod"):
        _ = 4 % X


def test_constants_are_computed():
    assert X + 0 == X == 0 + X == X * 1 == 1 * X == X // 1 == X ^ 0 == X - 0
    assert X * 0 == X % 1 == Constant(0)
    assert as_expr(6) // 4 + 1 == Constant(2)


def expressions() -> st.SearchStrategy[LayoutExpr]:
    leaves = st.one_of(st.sampled_from((X, Y)), st.integers(-9, 9).map(Constant))

    def grow(inner: st.SearchStrategy[LayoutExpr]) -> st.SearchStrategy[LayoutExpr]:
        both = st.builds(binary, st.sampled_from(("+", "-", "*", "xor")), inner, inner)
        divided = st.builds(binary, st.sampled_from(("floordiv", "mod")), inner, st.integers(1, 9))
        return both | divided

    return st.recursive(leaves, grow, max_leaves=12)


@given(expressions())
def test_any_expression_comes_back_from_its_text(expression: LayoutExpr):
    attribute = LayoutAttr(LayoutMap((5, 6), (expression,)))
    assert read(str(attribute)) == attribute


@given(expressions(), st.integers(0, 20), st.integers(0, 20))
def test_evaluation_is_pythons(expression: LayoutExpr, i: int, j: int):
    text = expression.text(NAMES).replace("floordiv", "//").replace("mod", "%")
    # Python's own xor binds less than its sums, and brackets are always around it here.
    value = eval(text.replace("xor", "^"), {"i": i, "j": j})
    assert expression.evaluate((i, j)) == value


@given(expressions())
def test_arrays_are_evaluated_element_by_element(expression: LayoutExpr):
    i, j = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    found = np.broadcast_to(expression.evaluate((i, j)), (4, 5))
    assert [[expression.evaluate((a, b)) for b in range(5)] for a in range(4)] == found.tolist()


def test_traced_functions():
    assert trace(lambda i, j: (i * 4 + j // 2, j % 2), 2) == (X * 4 + Y // 2, Y % 2)
    assert trace(lambda i: i, 1) == (X,)
    assert trace(lambda i: [i, 3], 1) == (X, Constant(3))
    assert isinstance((X + Y), Binary)
    assert [coordinate_name(index) for index in (0, 5, 6)] == ["i", "n", "d6"]


# -- maps --------------------------------------------------------------------------------------


def swizzle(i: object, j: object) -> tuple[object, object]:
    return i, j ^ ((i % 8) * 8)


def test_layout():
    layout = LayoutMap.from_function((16, 64), swizzle)
    assert str(layout) == "(i : 16, j : 64) -> (i, j xor (i mod 8 * 8))"
    assert layout.evaluate(3, 8) == (3, 8 ^ 24)
    assert layout.physical_shape() == (16, 64)
    assert layout.is_injective()
    assert not LayoutMap.from_function((16, 64), lambda i, j: i + j).is_injective()
    assert LayoutMap.row_major((2, 3)).evaluate(1, 2) == (1, 2)
    with pytest.raises(ValueError, match="layout of rank 2 applied to 1 coordinates"):
        layout.evaluate(1)


def test_padded_layout():
    padded = LayoutMap.from_function((4, 8), lambda i, j: i * 12 + j)
    assert padded.physical_shape() == (3 * 12 + 8,)
    assert padded.is_injective()


def test_fragment_of_a_matrix_instruction():
    fragment = FragmentMap.from_functions((8, 8), lambda i, j: i * 4 + j // 2, lambda i, j: j % 2)
    assert str(fragment) == "(i : 8, j : 8) -> thread (i * 4 + j floordiv 2) index (j mod 2)"
    assert fragment.evaluate(3, 5) == (14, (1,))
    assert fragment.num_threads() == 32
    assert fragment.index_shape() == (2,)
    assert fragment.is_injective()


def test_replicated_fragment():
    fragment = FragmentMap.from_functions((8,), lambda i, r: i + r * 8, lambda i: 0, replicate=4)
    text = "#tile.fragment<(i : 8) replicate (r : 4) -> thread (i + r * 8) index (0)>"
    assert str(FragmentAttr(fragment)) == text
    assert read(text) == FragmentAttr(fragment)
    assert fragment.num_threads() == 32
    assert [fragment.evaluate(2, replica=r)[0] for r in range(4)] == [2, 10, 18, 26]
    assert fragment.is_injective()
    crowded = FragmentMap.from_functions((8,), lambda i: 0, lambda i: i // 2)
    assert not crowded.is_injective()


def test_other_names_are_read():
    assert str(read("#tile.layout<(row : 2, column : 4) -> (column, row)>")) == (
        "#tile.layout<(i : 2, j : 4) -> (j, i)>"
    )


# -- launch order ------------------------------------------------------------------------------


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.sampled_from(("row", "column")))
def test_every_block_is_visited_once(width: int, height: int, panel: int, order: str):
    raster = RasterAttr.of(order, panel).data
    blocks = list(product(range(width), range(height)))
    assert sorted(raster.block_at(x, y, width, height) for x, y in blocks) == blocks


def test_panels_go_back_and_forth():
    raster = RasterAttr.of("row", 2).data
    walk = [raster.block_at(x, y, 3, 3) for y in range(3) for x in range(3)]
    # Down and right through two rows, then back through the last, which is a panel of one row.
    assert walk == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]


def test_columns_swap_the_roles():
    rows, columns = RasterAttr.of("row", 2).data, RasterAttr.of("column", 2).data
    for x, y in product(range(3), range(5)):
        assert columns.block_at(x, y, 3, 5) == rows.block_at(y, x, 5, 3)[::-1]
