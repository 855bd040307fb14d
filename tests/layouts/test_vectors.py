"""Vector widths and coalescing, against going through every byte."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.oracles.layouts.access_cost import fragment_access, global_access, row_major_strides
from tests.oracles.layouts.block_fragments import mma_accumulator
from tests.oracles.layouts.from_linear import fragment_from_linear, layout_from_linear
from tilewright.layouts.encodings import Blocked, NvidiaMma, NvmmaShared, SwizzledShared
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import LANE, OFFSET, REGISTER, WARP, LinearLayout
from tilewright.layouts.vectors import linear_access, widest_vector


def into(registers: LinearLayout, shared: LinearLayout) -> LinearLayout:
    access = registers.invert_and_compose(shared)
    return access.sublayout([REGISTER, LANE, WARP], [OFFSET])


def widest_by_trying(access: LinearLayout, bits: int, limit: int) -> int:
    """The widest power of two for which thread 0's grouping of registers suits every thread."""
    table = np.array(access.table()).reshape(-1, access.in_size(REGISTER))
    best = 1
    while best * 2 * bits <= limit and best * 2 <= table.shape[1]:
        width = best * 2
        groups: dict[int, list[int]] = {}
        for register in np.argsort(table[0]):
            groups.setdefault(int(table[0, register]) // width, []).append(int(register))
        for group in groups.values():
            runs = table[:, group]
            if len(group) != width or (runs[:, 0] % width).any():
                return best
            if (runs - runs[:, :1] != np.arange(width)).any():
                return best
        best = width
    return best


@pytest.mark.parametrize("seed", range(3))
def test_the_widest_vector_by_trying(seed: int):
    rng = random.Random(seed)
    seen: set[int] = set()
    for _ in range(25):
        order = rng.choice([(0, 1), (1, 0)])
        registers = Blocked(
            (rng.choice((1, 2, 4)), rng.choice((1, 2, 4, 8))),
            rng.choice([(8, 4), (4, 8), (32, 1), (1, 32)]),
            rng.choice([(4, 1), (2, 2)]),
            order,
        ).to_linear([64, 64])
        shared = rng.choice(
            [
                SwizzledShared(rng.choice((1, 2, 4, 8)), 1, 8, rng.choice([(0, 1), (1, 0)])),
                NvmmaShared(128, 16, rng.random() < 0.5),
            ]
        ).to_linear([64, 64])
        if not registers.is_injective():
            continue
        access = into(registers, shared)
        found = widest_vector(access, 16)
        assert found == widest_by_trying(access, 16, 128)
        seen.add(found)
    assert len(seen) > 2


def test_a_vector_is_never_wider_than_requested():
    row = LinearLayout.of({REGISTER: [(1,), (2,), (4,), (8,)], LANE: [(16,)]}, {OFFSET: 32})
    assert widest_vector(row, 16) == 8
    assert widest_vector(row, 32) == 4
    assert widest_vector(row, 16, limit=32) == 2
    assert widest_vector(row, 8) == 16
    shared_row = LinearLayout.of({REGISTER: [(1,)], LANE: [(1,), (2,)]}, {OFFSET: 4})
    assert widest_vector(shared_row, 16) == 1  # lanes hold copies of both halves


def test_each_element_of_a_warp_moves_once():
    registers = NvidiaMma((2, 0), (4, 1), (16, 8)).to_linear([64, 64])
    access = into(registers, SwizzledShared(8, 1, 8, (1, 0)).to_linear([64, 64]))
    found = linear_access(access, 16)
    assert found.width == 2
    moved = [
        start + part for instruction in found.access for start in instruction for part in range(2)
    ]
    first_warp = [point[0] for inputs, point in access.points() if inputs[WARP] == 0]
    assert sorted(moved) == sorted(first_warp)


def test_fragments_and_layouts_over_bits_agree():
    registers = Blocked((1, 8), (4, 8), (4, 1), (1, 0)).to_linear([64, 64])
    shared = NvmmaShared(128, 16).to_linear([64, 64])
    linear = linear_access(into(registers, shared), 16)
    general = fragment_access(fragment_from_linear(registers), layout_from_linear(shared), 16)
    assert general.width == linear.width == 8
    assert sorted(general.access) == sorted(linear.access)


def test_fragments_of_odd_sizes():
    accumulator = mma_accumulator((16, 88), (1, 1))
    found = fragment_access(accumulator, Layout.row_major((16, 88)), 32)
    assert found.width == 2
    assert len(found.access) == 16 * 88 // 32 // 2
    assert found.access[1][:2] == (8 * 88, 8 * 88 + 2)
    padded = fragment_access(accumulator, Layout.padded((16, 88), 1), 32)
    assert padded.width == 1  # rows of 89 are not aligned


def test_a_wave_of_64_lanes_is_one_instruction():
    rows = Fragment((128, 4), lambda i, j: i, lambda i, j: j)
    found = fragment_access(rows, Layout.row_major((128, 4)), 32, warp=1, warp_size=64)
    assert found.access == (tuple(range(256, 512, 4)),)


def test_idle_lanes_do_not_widen_or_break_vectors():
    half = Fragment((16, 4), lambda i, j: i, lambda i, j: j)
    found = fragment_access(half, Layout.row_major((16, 4)), 32)
    assert found.width == 4
    assert found.access[0][15:17] == (60, None)


def brute_force(registers: LinearLayout, strides: tuple[int, ...], size: int, width: int) -> tuple[int, int]:  # fmt: skip
    """Sectors and lines of warp 0, from the layout's own table of points."""
    lanes: dict[int, dict[int, int]] = {}
    for inputs, point in registers.points():
        if inputs[WARP] == 0:
            offset = sum(p * s for p, s in zip(point, strides, strict=True))
            lanes.setdefault(inputs[REGISTER], {})[inputs[LANE]] = offset * size
    sectors = lines = 0
    for register in range(0, len(lanes), width):
        accessed = {
            byte
            for step in range(width)
            for offset in lanes[register + step].values()
            for byte in range(offset, offset + size)
        }
        sectors += len({byte // 32 for byte in accessed})
        lines += len({byte // 128 for byte in accessed})
    return sectors, lines


@pytest.mark.parametrize(
    ("encoding", "strides", "coalesced", "vector"),
    [
        (Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (64, 1), False, 16),
        (Blocked((1, 4), (2, 16), (4, 1), (1, 0)), (64, 1), True, 16),
        (Blocked((1, 1), (1, 32), (4, 1), (1, 0)), (64, 1), True, 4),
        (Blocked((1, 1), (32, 1), (1, 4), (0, 1)), (64, 1), False, 4),
        (Blocked((1, 1), (32, 1), (1, 4), (0, 1)), (1, 64), True, 4),
        (NvidiaMma((2, 0), (4, 1), (16, 8)), (64, 1), True, 8),
    ],
)
def test_sectors_by_counting_bytes(encoding: Blocked | NvidiaMma, strides: tuple[int, int], coalesced: bool, vector: int):  # fmt: skip
    registers = encoding.to_linear([64, 64])
    found = global_access(registers, strides, 32)
    assert found.vector_bytes == vector
    assert (found.sectors, found.lines) == brute_force(registers, strides, 4, vector // 4)
    assert found.bytes_used == 64 * 64 * 4 // 4
    if coalesced:
        assert found.is_coalesced
        assert found.efficiency == 1.0


def test_columns_waste_seven_eighths_of_a_sector():
    registers = Blocked((1, 1), (32, 1), (1, 4), (0, 1)).to_linear([64, 64])
    found = global_access(registers, (64, 1), 32)
    assert not found.is_coalesced
    assert found.efficiency == 4 / 32
    assert found.sectors == 32 * found.instructions


def test_alignment_limits_the_vector():
    registers = Blocked((1, 4), (2, 16), (4, 1), (1, 0)).to_linear([64, 64])
    assert global_access(registers, (64, 1), 32, alignment_bytes=8).vector_bytes == 8
    assert global_access(registers, (66, 1), 32).vector_bytes == 8


def test_dense_strides():
    assert row_major_strides((3, 5, 7)) == (35, 7, 1)
