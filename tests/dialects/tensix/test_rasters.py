"""Rasters are bijections, equal the values of the specification, and their steps are adjacent."""

import itertools

import pytest

from tilewright.dialects.tensix.rasters import Raster


def _rasters():
    yield Raster("row_major")
    yield Raster("column_major")
    yield Raster("z_order")
    yield Raster("hilbert")
    for height in range(1, 6):
        for width in range(1, 6):
            yield Raster("block_linear", (height, width))


GRIDS = [(rows, columns) for rows in range(1, 13) for columns in range(1, 13)]


@pytest.mark.parametrize(
    "raster", list(_rasters()), ids=lambda raster: f"{raster.policy}-{raster.block}"
)
def test_every_block_once_and_back(raster):
    for rows, columns in GRIDS:
        grid = [raster.at(tile, rows, columns) for tile in range(rows * columns)]
        assert sorted(grid) == [(y, x) for y in range(rows) for x in range(columns)]
        back = [raster.inverse(y, x, rows, columns) for y, x in grid]
        assert back == list(range(rows * columns))


@pytest.mark.parametrize(
    ("raster", "rows", "columns", "start"),
    [
        (Raster("block_linear", (2, 2)), 8, 8, "00 01 10 11 02 03 12 13"),
        (
            Raster("block_linear", (2, 3)),
            *(5, 7),
            "00 01 02 10 11 12 03 04 05 13 14 15 06 16 20 21 22 30 31 32 23 24 25 33 34 35 26 36 "
            "40 41 42 43 44 45 46",
        ),
        (Raster("z_order"), 4, 4, "00 01 10 11 02 03 12 13 20"),
        (Raster("z_order"), 2, 8, "00 01 10 11 02 03 12 13 04"),
        (Raster("z_order"), 3, 5, "00 01 10 11 02 03 12 13 20 21 22 23 04 14 24"),
        (Raster("hilbert"), 4, 4, "00 01 11 10 20 30 31 21 22 32 33 23 13 12 02 03"),
    ],
)
def test_values_of_the_specification(raster, rows, columns, start):
    found = [raster.at(tile, rows, columns) for tile in range(len(start.split()))]
    assert " ".join(f"{y}{x}" for y, x in found) == start


def test_block_linear_4x4_takes_the_first_square_first():
    raster = Raster("block_linear", (4, 4))
    found = [raster.at(tile, 8, 8) for tile in range(18)]
    assert found[:16] == [(y, x) for y in range(4) for x in range(4)]
    assert found[16:] == [(0, 4), (0, 5)]


def _compacted(value, bits):
    """Every second bit."""
    return sum((value >> 2 * bit & 1) << bit for bit in range(bits))


@pytest.mark.parametrize("p", range(5))
@pytest.mark.parametrize("q", range(5))
def test_z_order_of_powers_of_two_is_the_closed_form(p, q):
    low = min(p, q)
    for tile in range(1 << p + q):
        inside = tile & (1 << 2 * low) - 1
        x, y, high = _compacted(inside, low), _compacted(inside >> 1, low), tile >> 2 * low
        expected = (y, high << low | x) if q >= p else (high << low | y, x)
        assert Raster("z_order").at(tile, 1 << p, 1 << q) == expected


def _hilbert_of_a_square(distance, side):
    """The map of the specification for squares of a power of two."""
    x = y = 0
    size = 1
    while size < side:
        right = 1 & (distance // 2)
        up = 1 & (distance ^ right)
        if up == 0:
            if right == 1:
                x, y = size - 1 - x, size - 1 - y
            x, y = y, x
        x, y = x + size * right, y + size * up
        distance, size = distance // 4, size * 2
    return y, x


@pytest.mark.parametrize("side", [1, 2, 4, 8, 16, 32])
def test_hilbert_on_squares_is_the_hilbert_curve(side):
    table = Raster("hilbert").table(side, side)
    assert list(table) == [_hilbert_of_a_square(each, side) for each in range(side * side)]


def _leaps(table):
    steps = itertools.pairwise(table)
    return sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) != 1 for a, b in steps)


def test_every_step_of_hilbert_goes_to_a_neighbour():
    grids = [*GRIDS, (6, 10), (12, 9), (1, 300), (2, 101), (101, 2), (33, 20), (47, 48), (64, 3)]
    for rows, columns in grids:
        assert _leaps(Raster("hilbert").table(rows, columns)) == 0, (rows, columns)
    assert _leaps(Raster("z_order").table(4, 4)) > 0


def _panels(raster, side, run):
    """Rows plus columns of `run` blocks, the maximum over aligned runs."""
    found = []
    for start in range(0, side * side, run):
        points = [raster.at(start + each, side, side) for each in range(run)]
        found.append(len({y for y, _ in points}) + len({x for _, x in points}))
    return max(found)


@pytest.mark.parametrize(
    ("raster", "of_16", "of_4"),
    [
        (Raster("row_major"), 17, 5),
        (Raster("column_major"), 17, 5),
        (Raster("block_linear", (2, 2)), 10, 4),
        (Raster("block_linear", (4, 4)), 8, 5),
        (Raster("z_order"), 8, 4),
        (Raster("hilbert"), 8, 4),
    ],
    ids=lambda value: getattr(value, "policy", value),
)
def test_panels_of_a_run_of_blocks(raster, of_16, of_4):
    assert (_panels(raster, 16, 16), _panels(raster, 16, 4)) == (of_16, of_4)


def test_large_grids_take_no_enclosing_square():
    for policy in ("z_order", "hilbert"):
        table = Raster(policy).table(1, 5000)
        assert table == tuple((0, column) for column in range(5000))
