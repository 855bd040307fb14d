"""Rasters are bijections, and equal the values of the specification."""

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


@pytest.mark.parametrize(
    "raster", list(_rasters()), ids=lambda raster: f"{raster.policy}-{raster.block}"
)
def test_every_block_once_and_back(raster):
    for rows in range(1, 13):
        for columns in range(1, 13):
            grid = [raster.at(tile, rows, columns) for tile in range(rows * columns)]
            assert sorted(grid) == [(y, x) for y in range(rows) for x in range(columns)]
            back = [raster.inverse(y, x, rows, columns) for y, x in grid]
            assert back == list(range(rows * columns))


@pytest.mark.parametrize(
    ("raster", "rows", "columns", "start"),
    [
        (Raster("block_linear", (2, 2)), 8, 8, "00 01 10 11 02 03 12 13"),
        (Raster("block_linear", (2, 3)), 5, 7, "00 01 02 10 11 12 03"),
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
    assert [raster.at(tile, 8, 8) for tile in (0, 15, 16, 17)] == [(0, 0), (3, 3), (0, 4), (0, 5)]
