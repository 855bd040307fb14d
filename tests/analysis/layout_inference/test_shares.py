"""The share of a thread in a loop: its formulas yield every iteration, once."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.analysis.layout_inference.shares import Share
from tilewright.analysis.layout_inference.table import NotALayout, Table


def iterations(share: Share, threads: int) -> list[tuple[int, ...]]:
    """All iterations that threads run, by the formulas."""
    found: list[tuple[int, ...]] = []
    for thread in range(threads):
        for round_index in range(share.rounds):
            axes = range(len(share.shape))
            first = [int(share.coordinate(axis).evaluate((thread, round_index))) for axis in axes]
            for lane in range(share.lanes):
                point = (*first[:-1], first[-1] + lane)
                inside = zip(point, share.shape, strict=True)
                if all(at < size for at, size in inside):
                    found.append(point)
    return found


@pytest.mark.parametrize(
    ("table", "shape", "lanes"),
    [
        (Table.rows((4, 1000), 128, 8, max_threads=32), (4, 1000), 8),
        (Table.rows((7, 50), 96, 2), (7, 50), 2),
        (Table.free((12, 40), 128, 1), (480,), 1),
        (Table.rows((4, 3, 70), 128, 2), (12, 70), 2),
        (Table.free((64, 64), 128, 4), (64, 64), 4),
    ],
)
def test_every_iteration_is_run_once(table: Table, shape: tuple[int, ...], lanes: int) -> None:
    share = Share.of(table, is_wide=True)
    assert (share.shape, share.lanes) == (shape, lanes)
    found = iterations(share, table.num_threads)
    assert sorted(found) == sorted(np.ndindex(shape))


def test_a_loop_whose_rows_go_backwards_has_no_formula() -> None:
    table = Table.free((12, 4), 32, 1)
    turned = Table(table.owners[::-1], table.registers[::-1])
    with pytest.raises(NotALayout):
        Share.of(turned, is_wide=True)


@pytest.mark.parametrize("packed", [2, 4, 8])
def test_lanes_that_share_a_register(packed: int) -> None:
    """Bytes of several elements: only lanes with registers at even distances had a formula."""
    share = Share.of(Table.free((16, 64), 32, 8), is_wide=True)
    bytes = Table.free((16, 64 // packed), 32, 8 // packed)
    row, column = np.indices((16, 64))
    registers = bytes.registers[row, column // packed]
    found = share.register(registers)
    for thread in range(32):
        for each in range(share.rounds):
            first = [int(share.coordinate(axis).evaluate((thread, each))) for axis in (0, 1)]
            for lane in range(share.lanes):
                register = int(found.of_round.evaluate((each,))) + int(
                    found.of_lane.evaluate((lane,))
                )
                assert register == registers[first[0], first[1] + lane]


def test_lanes_in_another_order_in_each_round_have_no_formula() -> None:
    share = Share.of(Table.free((16, 64), 32, 8), is_wide=True)
    row, column = np.indices((16, 64))
    with pytest.raises(NotALayout, match="lanes of different rounds"):
        share.register(np.where(row // 4 % 2, column % 8, 7 - column % 8) + row // 4 * 8)
