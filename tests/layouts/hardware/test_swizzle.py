"""Swizzles and matrix descriptors: the tile, TMA's addresses and wgmma's reads are the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.layouts.from_linear import layout_from_linear
from tilewright.layouts.encodings import NvmmaShared
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, OperandTile, read_address
from tilewright.layouts.hardware.swizzle import (
    choose_swizzle,
    pattern_bytes,
    swizzle_address,
    swizzled_tile,
    tile_address,
)

WIDTHS = (0, 32, 64, 128)


@given(st.integers(0, 1 << 18), st.sampled_from(WIDTHS))
def test_the_hardwares_swizzle_is_its_own_inverse(address: int, width: int):
    moved = swizzle_address(address, width)
    assert swizzle_address(moved, width) == address
    assert moved // 128 == address // 128
    assert moved % 16 == address % 16


def test_bits_of_the_swizzle():
    assert swizzle_address(0b1_0000_0000 | 0b111_0000, 128) == 0b1_0000_0000 | 0b101_0000
    assert swizzle_address(7 << 7, 128) == 7 << 7 | 7 << 4
    assert swizzle_address(7 << 7, 64) == 7 << 7 | 3 << 4
    assert swizzle_address(7 << 7, 32) == 7 << 7 | 1 << 4
    assert swizzle_address(7 << 7, 0) == 7 << 7
    with pytest.raises(ValueError, match="width is 16 bytes, expected 0, 32, 64 or 128"):
        swizzle_address(0, 16)
    assert [pattern_bytes(width) for width in WIDTHS] == [128, 256, 512, 1024]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("rows", [8, 64, 176])
def test_a_tile_lies_where_the_hardware_swizzles_it(width: int, bits: int, rows: int):
    columns = 2 * max(16, width) * 8 // bits
    tile = swizzled_tile((rows, columns), bits, width)
    assert tile.is_bijective()
    addresses = tile_address((rows, columns), bits, width)
    assert tuple(offset * bits // 8 for offset in tile.offsets) == tuple(
        address for (address,) in addresses.locations
    )


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_tile_is_tritons_shared_layout(width: int, bits: int):
    columns = 4 * 8 * 32 // bits * (width // 32)
    tile = swizzled_tile((64, columns), bits, width)
    right = layout_from_linear(NvmmaShared(width, bits).to_linear([64, columns]))
    assert tile.same_memory(right)


def test_the_swizzle_follows_from_the_row():
    assert choose_swizzle(64, 16) == 128
    assert choose_swizzle(176, 16) == 32
    assert choose_swizzle(96, 16) == 64
    assert choose_swizzle(80, 16) == 32
    assert choose_swizzle(8, 16) == 0
    assert choose_swizzle(12, 16) is None
    with pytest.raises(
        ValueError, match="12 x 64 elements of 16 bits are not divisible into 8 rows of 128"
    ):
        swizzled_tile((12, 64), 16, 128)


def test_stages_stay_outside():
    tile = swizzled_tile((3, 16, 64), 16, 128)
    inner = swizzled_tile((16, 64), 16, 128)
    assert tile.offset(2, 9, 33) == 2 * 16 * 64 + inner.offset(9, 33)


# --- descriptors ------------------------------------------------------------------------------


@given(
    st.integers(0, 0x3FFF),
    st.integers(0, 0x3FFF),
    st.integers(0, 0x3FFF),
    st.sampled_from(WIDTHS),
    st.integers(0, 7),
)
def test_descriptors_survive_encoding(start: int, lead: int, stride: int, width: int, base: int):
    descriptor = MatrixDescriptor(16 * start, 16 * lead, 16 * stride, width, base)
    value = descriptor.encode()
    assert 0 <= value < 1 << 64
    assert MatrixDescriptor.decode(value) == descriptor


def test_fields_of_a_descriptor():
    value = MatrixDescriptor(0x400, 16, 1024, 128).encode()
    assert value & 0x3FFF == 0x40
    assert value >> 16 & 0x3FFF == 1
    assert value >> 32 & 0x3FFF == 64
    assert value >> 62 == 1
    assert MatrixDescriptor(0, 0, 0, 64).encode() >> 62 == 2
    assert MatrixDescriptor(0, 0, 0, 32).encode() >> 62 == 3
    assert MatrixDescriptor(0, 0, 0, 0, 5).encode() == 5 << 49
    with pytest.raises(ValueError, match="stride must be a multiple of 16 below 2\\^18, got 8"):
        MatrixDescriptor(0, 0, 8, 0)
    with pytest.raises(ValueError, match="start must be a multiple of 16 below 2\\^18, got 262144"):
        MatrixDescriptor(1 << 18, 16, 16, 0)
    with pytest.raises(ValueError, match="three bits, got 8"):
        MatrixDescriptor(0, 16, 16, 0, 8)
    assert MatrixDescriptor(0, 16, 1024, 128).moved(32).start == 32


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("rows", [64, 176])
def test_wgmma_reads_a_k_major_tile(width: int, bits: int, rows: int):
    depth = 32 * 8 // bits
    columns = 2 * max(32, width) * 8 // bits
    memory = tile_address((rows, columns), bits, width)
    tile = OperandTile(rows, columns, bits, width)
    height = min(rows, 64)
    for mn in range(0, rows - height + 1, height):
        for k in range(0, columns, depth):
            descriptor = tile.operand(base=4096, mn=mn, k=k)
            for i in range(0, height, 3):
                for j in range(depth):
                    found = read_address(descriptor, i, j, bits, k_major=True)
                    assert found == 4096 + memory(mn + i, k + j)[0]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("depth", [64, 48])
def test_wgmma_reads_an_mn_major_tile(width: int, depth: int):
    bits, across = 16, 192
    memory = tile_address((depth, across), bits, width)
    tile = OperandTile(depth, across, bits, width, k_major=False)
    for mn in (0, 64, 128):
        for k in range(0, depth, 16):
            descriptor = tile.operand(base=2048, mn=mn, k=k)
            for i in range(64):
                for j in range(0, 16, 3):
                    found = read_address(descriptor, i, j, bits, k_major=False)
                    assert found == 2048 + memory(k + j, mn + i)[0]


def test_whole_operands_are_read_once():
    tile = OperandTile(128, 64, 16, 128)
    found = np.array(
        [
            read_address(tile.operand(mn=mn, k=k), i, j, 16, True)
            for mn in (0, 64)
            for k in (0, 16, 32, 48)
            for i in range(64)
            for j in range(16)
        ]
    )
    np.testing.assert_array_equal(np.sort(found), np.arange(0, 128 * 64 * 2, 2))


def test_descriptors_of_the_usual_tiles():
    k_major = OperandTile(128, 64, 16, 128).operand(k=16)
    assert (k_major.start, k_major.leading, k_major.stride) == (32, 16, 1024)
    mn_major = OperandTile(64, 256, 16, 128, k_major=False).operand(k=16)
    assert (mn_major.start, mn_major.leading, mn_major.stride) == (2048, 8192, 1024)
    plain = OperandTile(64, 32, 16, 0).operand(k=16)
    assert (plain.start, plain.leading, plain.stride) == (2 * 1024, 1024, 128)
    with pytest.raises(ValueError, match="only 16-bit operands"):
        OperandTile(64, 64, 8, 64, k_major=False)
    with pytest.raises(ValueError, match="starts at row 4, not a multiple of 8"):
        OperandTile(64, 64, 16, 128).operand(mn=4)
    with pytest.raises(ValueError, match="starts at column 32, not a multiple of 64"):
        OperandTile(64, 128, 16, 128, k_major=False).operand(mn=32)
