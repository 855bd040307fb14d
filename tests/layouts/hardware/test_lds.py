"""Operands in LDS: loads and stores without bank conflicts, for all matrix instructions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.layouts.access_cost import fragment_conflicts
from tests.oracles.layouts.partition import partition
from tilewright.dialects.amd.matrix import matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.amd_chips import CHIPS, Chip
from tilewright.layouts.hardware.banks import BankModel, wavefronts
from tilewright.layouts.hardware.lds import LdsSwizzle, best_swizzle, count
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.layouts.hardware.mfma import mfma
from tilewright.layouts.index_map import Layout

BITS = {"f16": 16, "bf16": 16, "f32": 32, "xf32": 32}
ROW_BYTES = (32, 64, 96, 128, 160, 192, 256, 320, 512)


def cases(row_bytes: tuple[int, ...]) -> list[tuple[Chip, MatrixCore, int, int]]:
    """Every layout of operands of every kind of LDS, with rows of so many bytes."""
    found = {
        (chip.banks, matrix_core(each), size * 8 // bits, bits): chip
        for chip in CHIPS.values()
        for each in chip.instructions
        for bits in (BITS.get(each.a, 8),)
        for size in row_bytes
        if size * 8 // bits % each.k == 0
    }
    return [(chip, core, depth, bits) for (_, core, depth, bits), chip in found.items()]


def cycles(model: BankModel, rows: int, swizzle: LdsSwizzle) -> int:
    """Of the load of a first fragment of A, 16 bytes a lane."""
    addresses: list[int | None] = [
        swizzle.address(lane % rows, 16 * (lane // rows)) for lane in range(64)
    ]
    return wavefronts(addresses, 16, model)


@pytest.mark.parametrize(
    ("rows", "pitch", "plain", "padded", "padded_twice"),
    [
        *((32, 64, 32, 8, 16), (32, 128, 64, 8, 16), (32, 256, 64, 8, 16)),
        *((16, 64, 16, 16, 8), (16, 128, 32, 16, 8), (16, 256, 32, 16, 8)),
    ],
)
def test_cycles_of_loads(rows: int, pitch: int, plain: int, padded: int, padded_twice: int):
    model = CHIPS["gfx942"].banks
    assert cycles(model, rows, LdsSwizzle(pitch)) == plain
    assert cycles(model, rows, LdsSwizzle(pitch, padding_bytes=16)) == padded
    assert cycles(model, rows, LdsSwizzle(pitch, padding_bytes=32)) == padded_twice
    core, depth = mfma(rows, 256 // rows), pitch // 2
    best = best_swizzle(core, depth, 16, model)
    assert best.span > 1
    assert cycles(model, rows, best) == 8


def test_groups_of_consecutive_lanes_would_hide_conflicts():
    padded = LdsSwizzle(128, padding_bytes=16)
    assert cycles(BankModel(32, 64), 16, padded) == 8
    assert cycles(CHIPS["gfx942"].banks, 16, padded) == 16


@pytest.mark.parametrize(
    ("row_bytes", "expected"),
    [
        pytest.param((64, 128), 51, id="common"),
        pytest.param(ROW_BYTES, 219, id="all", marks=pytest.mark.slow),
    ],
)
def test_no_conflicts_for_any_instruction(row_bytes: tuple[int, ...], expected: int):
    """Loads, stores of rows, and stores of transposed tiles whose rows are powers of two."""
    checked = cases(row_bytes)
    assert len(checked) >= expected
    for chip, core, depth, bits in checked:
        for transposed in (False, True):
            best = best_swizzle(core, depth, bits, chip.banks, transposed=transposed)
            loads, stores, turned = count(best, core, depth, bits, chip.banks).conflicts
            about = (chip.name, core, depth, bits, str(best))
            assert (loads, stores) == (0, 0), about
            assert best.padding_bytes == 0, about
            size = depth * bits // 8
            assert turned == 0 or not transposed or size & size - 1, about


def assert_free(chip: Chip, core: MatrixCore, depth: int, bits: int, transposed: bool) -> None:
    """By fragments and layouts, all elements of a tile, not only the addresses of the count."""
    width = core.widest_k_width(bits, depth)
    shape = (2 * core.side, depth)
    best = best_swizzle(core, depth, bits, chip.banks, transposed=transposed)
    tile = best.layout(shape, bits)
    assert tile.is_bijective()
    loads = core.operand_a(shape, (1, 1), width)
    found = fragment_conflicts(loads, tile, bits, model=chip.banks)
    assert found.vector_bytes == min(16, width * bits // 8)
    assert found.conflicts == 0, (chip.name, core, depth, bits, str(found))
    stores = partition(shape, chip.wave, widest=8 * best.chunk_bytes // bits)
    found = fragment_conflicts(stores, tile, bits, model=chip.banks, writes=True)
    assert found.conflicts == 0 or found.vector_bytes < best.chunk_bytes
    if transposed and best.row_bytes & best.row_bytes - 1 == 0:
        assert_free_when_transposed(chip, best, bits, tile)


def assert_free_when_transposed(chip: Chip, best: LdsSwizzle, bits: int, tile: Layout) -> None:
    """Threads hold blocks of 16 bytes along M or N, and write columns of them, 4 bytes and more."""
    rows, depth = tile.shape
    block = 128 // bits
    for width in {16, 8, 4} - {best.chunk_bytes * 2}:
        run = width * 8 // bits

        def thread(i: Any, k: Any, run: int = run) -> Any:
            return (k // run + depth // run * (i // block)) % chip.wave

        def register(i: Any, k: Any, run: int = run) -> Any:
            rest = (k // run + depth // run * (i // block)) // chip.wave
            return k % run + run * (i % block + block * rest)

        stores = Fragment((rows, depth), thread, register)
        found = fragment_conflicts(stores, tile, bits, 8 * width, model=chip.banks, writes=True)
        assert found.vector_bytes == width
        assert found.conflicts == 0, (chip.name, depth, bits, width, str(best))


@pytest.mark.parametrize("name", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_no_conflicts_element_by_element(name: str):
    chosen = [case for case in cases((64,)) if case[0].name == name and case[3] == 16]
    assert chosen
    for chip, core, depth, bits in chosen:
        for transposed in (False, True):
            assert_free(chip, core, depth, bits, transposed)


@pytest.mark.slow
def test_no_conflicts_element_by_element_for_all():
    for chip, core, depth, bits in cases(ROW_BYTES):
        for transposed in (False, True):
            assert_free(chip, core, depth, bits, transposed)


def test_an_exchange_by_the_row_alone_is_not_enough_for_64_banks():
    """Sixteen lanes go together there, of two groups along K."""
    core, model = mfma(16, 32), CHIPS["gfx950"].banks
    by_line = LdsSwizzle(64, rows=4, span=4)
    assert count(by_line, core, 32, 16, model).conflicts[0] > 0
    # Groups of as many lanes, were they consecutive.
    assert count(by_line, core, 32, 16, BankModel(64, 64, 64)).conflicts[0] == 0


def test_short_rows_of_two_blocks_would_be_in_the_same_banks():
    """Without an exchange of rows, where a copy transposes."""
    core, model = mfma(16, 16), CHIPS["gfx942"].banks
    plain = best_swizzle(core, 32, 16, model)
    assert plain.line_rows == 1
    assert count(plain, core, 32, 16, model).conflicts[2] > 0
    assert best_swizzle(core, 32, 16, model, transposed=True).line_rows == 2
    assert best_swizzle(core, 64, 16, model, transposed=True).line_rows == 1


def test_no_exchange_has_conflicts_everywhere():
    """What the counts above would miss if they counted nothing."""
    for chip, core, depth, bits in cases((128,)):
        plain = LdsSwizzle(depth * bits // 8)
        assert count(plain, core, depth, bits, chip.banks).conflicts[0] > 0, (chip.name, core)


def test_rows_that_are_no_multiple_of_a_chunk_stay_as_they_are():
    core, model = mfma(16, 4), CHIPS["gfx942"].banks
    assert best_swizzle(core, 6, 32, model) == LdsSwizzle(24)
    with pytest.raises(ValueError, match="rows have 128 bytes, expected 64"):
        LdsSwizzle(64).layout((16, 64), 16)


def test_what_a_swizzle_prints():
    assert str(LdsSwizzle(64)) == "64 B"
    assert str(LdsSwizzle(64, padding_bytes=16)) == "64 B + 16 B of padding"
    assert str(LdsSwizzle(64, 2, 4)) == "64 B, chunk ^ row / 2 % 4"
    rows = LdsSwizzle(64, 2, 4, line_rows=2, block_rows=8)
    assert str(rows) == "64 B, chunk ^ row / 2 % 4, row ^ row / 8 % 2"
