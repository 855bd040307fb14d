"""Fragments of MFMA and WMMA: every lane and register against the tables and against Triton's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.layouts import triton_oracle
from tilewright.dialects.amd.chips import CHIPS, MatrixInstruction
from tilewright.dialects.amd.matrix import matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.matrix_core import MatrixCore

MFMA_VERSION = {"gfx90a": 2, "gfx942": 3, "gfx950": 4}
WMMA_VERSION = {"gfx1100": 1, "gfx1201": 2}

INSTRUCTIONS = [
    pytest.param(chip.name, each, id=f"{chip.name}-{each.name}")
    for chip in CHIPS.values()
    for each in chip.instructions
]


def accumulator_point(core: MatrixCore, lane: int, register: int) -> tuple[int, int]:
    """Row and column of C, as the tables of AMD's manuals have them."""
    if core.wave == 64 and core.side == 32:
        return 8 * (register // 4) + 4 * (lane // 32) + register % 4, lane % 32
    if core.wave == 64:
        return 4 * (lane // 16) + register, lane % 16
    if core.width == 16:
        return 2 * register + lane // 16, lane % 16
    return 8 * (lane // 16) + register, lane % 16


def operand_point(core: MatrixCore, lane: int, register: int) -> tuple[int, int]:
    """Row and depth of A."""
    if core.wave == 32 and core.width == 16:
        return lane % 16, register
    return lane % core.side, core.width * (lane // core.side) + register


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
    return Fragment.from_linear(triton_oracle.linear(layout, list(shape)).without_copies())


LAYOUTS = {(chip, matrix_core(each)): each for chip in CHIPS for each in CHIPS[chip].instructions}


@pytest.mark.parametrize(("chip", "core"), LAYOUTS, ids=lambda each: str(each).split("(")[-1])
def test_every_lane_and_register_as_in_triton(chip: str, core: MatrixCore):
    kinds = triton_oracle.require()
    # Triton repeats the tile of all waves, Tilewright gives a wave one rectangle: the two agree for
    # one wave, and for one instruction a wave.
    for waves, times in (((1, 1), 2), ((2, 2), 1)):
        for transpose in (False, True):
            parent = triton_parent(chip, core, waves, transpose)
            shape = (core.side * waves[0] * times, core.side * waves[1] * times)
            ours = core.accumulator(shape, waves, transpose)
            assert_same_elements(ours, triton_fragment(parent, shape), (chip, core, waves))
        for k_width in k_widths(core):
            parent = triton_parent(chip, core, waves, True)
            depth = core.k * 2
            if not core.is_k_width(k_width, depth):
                continue
            rows = (core.side * waves[0] * times, depth)
            left = triton_fragment(kinds.DotOperandLayout(0, parent, k_width), rows)
            assert_same_elements(core.operand_a(rows, waves, k_width), left, (chip, core, k_width))
            columns = (depth, core.side * waves[1] * times)
            right = triton_fragment(kinds.DotOperandLayout(1, parent, k_width), columns)
            assert_same_elements(core.operand_b(columns, waves, k_width), right, (chip, core))


def k_widths(core: MatrixCore) -> list[int]:
    if core.copies > 1:
        return [core.width]  # each lane has all of K: Triton takes no other
    return [each for each in (core.width // 2, core.width, 2 * core.width) if each]


def assert_same_elements(ours: Fragment, expected: Fragment, about: Any) -> None:
    """Same threads; the same registers too."""
    assert ours.shape == expected.shape
    assert ours.num_registers == expected.num_registers, about
    missing = ours.first_missing(expected)
    assert missing is None, (about, missing, ours.owners(*missing), expected.owners(*missing))
    assert expected.first_missing(ours) is None, about
