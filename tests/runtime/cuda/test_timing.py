"""Times as the events of a driver with a clock of its own tell them."""

import pytest

from tests.runtime.cuda.fake_clock import Clock
from tilewright.runtime.cuda import timing
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.cuda.timing import Timing, compare, do_bench, estimate
from tilewright.runtime.tile.bench import do_bench as tile_bench


@pytest.fixture
def clock(monkeypatch):
    library = Clock()
    monkeypatch.setattr(timing, "perf_counter", lambda: library.host)
    with using(library):
        yield library


def passing(clock, *times):
    """Something that takes these milliseconds, one after the other and over again."""
    count = 0

    def call():
        nonlocal count
        clock.now += times[count % len(times)]
        count += 1

    return call


def test_the_time_is_between_the_events_and_nothing_else(clock):
    assert do_bench(passing(clock, 4.0), rep_ms=40) == pytest.approx(4.0)
    assert clock.flushes >= 10
    assert clock.flushed_bytes == 2 * 52428800
    assert (clock.freed, clock.alive) == (1, 0)


def test_without_flushing_nothing_is_overwritten(clock):
    do_bench(passing(clock, 4.0), rep_ms=40, flush_l2=False)
    assert clock.flushes == 0


def test_the_median_is_not_moved_by_a_slow_run(clock):
    times = (2.0, 2.0, 2.0, 90.0, 2.0)
    assert do_bench(passing(clock, *times), rep_ms=50) == pytest.approx(2.0)


def test_quantiles_come_in_the_order_they_are_asked_for(clock):
    found = do_bench(passing(clock, 1.0, 2.0, 3.0), rep_ms=120, quantiles=(0.5, 0.0, 1.0))
    assert found == pytest.approx([2.0, 1.0, 3.0], abs=0.05)


def test_quantiles_lie_between_neighbours():
    found = Timing((4.0, 1.0, 2.0, 3.0))
    assert found.median == 2.5
    assert [found.quantile(part) for part in (0.0, 0.5, 1.0)] == [1.0, 2.5, 4.0]
    assert found.quantile(0.1) == pytest.approx(1.3)
    assert str(found) == "2500.00 us (20%: 1600.00, 80%: 3400.00, 4 runs)"


def test_things_that_are_compared_take_turns_and_progress_is_told(clock):
    order, told = [], []

    def named(name, time):
        def call():
            order.append(name)
            clock.now += time

        return call

    calls = {"a": named("a", 2.0), "b": named("b", 5.0)}
    found = compare(
        calls, warmup_ms=0, rep_ms=25, progress=lambda done, total: told.append((done, total))
    )
    assert {name: each.median for name, each in found.items()} == {"a": 2.0, "b": 5.0}
    assert [len(each.times) for each in found.values()] == [5, 5]
    assert order[-10:] == ["a", "b"] * 5
    assert told == [(count, 10) for count in range(1, 11)]


def test_the_buffer_is_freed_when_a_run_fails(clock):
    def call():
        raise KeyError("no")

    with pytest.raises(KeyError):
        do_bench(call)
    assert clock.freed == 1


def test_an_estimate_takes_a_few_runs(clock):
    calls = []
    slow = passing(clock, 80.0, 3.0, 4.0, 5.0, 4.0, 4.0)

    def call():
        calls.append(1)
        slow()

    assert estimate(call) == pytest.approx(4.0)
    assert (len(calls), clock.flushes, clock.alive) == (6, 5, 0)


def test_what_is_clearly_slow_is_measured_briefly(clock):
    calls = []
    four = passing(clock, 4.0)

    def call():
        calls.append(1)
        four()

    assert tile_bench(call, warmup=40, rep=40, early_stop_baseline=3.0) == pytest.approx(4.0)
    assert len(calls) == 6
    assert tile_bench(call, warmup=40, rep=40, early_stop_baseline=5.0) == pytest.approx(4.0)
    assert len(calls) > 6 + 6 + 10


def test_a_slow_host_does_not_count(clock):
    """The GPU overwrites memory until the host has put the run into the queue: 21 us each time."""
    before = []

    def call():
        before.append(clock.flushes)
        clock.host += 100e-6
        clock.now += 4.0

    compare({"it": call}, warmup_ms=0, rep_ms=20)
    per_run = [after - first for first, after in zip(before[-5:], before[-4:], strict=False)]
    assert per_run == [8] * 4  # 150 us


def test_a_host_that_waits_is_not_waited_for_without_end(clock):
    def call():
        clock.host += 1.0
        clock.now += 4.0

    compare({"it": call}, warmup_ms=0, rep_ms=20)
    assert clock.flushes <= 32 * 10
