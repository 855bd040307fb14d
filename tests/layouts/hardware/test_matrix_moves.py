"""ldmatrix and stmatrix move exactly the fragments of mma.sync."""

from __future__ import annotations

import pytest

from tests.oracles.layouts.access_cost import store_c
from tilewright.layouts.hardware.matrix_moves import MatrixMove, load_a, load_b, matrix_fragment
from tilewright.layouts.hardware.mma_sync import mma_a, mma_b, mma_c


def test_elements_of_each_lane():
    plain = matrix_fragment(4)
    assert plain.owners(2, 3, 5) == ((3 * 4 + 2, 2 * 2 + 1),)
    trans = matrix_fragment(4, trans=True)
    assert trans.owners(2, 3, 5) == plain.owners(2, 5, 3)
    assert plain.is_complete()
    with pytest.raises(ValueError, match="3 matrices in one instruction, expected 1, 2 or 4"):
        matrix_fragment(3)


def test_row_addresses_of_each_lane():
    move = load_a()
    assert [move.address(lane) for lane in (0, 7, 8, 15, 16, 31)] == [
        (0, 0),
        (7, 0),
        (8, 0),
        (15, 0),
        (0, 1),
        (15, 1),
    ]
    single = MatrixMove(((0, 0),))
    assert single.address(9) == single.address(1) == (1, 0)
    assert (move.name, load_b(8, trans=True).name) == ("x4", "x2.trans")


@pytest.mark.parametrize(("k", "bits"), [(16, 16), (32, 8), (8, 32)])
def test_loads_of_a_are_the_fragment(k: int, bits: int):
    assert load_a().contents(bits) == mma_a(k, bits).contents


def test_transposed_loads_of_a_are_the_fragment():
    stored = load_a(trans=True).contents()
    assert {owner: (j, i) for owner, (i, j) in stored.items()} == mma_a(16, 16).contents


@pytest.mark.parametrize(("k", "bits"), [(16, 16), (32, 8), (8, 32)])
def test_loads_of_b_are_the_fragments_of_one_or_two_instructions(k: int, bits: int):
    one = mma_b(k, bits)
    assert load_b(8).contents(bits) == {h: (n, kk) for h, (kk, n) in one.contents.items()}
    two = one.repeat((1, 2))
    assert load_b(16).contents(bits) == {h: (n, kk) for h, (kk, n) in two.contents.items()}


@pytest.mark.parametrize("columns", [8, 16])
def test_transposed_loads_of_b_are_the_fragments(columns: int):
    fragment = mma_b(16, 16).repeat((1, columns // 8))
    assert load_b(columns, trans=True).contents() == fragment.contents


@pytest.mark.parametrize("columns", [8, 16])
def test_stores_of_accumulators(columns: int):
    assert store_c(columns).contents() == mma_c().repeat((1, columns // 8)).contents


def test_what_cannot_be_done():
    with pytest.raises(ValueError, match="requires 16-bit elements, not 8-bit"):
        load_a(trans=True).contents(8)
    with pytest.raises(ValueError, match="8 or 16 columns of B, not 32"):
        load_b(32)
