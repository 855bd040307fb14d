"""Wavefronts in shared memory, against a simulation of the banks in NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layouts import triton_oracle
from tests.oracles.layouts.access_cost import fragment_conflicts, matrix_conflicts, store_c
from tests.oracles.layouts.block_fragments import mma_accumulator, wgmma_accumulator
from tilewright.layouts.encodings import Blocked, NvidiaMma, NvmmaShared, SwizzledShared
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.layouts.hardware.banks import (
    fewest_wavefronts,
    linear_conflicts,
    summed_wavefronts,
    wavefronts,
)
from tilewright.layouts.hardware.matrix_moves import load_a, load_b
from tilewright.layouts.hardware.swizzle import swizzled_tile
from tilewright.layouts.index_map import Layout


def consecutive(lanes: int, banks: int, width: int) -> list[list[int]]:
    count = min(lanes, banks if width <= 4 else 4 * banks // width)
    return [list(range(first, first + count)) for first in range(0, lanes, count)]


def simulated(
    addresses: list[int | None],
    width: int,
    groups: list[list[int]] | None = None,
    banks: int = 32,
) -> int:
    """Serve 32-bit words one wavefront at a time until no lane waits."""
    total = 0
    for lanes in groups or consecutive(32, 32, width):
        waiting: set[int] = set()
        for address in (addresses[lane] for lane in lanes):
            if address is not None:
                waiting |= {(address + byte) // 4 for byte in range(width)}
        while waiting:
            total += 1
            served: dict[int, int] = {}
            for cell in sorted(waiting):
                served.setdefault(cell % banks, cell)
            waiting -= set(served.values())
    return total


def runs(text: str) -> list[int]:
    """``0-3 20-23`` as lanes."""
    found: list[int] = []
    for run in text.split():
        first, last = map(int, run.split("-"))
        found += range(first, last + 1)
    return found


# As measured on the GPUs, lane by lane.
WIDE_READS = {
    "gfx942": [
        *("0-3 20-23", "4-7 16-19", "8-11 28-31", "12-15 24-27"),
        *("32-35 52-55", "36-39 48-51", "40-43 60-63", "44-47 56-59"),
    ],
    "gfx950": [
        *("0-3 12-15 20-27", "4-11 16-19 28-31"),
        *("32-35 44-47 52-59", "36-43 48-51 60-63"),
    ],
    "gfx1100": ["0-3 20-23", "4-7 16-19", "8-11 28-31", "12-15 24-27"],
    "gfx1201": ["0-7", "8-15", "16-23", "24-31"],
}


@pytest.mark.parametrize("name", WIDE_READS)
@given(data=st.data())
def test_wavefronts_of_amd_gpus(name: str, data: st.DataObject):
    model = CHIPS[name].banks
    width = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    writes = data.draw(st.booleans())
    lane = st.one_of(st.none(), st.integers(0, 255))
    units = data.draw(st.lists(lane, min_size=model.lanes, max_size=model.lanes))
    addresses = [None if unit is None else unit * width for unit in units]
    banks = 32 if writes else model.banks
    groups = consecutive(model.lanes, banks, width)
    if width == 16 and not writes:
        groups = list(map(runs, WIDE_READS[name]))
    found = wavefronts(addresses, width, model, writes=writes)
    assert found == simulated(addresses, width, groups, banks)
    assert fewest_wavefronts(addresses, width, model, writes=writes) <= found


@pytest.mark.parametrize("name", WIDE_READS)
def test_wavefronts_of_many_accesses_are_their_sum(name: str):
    model, rng = CHIPS[name].banks, random.Random(7)
    for _ in range(24):
        width, writes = rng.choice([1, 2, 4, 8, 16]), rng.random() < 0.5
        rows = [
            [width * rng.randrange(96) for _ in range(lanes)]
            for lanes in (model.lanes, rng.randrange(model.lanes), 0)
        ]
        assert summed_wavefronts(rows, width, model, writes=writes) == (
            sum(wavefronts(row, width, model, writes=writes) for row in rows),
            sum(fewest_wavefronts(row, width, model, writes=writes) for row in rows),
        )
    with pytest.raises(ValueError, match="multiples of 8"):
        summed_wavefronts([[4]], 8, model)


def test_more_addresses_than_lanes():
    with pytest.raises(ValueError, match="64 addresses for 32 lanes"):
        wavefronts([0] * 64, 4)


@given(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.one_of(st.none(), st.integers(0, 255)), min_size=32, max_size=32),
)
def test_wavefronts_are_what_banks_need(width: int, units: list[int | None]):
    addresses = [None if unit is None else unit * width for unit in units]
    assert wavefronts(addresses, width) == simulated(addresses, width)
    assert fewest_wavefronts(addresses, width) <= wavefronts(addresses, width)


def test_well_known_accesses():
    assert wavefronts([4 * lane for lane in range(32)], 4) == 1
    assert wavefronts([0] * 32, 4) == 1
    assert wavefronts([8 * lane for lane in range(32)], 4) == 2
    assert wavefronts([128 * lane for lane in range(32)], 4) == 32
    assert wavefronts([2 * lane for lane in range(32)], 2) == 1
    assert wavefronts([8 * lane for lane in range(32)], 8) == 2
    assert wavefronts([16 * lane for lane in range(32)], 16) == 4
    assert wavefronts([128 * lane for lane in range(32)], 16) == 32
    assert wavefronts([None] * 32, 4) == 0
    with pytest.raises(ValueError, match="not 12"):
        wavefronts([0], 12)
    with pytest.raises(ValueError, match="multiples of 8"):
        wavefronts([4], 8)


@pytest.mark.parametrize("seed", range(3))
def test_layouts_over_bits_by_simulation(seed: int):
    rng = random.Random(seed)
    counts: set[int] = set()
    for _ in range(12):
        registers = rng.choice(
            [
                Blocked((1, 8), (4, 8), (4, 1), (1, 0)),
                Blocked((4, 1), (8, 4), (4, 1), (0, 1)),
                Blocked((1, 1), (1, 32), (4, 1), (1, 0)),
                NvidiaMma((2, 0), (4, 1), (16, 8)),
                NvidiaMma((3, 0), (4, 1), (16, 64, 16)),
            ]
        ).to_linear([64, 64])
        shared = rng.choice(
            [
                SwizzledShared(1 << rng.randint(0, 3), 1, 1 << rng.randint(0, 3), (1, 0)),
                NvmmaShared(rng.choice((32, 64, 128)), 16, rng.random() < 0.5),
            ]
        ).to_linear([64, 64])
        found = linear_conflicts(registers, shared, 16)
        width = found.vector_bytes // 2
        offset_of = {point: inputs["offset"] for inputs, point in shared.points()}
        chunks: dict[int, dict[int, int]] = {}
        for inputs, point in registers.points():
            if inputs["warp"] == 0:
                chunks.setdefault(inputs["register"], {})[inputs["lane"]] = offset_of[point]
        starts = [
            [2 * chunk[lane] for lane in range(32)]
            for chunk in chunks.values()
            if all(offset % width == 0 for offset in chunk.values())
        ]
        assert len(starts) == found.instructions == registers.in_size("register") // width
        assert found.wavefronts == sum(simulated(list(row), found.vector_bytes) for row in starts)
        counts.add(found.conflicts)
    assert len(counts) > 1


def test_a_swizzle_takes_the_conflicts_away():
    columns = Fragment((64, 64), lambda i, j: i % 32, lambda i, j: i // 32 * 64 + j)
    plain = fragment_conflicts(columns, Layout.row_major((64, 64)), 16)
    swizzled = fragment_conflicts(columns, swizzled_tile((64, 64), 16, 128), 16)
    assert plain.vector_bytes == swizzled.vector_bytes == 16
    assert (plain.fewest, plain.wavefronts) == (64, 512)
    assert (swizzled.wavefronts, swizzled.conflicts) == (64, 0)
    assert plain.ways == 8.0
    assert str(plain) == "16 x 16 B, 512 wavefronts (64 without conflicts)"
    assert str(swizzled) == "16 x 16 B, 64 wavefronts"


@pytest.mark.parametrize("width", [32, 64, 128])
def test_matrix_loads_from_swizzled_tiles(width: int):
    tile = swizzled_tile((64, width // 2), 16, width)
    for move in (load_a(), load_b(), store_c()):
        found = matrix_conflicts(move, tile, 16, row=16)
        assert (found.wavefronts, found.conflicts) == (4, 0)
    plain = matrix_conflicts(load_a(), Layout.row_major((64, width // 2)), 16)
    assert plain.wavefronts == 4 * width // 16


def test_padding_takes_the_conflicts_away():
    tile = Layout.padded((64, 64), 8)
    assert matrix_conflicts(load_a(), tile, 16).conflicts == 0
    assert matrix_conflicts(load_a(), Layout.row_major((64, 64)), 16).ways == 8.0


def test_storing_an_accumulator_of_an_odd_width():
    accumulator = wgmma_accumulator((64, 176))
    plain = fragment_conflicts(accumulator, Layout.row_major((64, 176)), 32)
    assert plain.instructions == 44
    rows = np.arange(8)[:, None] * 176 + 2 * np.arange(4)[None, :]
    lanes = [int(n) * 4 for n in rows.reshape(-1)]
    assert plain.wavefronts == 44 * simulated(lanes, 8)
    staggered = fragment_conflicts(accumulator, Layout.padded((64, 176), 8), 32)
    assert staggered.conflicts < plain.conflicts


def test_warps_differ_only_by_where_they_start():
    accumulator = mma_accumulator((64, 64), (2, 2))
    tile = swizzled_tile((64, 64), 16, 128)
    reports = {fragment_conflicts(accumulator, tile, 16, warp=warp) for warp in range(4)}
    assert len(reports) == 1


@pytest.mark.parametrize("bits", [16, 32])
def test_conflicts_are_those_that_triton_counts(bits: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # fmt: skip
    kinds = triton_oracle.require()
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    triton_banks = pytest.importorskip("tests.layouts.triton_banks")
    counts: set[int] = set()
    for registers in (
        ((1, 4), (8, 4), (4, 1), (1, 0)),
        ((1, 8), (4, 8), (4, 1), (1, 0)),
        ((4, 1), (8, 4), (2, 2), (0, 1)),
        ((1, 1), (32, 1), (1, 4), (0, 1)),
        ((2, 2), (4, 8), (2, 2), (1, 0)),
    ):
        for parameters, order in (
            ((1, 1, 1), (1, 0)),
            ((8, 1, 8), (1, 0)),
            ((4, 2, 4), (0, 1)),
            ((2, 1, 4), (1, 0)),
        ):
            ours = linear_conflicts(
                Blocked(*registers).to_linear([64, 64]),
                SwizzledShared(*parameters, order).to_linear([64, 64]),
                bits,
            )
            right = triton_banks.conflicts(
                kinds.BlockedLayout(*(list(each) for each in registers)),
                kinds.SwizzledSharedLayout(*parameters, list(order)),
                [64, 64],
                bits,
                capsys,
            )
            assert ours.ways == right + 1, (registers, parameters, order)
            counts.add(right)
    assert len(counts) > 3
