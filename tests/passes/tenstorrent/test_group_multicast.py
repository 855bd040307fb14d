"""Multicast: one core reads what a rectangle of cores needs; results and traffic, counted."""

from __future__ import annotations

import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import check, gemm


def test_the_first_example_of_the_design() -> None:
    """8 x 8 blocks of one tile, Kt = 8, 64 cores: 1,024 page reads become 128."""
    module = gemm(256, 256, 256)
    _, alone = compiled(module)
    assert alone.traffic.dram_page_reads == 1024
    plan = check(256, 256, 256, module, seeds=(0, 1), multicast="on")
    assert plan.traffic.dram_page_reads == 128
    assert plan.traffic.multicast_pages == 128
    assert plan.multicast is not None
    groups = plan.multicast.groups
    a = [each for each in groups if each.operand == "A"]
    b = [each for each in groups if each.operand == "B"]
    assert [(each.axis, each.sender, each.dests) for each in a] == [
        ("x", (0, y), (1, y, 7, y)) for y in range(8)
    ]
    assert [(each.axis, each.sender, each.dests) for each in b] == [
        ("y", (x, 0), (x, 1, x, 7)) for x in range(8)
    ]
    assert {each.num_dests for each in groups} == {7}
    assert [each.name for each in plan.multicast.semaphores] == [
        "A_ready",
        "A_valid",
        "B_ready",
        "B_valid",
    ]
    readers = {each.name: len(plan.cores_of(each)) for each in plan.kernels if each.noc == 1}
    assert readers == {
        "reader_A_sender_B_sender": 1,
        "reader_A_receiver_B_sender": 7,
        "reader_A_sender_B_receiver": 7,
        "reader_A_receiver_B_receiver": 49,
    }


@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
def test_chips(chip: str) -> None:
    target = f"tenstorrent:{chip}"
    module = gemm(128, 128, 64)
    plan = check(128, 128, 64, module, seeds=(0, 3), multicast="on", target=target, cores="4x4")
    assert plan.traffic.dram_page_reads == 2 * 4 * 2
