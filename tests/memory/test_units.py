"""Units, alignments and declared shapes from shapes and layouts (docs/design/storage-alias.md#units)."""

import pytest

from tilewright.memory import (
    POINTER_BITS,
    Buffer,
    Memory,
    Nvmma,
    Padded,
    SharedLinear,
    Swizzled,
    TmemPlaceholder,
    TmemScales,
    TmemTile,
    UnitError,
    smem_buffer,
    tmem_buffer,
)
from tilewright.memory.units import (
    SmemLayout,
    TmemLayout,
    align_up,
    element_bytes,
    smem_alignment,
    smem_unit,
    tmem_alignment,
    tmem_declared_shape,
    tmem_rows,
    tmem_unit,
)


@pytest.mark.parametrize(
    ("bits", "expected"), [(1, 1), (4, 1), (8, 1), (16, 2), (32, 4), (64, 8), (POINTER_BITS, 8)]
)
def test_element_bytes(bits: int, expected: int):
    assert element_bytes(bits) == expected


def test_align_up():
    assert [align_up(value, 8) for value in (0, 1, 7, 8, 9)] == [0, 8, 8, 8, 16]


@pytest.mark.parametrize(
    ("tile", "bits", "layout", "expected"),
    [
        ((64, 64), 32, Swizzled(), 16384),
        ((64, 64), 16, Nvmma(128), 8192),
        ((64, 64), 16, SharedLinear(), 8192),
        ((8, 8), POINTER_BITS, Swizzled(), 512),
        ((), 64, Swizzled(), 8),
        ((128, 64), 8, Nvmma(128, fp4_padded=True), 16384),
        ((64, 64), 16, Padded(((64, 8),)), 2 * (4096 + 64 * 8)),
        ((64, 64), 16, Padded(((64, 8), (512, 4))), 2 * (4096 + 64 * 8 + 8 * 4)),
    ],
)
def test_smem_unit(tile: tuple[int, ...], bits: int, layout: SmemLayout, expected: int):
    assert smem_unit(tile, bits, layout) == expected


def test_padding_that_does_not_divide_the_buffer_has_no_unit():
    with pytest.raises(UnitError, match="every 512 elements does not divide a buffer of 128"):
        smem_unit((2, 64), 16, Padded(((512, 8),)))


@pytest.mark.parametrize(
    ("unit", "layout", "expected"),
    [
        (8192, Nvmma(128), 1024),
        (8192, Nvmma(64), 512),
        (8192, Nvmma(32), 256),
        (8192, Nvmma(0), 128),
        (32, Nvmma(0), 128),
        (8192, Swizzled(), 16),
        (8, Swizzled(), 8),
        (6, Swizzled(), 2),
        (9216, Padded(((64, 8),)), 16),
        (8192, SharedLinear(512), 512),
    ],
)
def test_smem_alignment(unit: int, layout: SmemLayout, expected: int):
    assert smem_alignment(unit, layout) == expected


TILES = [
    # rows, columns, bits, layout, unit, rows used
    (128, 128, 32, TmemTile(128, 128), 128, 128),
    (128, 64, 16, TmemTile(128, 64), 32, 128),
    (128, 64, 16, TmemTile(128, 64, col_stride=2), 64, 128),
    (128, 64, 8, TmemTile(128, 64), 16, 128),
    (256, 64, 32, TmemTile(128, 64), 128, 128),
    (128, 1, 32, TmemTile(128, 1), 1, 128),
    (128, 1, 16, TmemTile(128, 1), 1, 128),
    (64, 128, 32, TmemTile(64, 128), 128, 64),
    (64, 128, 32, TmemTile(64, 64), 64, 128),
    (64, 128, 16, TmemTile(64, 64, col_stride=2), 64, 128),
    (128, 128, 32, TmemTile(64, 128), 128, 128),
    (256, 64, 32, TmemTile(64, 64), 128, 128),
    (64, 128, 32, TmemTile(64, 128, cta_mode="twocta_lhs"), 128, 128),
    (128, 128, 16, TmemTile(64, 128, col_stride=2, cta_mode="twocta_lhs"), 256, 128),
    (64, 128, 32, TmemTile(64, 128, cta_mode="twocta_rhs"), 64, 128),
    (64, 128, 16, TmemTile(64, 128, col_stride=2, cta_mode="twocta_rhs"), 32, 128),
    (128, 128, 32, TmemTile(64, 128, cta_mode="twocta_rhs"), 128, 128),
    (64, 128, 32, TmemTile(64, 128, two_ctas=True), 64, 128),
    (128, 128, 32, TmemTile(64, 128, two_ctas=True), 128, 128),
    (128, 64, 32, TmemTile(128, 64, two_ctas=True), 64, 128),
    (128, 128, 8, TmemTile(128, 128, fp4_padded=True), 64, 128),
    (128, 4, 8, TmemScales(), 4, 128),
    (128, 16, 8, TmemScales(), 16, 128),
    (256, 8, 8, TmemScales(), 16, 128),
    (64, 4, 8, TmemScales(), 2, 128),
    (128, 4, 8, TmemPlaceholder(), 4, 128),
    (32, 8, 8, TmemPlaceholder(), 2, 128),
]


@pytest.mark.parametrize(("rows", "columns", "bits", "layout", "unit", "used"), TILES)
def test_tmem_unit(rows: int, columns: int, bits: int, layout: TmemLayout, unit: int, used: int):
    assert tmem_unit(rows, columns, bits, layout) == unit
    assert tmem_rows(rows, columns, layout) == used


def test_a_tile_smaller_than_its_block_has_no_unit():
    with pytest.raises(UnitError, match="a tile of 64 rows is smaller than its block of 128"):
        tmem_unit(64, 64, 32, TmemTile(128, 64))


def test_tmem_alignment():
    assert tmem_alignment(4, TmemScales()) == 4
    assert tmem_alignment(16, TmemScales()) == 4
    assert tmem_alignment(2, TmemScales()) == 2
    assert tmem_alignment(128, TmemTile(128, 128)) == 1


@pytest.mark.parametrize(
    ("shape", "bits", "layout", "expected"),
    [
        ((128, 64), 16, TmemTile(128, 64), (128, 32)),
        ((128, 64), 16, TmemTile(128, 64, col_stride=2), (128, 32)),
        ((2, 128, 64), 32, TmemTile(128, 64), (128, 128)),
        ((2, 128, 1), 8, TmemTile(128, 1), (128, 1)),
        ((4, 128, 8), 64, TmemTile(128, 8), (128, 64)),
        ((2, 64, 128), 32, TmemTile(64, 128, cta_mode="twocta_rhs"), (128, 128)),
        ((2, 64, 128), 32, TmemTile(64, 128, cta_mode="twocta_lhs"), (128, 256)),
        ((1, 128, 4), 8, TmemScales(), (128, 1)),
    ],
)
def test_declared_shape(
    shape: tuple[int, ...], bits: int, layout: TmemLayout, expected: tuple[int, int]
):
    assert tmem_declared_shape(shape, bits, layout) == expected


def test_smem_buffer():
    buffer = smem_buffer("a", (3, 64, 64), 16, Nvmma(128), source="k.py:7")
    assert buffer == Buffer("a", Memory.SMEM, 3, 8192, 2, 1024, source="k.py:7")
    assert (buffer.packed_size, buffer.span_bits) == (24576, 24576 * 8)
    assert str(buffer) == "a 3x8192 bytes"


def test_tmem_buffer():
    buffer = tmem_buffer("p", (4, 64, 64), 16, TmemTile(64, 64))
    assert (buffer.count, buffer.unit, buffer.rows, buffer.declared) == (4, 32, 64, (64, 128))
    assert (buffer.is_indexed, buffer.span_bits) == (True, 128 * 32)
    assert str(buffer) == "p 4x32 columns"


def test_two_dimensions_of_tensor_memory_are_one_buffer():
    buffer = tmem_buffer("p", (128, 64), 16, TmemTile(128, 64))
    assert (buffer.count, buffer.is_indexed) == (1, False)


def test_one_dimension_of_tensor_memory_is_an_error():
    with pytest.raises(
        UnitError, match="TMEM allocations must be at least 2D, got rank 1"
    ) as error:
        tmem_buffer("p", (128,), 32, TmemTile(128, 1))
    assert error.value.rule == "E1"


def test_a_packed_array_is_as_aligned_as_its_unit():
    assert Buffer("a", Memory.SMEM, 1, 64, alignment=128).packed_alignment == 128
    assert Buffer("a", Memory.SMEM, 2, 64, alignment=128).packed_alignment == 64
    assert Buffer("a", Memory.SMEM, 2, 96, alignment=128).packed_alignment == 32
    assert Buffer("a", Memory.SMEM, 2, 512, alignment=128).packed_alignment == 128


@pytest.mark.parametrize(
    ("memory", "count", "unit", "alignment", "message"),
    [
        (Memory.SMEM, 0, 8, 1, "'a' has 0 buffers of 8"),
        (Memory.SMEM, 1, 0, 1, "'a' has 1 buffers of 0"),
        (Memory.SMEM, 1, 8, 3, "'a' has an invalid alignment: 3"),
        (Memory.TMEM, 1, 24, 1, "'a' is 24 columns wide, not a power of two"),
    ],
)
def test_impossible_buffers(memory: Memory, count: int, unit: int, alignment: int, message: str):
    with pytest.raises(ValueError, match=message):
        Buffer("a", memory, count, unit, alignment=alignment)
