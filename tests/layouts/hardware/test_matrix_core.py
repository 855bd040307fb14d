"""Fragments of MFMA and WMMA: every lane and register against the tables and against Triton's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.layouts import triton_oracle
from tests.layouts.hardware.amd_tables import accumulator_point, operand_point
from tests.oracles.layouts.from_linear import fragment_from_linear
from tilewright.dialects.amd.matrix import matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.amd_chips import CHIPS, MatrixInstruction
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.layouts.hardware.mfma import mfma
from tilewright.layouts.hardware.wmma import wmma

MFMA_VERSION = {"gfx90a": 2, "gfx942": 3, "gfx950": 4}
WMMA_VERSION = {"gfx1100": 1, "gfx1201": 2}

INSTRUCTIONS = [
    pytest.param(chip.name, each, id=f"{chip.name}-{each.name}")
    for chip in CHIPS.values()
    for each in chip.instructions
]


@pytest.mark.parametrize(("chip", "instruction"), INSTRUCTIONS)
def test_every_lane_and_register_as_in_the_tables(chip: str, instruction: MatrixInstruction):
    core = matrix_core(instruction)
    assert (core.side, core.side, core.k) == instruction.shape
    assert core.wave == CHIPS[chip].wave
    assert core.width == instruction.width
    assert core.accumulators == instruction.accumulators(core.wave)
    a, b, c, turned = core.a(), core.b(), core.c(), core.c(transpose=True)
    for lane in range(core.wave):
        for register in range(core.width):
            row, depth = operand_point(core, lane, register)
            assert a.inverse(lane, register) == (row, depth)
            assert b.inverse(lane, register) == (depth, row)
        for register in range(core.accumulators):
            row, column = accumulator_point(core, lane, register)
            assert c.inverse(lane, register) == (row, column)
            assert turned.inverse(lane, register) == (column, row)
    for fragment in (a, b, c, turned):
        assert fragment.is_injective()
        assert fragment.is_complete()


def triton_parent(chip: str, core: MatrixCore, waves: tuple[int, int], transpose: bool) -> Any:
    triton_oracle.require()
    from triton.experimental.gluon.language.amd import (  # pyright: ignore[reportMissingTypeStubs]
        AMDMFMALayout,
        AMDWMMALayout,
    )

    if chip in MFMA_VERSION:
        shape = [core.side, core.side, core.k]
        return AMDMFMALayout(MFMA_VERSION[chip], shape, transpose, list(waves))
    bases = [[0, 1 << bit] for bit in range(waves[1].bit_length() - 1)]
    bases += [[1 << bit, 0] for bit in range(waves[0].bit_length() - 1)]
    return AMDWMMALayout(WMMA_VERSION[chip], transpose, bases)


def triton_fragment(layout: Any, shape: tuple[int, int]) -> Fragment:
    return fragment_from_linear(triton_oracle.linear(layout, list(shape)).without_copies())


LAYOUTS = list(
    dict.fromkeys((chip, matrix_core(each)) for chip in CHIPS for each in CHIPS[chip].instructions)
)
KINDS = list({(core.side, core.run): (chip, core) for chip, core in LAYOUTS}.values())


def name_of(each: Any) -> str:
    return f"{each.side}x{each.k}" if isinstance(each, MatrixCore) else str(each)


@pytest.mark.parametrize(("chip", "core"), LAYOUTS, ids=name_of)
def test_every_lane_and_register_as_in_triton(chip: str, core: MatrixCore):
    compare_accumulator(chip, core, (1, 1), 1)
    widths = [core.width // 2, core.width, 2 * core.width]
    if core.copies > 1:
        widths = [core.width]  # each lane has all of K: Triton takes no other
    for k_width in filter(None, widths):
        compare_operands(chip, core, (1, 1), 1, k_width)


@pytest.mark.parametrize(("chip", "core"), KINDS, ids=name_of)
def test_tiles_of_blocks_as_in_triton(chip: str, core: MatrixCore):
    """Triton repeats the tile of all waves, Tilewright gives a wave one rectangle.

    The two agree for one wave, and for one instruction a wave.
    """
    for waves, times in (((1, 1), 2), ((2, 2), 1)):
        compare_accumulator(chip, core, waves, times)
        compare_operands(chip, core, waves, times, core.width)


def compare_accumulator(chip: str, core: MatrixCore, waves: tuple[int, int], times: int) -> None:
    shape = (core.side * waves[0] * times, core.side * waves[1] * times)
    for transpose in (False, True):
        expected = triton_fragment(triton_parent(chip, core, waves, transpose), shape)
        assert_same_elements(core.accumulator(shape, waves, transpose), expected)


def compare_operands(
    chip: str, core: MatrixCore, waves: tuple[int, int], times: int, k_width: int
) -> None:
    kinds = triton_oracle.require()
    parent = triton_parent(chip, core, waves, True)
    depth = max(core.k, k_width * core.groups) * times
    rows = (core.side * waves[0] * times, depth)
    left = triton_fragment(kinds.DotOperandLayout(0, parent, k_width), rows)
    assert_same_elements(core.operand_a(rows, waves, k_width), left)
    columns = (depth, core.side * waves[1] * times)
    right = triton_fragment(kinds.DotOperandLayout(1, parent, k_width), columns)
    assert_same_elements(core.operand_b(columns, waves, k_width), right)


def assert_same_elements(ours: Fragment, expected: Fragment) -> None:
    """Same threads and same registers, of every element."""
    assert ours.shape == expected.shape
    assert ours.num_registers == expected.num_registers
    missing = ours.first_missing(expected)
    assert missing is None, (missing, ours.owners(*missing), expected.owners(*missing))
    assert expected.first_missing(ours) is None


def test_the_comparison_sees_one_wrong_register():
    chip, core = "gfx942", matrix_core(CHIPS["gfx942"].instructions[1])
    expected = triton_fragment(triton_parent(chip, core, (1, 1), False), (16, 16))
    right = core.c()

    def exchanged(i: Any, j: Any) -> Any:
        return right.index(i, j) ^ (i == 5) * (j == 3)

    wrong = right.with_index(exchanged)
    assert_same_elements(right, expected)
    with pytest.raises(AssertionError):
        assert_same_elements(wrong, expected)


@pytest.mark.parametrize(("chip", "core"), LAYOUTS, ids=name_of)
def test_instructions_along_k_take_the_same_k_of_both_operands(chip: str, core: MatrixCore):
    """What makes the permutation of K legal, for every width and each instruction."""
    for k_width in (core.run, core.width, 2 * core.width):
        depth = 2 * max(core.k, k_width * core.groups)
        if not core.is_k_width(k_width, depth):
            continue
        a, b = core.a(depth, k_width), core.b(depth, k_width)
        for first in range(0, a.num_registers, core.width):
            terms: list[int] = []
            for lane in range(0, core.wave // core.copies, core.side):
                for register in range(first, first + core.width):
                    left, right = a.inverse(lane, register), b.inverse(lane, register)
                    assert left is not None and right is not None
                    assert left[1] == right[0]
                    terms.append(left[1])
            assert len(set(terms)) == core.k, (chip, k_width)


@pytest.mark.parametrize(("chip", "core"), KINDS, ids=name_of)
def test_a_transposed_accumulator_as_operand_of_the_next_gemm(chip: str, core: MatrixCore):
    turned = core.c(transpose=True)
    if core.copies > 1:
        assert core.a(core.side) != turned  # gfx11: lanes 16 apart exchange
        return
    operand = core.a(max(core.side, core.k), core.run)
    assert all(
        operand.owners(i, j) == turned.owners(i, j)
        for i in range(core.side)
        for j in range(core.side)
    ), chip


def test_what_no_instruction_can_hold():
    core = mfma(32, 8)
    with pytest.raises(ValueError, match="K = 12 is not divisible into runs of 4"):
        core.a(12)
    with pytest.raises(ValueError, match="K = 16 is not divisible into runs of 16"):
        core.a(16, 16)
    with pytest.raises(ValueError, match="48 is not a multiple of 1 waves x 32"):
        core.accumulator((48, 32), (1, 1))
    with pytest.raises(ValueError, match="MFMA of 8 rows"):
        mfma(8, 8)
    with pytest.raises(ValueError, match="4 elements a lane"):
        wmma(4)


@pytest.mark.parametrize(
    ("core", "bits", "depth", "expected"),
    [
        (mfma(32, 8), 16, 64, 8),
        (mfma(32, 8), 16, 8, 4),
        (mfma(16, 16), 16, 48, 4),
        (mfma(16, 32), 8, 64, 16),
        (mfma(16, 128), 8, 128, 16),
        (mfma(16, 4), 32, 32, 4),
        (wmma(8), 16, 32, 8),
        (wmma(8), 8, 32, 16),
    ],
)
def test_the_widest_access_along_k(core: MatrixCore, bits: int, depth: int, expected: int):
    assert core.widest_k_width(bits, depth) == expected
