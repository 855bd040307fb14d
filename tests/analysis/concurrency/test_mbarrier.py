"""Phases, arrivals and bytes of a barrier."""

import pytest

from tilewright.analysis.concurrency import BarrierMisuse, MBarrier


def test_fresh_barrier_lets_parity_one_pass() -> None:
    barrier = MBarrier("b", 1)
    assert barrier.has_passed(1)
    assert not barrier.has_passed(0)


def test_phase_ends_with_last_arrival() -> None:
    barrier = MBarrier("b", 3)
    barrier.arrive(2)
    assert (barrier.phase, barrier.arrived) == (0, 2)
    barrier.arrive()
    assert (barrier.phase, barrier.arrived) == (1, 0)
    assert barrier.has_passed(0)
    assert not barrier.has_passed(1)


def test_phase_waits_for_bytes() -> None:
    barrier = MBarrier("full", 1)
    barrier.arrive_expect_tx(512)
    assert barrier.phase == 0
    assert barrier.missing() == "in phase 0: 512 expected bytes were not completed"
    barrier.complete_tx(256)
    assert barrier.phase == 0
    barrier.complete_tx(256)
    assert barrier.phase == 1


def test_bytes_may_come_before_they_are_announced() -> None:
    barrier = MBarrier("full", 1)
    barrier.complete_tx(64)
    assert barrier.missing() == (
        "in phase 0: 0 of 1 arrivals occurred and 64 completed bytes were not expected"
    )
    barrier.expect_tx(64)
    assert barrier.phase == 0
    barrier.arrive()
    assert barrier.phase == 1


def test_two_arrivals_for_one_are_misuse() -> None:
    barrier = MBarrier("empty[1]", 1)
    barrier.expect_tx(8)
    barrier.arrive()
    with pytest.raises(
        BarrierMisuse, match=r"2 arrivals on empty\[1\] in phase 0.*arrive count is 1"
    ):
        barrier.arrive()


def test_more_threads_than_the_count_are_misuse() -> None:
    with pytest.raises(
        BarrierMisuse, match="128 arrivals on b in phase 0, but its arrive count is 64"
    ):
        MBarrier("b", 64).arrive(128)


def test_counts_have_limits() -> None:
    with pytest.raises(BarrierMisuse, match="arrive count of b is 0"):
        MBarrier("b", 0)
    with pytest.raises(BarrierMisuse, match="transaction count 1048576"):
        MBarrier("b", 1).expect_tx(1 << 20)


def test_further_arrivals_are_for_one_phase() -> None:
    barrier = MBarrier("b", 1)
    barrier.expect_arrivals(2)
    barrier.arrive()
    barrier.arrive()
    assert barrier.phase == 0
    barrier.arrive()
    assert barrier.phase == 1
    barrier.arrive()
    assert barrier.phase == 2
