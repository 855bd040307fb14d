"""TMA boxes fill a tile exactly as its layout requires."""

from __future__ import annotations

import pytest

from tests.oracles.layouts.tma_boxes import box_shape, tma_boxes
from tilewright.layouts.hardware.swizzle import pattern_bytes, tile_address


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize(("rows", "bits"), [(64, 16), (176, 16), (320, 8), (512, 32)])
def test_boxes_write_the_tile(rows: int, bits: int, swizzle: int):
    columns = 2 * max(16, swizzle) * 8 // bits
    memory = tile_address((rows, columns), bits, swizzle)
    written: dict[int, tuple[int, int]] = {}
    for box in tma_boxes(rows, columns, bits, swizzle):
        assert box.rows <= 256
        assert box.columns * bits // 8 == max(16, swizzle)
        assert box.offset_bytes % pattern_bytes(swizzle) == 0
        for i in range(0, box.rows, 3):
            for j in range(box.columns):
                address = box.address(i, j, bits, swizzle)
                assert address not in written
                written[address] = (box.row + i, box.column + j)
    assert written
    for address, (i, j) in written.items():
        assert memory(i, j) == (address,)


def test_every_element_is_in_one_box():
    boxes = tma_boxes(320, 128, 16, 128)
    assert [(b.row, b.column, b.offset_bytes) for b in boxes] == [
        (0, 0, 0),
        (160, 0, 160 * 128),
        (0, 64, 320 * 128),
        (160, 64, 480 * 128),
    ]
    assert sum(b.rows * b.columns for b in boxes) == 320 * 128


def test_shapes_of_boxes():
    assert box_shape(256, 64, 16, 128) == (256, 64)
    assert box_shape(264, 64, 16, 128) == (88, 64)
    assert box_shape(64, 80, 16, 32) == (64, 16)
    with pytest.raises(
        ValueError, match="64 x 80 elements of 16 bits are not divisible into 8 rows of 128"
    ):
        box_shape(64, 80, 16, 128)
