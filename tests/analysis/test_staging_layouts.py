"""Layouts of tiles in registers: every element in one register of one thread, wide on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.analysis.layout_inference.shares import Share
from tilewright.analysis.layout_inference.staging import direct, transposed

SHAPES = [(32, 128), (64, 128), (64, 256), (16, 64), (128, 128), (64, 48)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [64, 128, 256])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_transposing_copy_reads_rows_and_writes_columns(
    shape: tuple[int, int], threads: int, size: int
) -> None:
    staging = transposed(shape, threads, size)
    assert staging is not None
    assert staging.store is not None
    fragment, store = staging.fragment, staging.store
    assert fragment.collision() is None
    assert fragment.num_threads <= threads
    # The loop that writes is run by the threads that hold the elements.
    assert np.array_equal(store.owners[..., 0], fragment.owners[..., 0].T)
    read, write = Share.of(fragment, is_wide=True), Share.of(store, is_wide=True)
    assert write.lanes * size >= 4
    # Registers of consecutive elements of a column are evenly spaced: one per row of the block.
    of_lane = write.register(fragment.registers.T).of_lane
    steps = [int(of_lane.evaluate((lane,))) for lane in range(write.lanes)]
    assert steps == list(range(0, write.lanes * read.lanes, read.lanes))
    is_even = all(extent & (extent - 1) == 0 for extent in shape)
    if is_even and shape[0] * shape[1] * size >= threads * 64:
        assert read.lanes * size == 16


def test_lanes_of_a_wave_use_whole_rows_of_shared_memory() -> None:
    """Lanes that follow each other write a whole column, and read 64 bytes of each row at least."""
    staging = transposed((64, 256), 256, 2)
    assert staging is not None
    owners, registers = staging.fragment.owners[..., 0], staging.fragment.registers
    rows, columns = np.nonzero((owners < 64) & (registers == 0))
    assert np.array_equal(np.unique(rows), np.arange(0, 64, 8))
    for row in np.unique(rows):
        starts = np.sort(columns[rows == row])
        assert np.array_equal(starts, np.arange(len(starts)) * 8)
        assert len(starts) * 16 >= 64


@pytest.mark.parametrize(("shape", "threads"), [((33, 17), 128), ((24, 40), 256), ((48, 40), 128)])
def test_a_tile_that_does_not_divide_evenly_has_no_layout(
    shape: tuple[int, int], threads: int
) -> None:
    assert direct(shape, threads, 2) is None


def test_a_small_tile_is_read_once() -> None:
    staging = direct((16, 32), 128, 2)
    assert staging is not None
    assert staging.fragment.replicas == 1
    assert staging.fragment.num_threads * staging.fragment.num_registers == 512
