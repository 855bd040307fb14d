"""The checker, fed events by hand: what it finds, and that it keeps quiet where all is ordered.

Places are plain numbers; a test names the two it expects.
"""

from __future__ import annotations

from tilewright.analysis.ordering import Agent, Checker, PossibleSignal, byte_range
from tilewright.analysis.ordering.regions import ByteRegion

TILE = byte_range("smem", "a[0]", 0, 64)
MAKE, WRITE, READ, ARRIVE, WAIT, EXPECT, LOAD, AGAIN = range(8)


def two_tasks(**options: object) -> tuple[Checker, Agent, Agent]:
    checker = Checker(**options)  # type: ignore[arg-type]
    checker.memory("smem", "shared memory", 256)
    main = checker.task("default")
    for name in ("full", "empty"):
        checker.init(main, name, f"{name}[0]", name, 1, MAKE)
    return checker, main, checker.task("partition0", main)


def places(checker: Checker) -> list[tuple[str, int, int]]:
    """Kind and places of the two accesses, the other one first."""
    return [
        (each.kind, each.first.site, each.second.site)
        for each in checker.findings()
        if each.first is not None and each.second is not None
    ]


def hand_over(checker: Checker, giver: Agent, taker: Agent, parity: int = 0) -> None:
    checker.arrive(giver, "full", 1, ARRIVE)
    checker.phase("full")
    checker.waited(taker, "full", parity, WAIT)


def test_a_barrier_orders_a_write_before_a_read() -> None:
    checker, main, other = two_tasks()
    checker.access(other, "write", TILE, "generic", WRITE)
    hand_over(checker, other, main)
    checker.access(main, "read", TILE, "generic", READ)
    assert checker.findings() == []


def test_a_lucky_order_is_no_order() -> None:
    """The write came first in this run, and nobody waited for it."""
    checker, main, other = two_tasks()
    checker.access(other, "write", TILE, "generic", WRITE)
    checker.arrive(other, "full", 1, ARRIVE)
    checker.phase("full")
    checker.access(main, "read", TILE, "generic", READ)
    assert places(checker) == [("wait", WRITE, READ)]
    (finding,) = checker.findings()
    assert finding.size_bytes == 64
    assert finding.cause.missing == (
        "default does not wait for the phase of full[0] that orders them"
    )
    assert (finding.cause.fix.text, finding.cause.fix.site) == (
        "call tlx.barrier_wait on full (parity 0) before this",
        READ,
    )


def test_without_any_arrival_it_is_a_race() -> None:
    checker, main, other = two_tasks()
    checker.access(other, "write", TILE, "generic", WRITE)
    checker.access(main, "read", TILE, "generic", READ)
    (finding,) = checker.findings()
    assert finding.message == (
        "data race: read of a[0] by default and write of a[0] by partition0 access the same 64 "
        "bytes of shared memory, and nothing orders them"
    )
    assert finding.cause.fix.site == WRITE


def test_the_other_parity_may_pass_at_once() -> None:
    """Two phases have ended when the wait for parity 1 comes: it could have passed before both."""
    checker, main, other = two_tasks()
    for start in (0, 64):
        region = byte_range("smem", "a[0]", start, start + 64)
        checker.access(other, "write", region, "generic", WRITE)
        checker.arrive(other, "full", 1, ARRIVE)
        checker.phase("full")
    checker.waited(main, "full", 1, WAIT)
    checker.access(main, "read", TILE, "generic", READ)
    (finding,) = checker.findings()
    assert finding.kind == "phase"
    assert (finding.cause.fix.text, finding.cause.fix.site) == ("wait for parity 0 here", WAIT)


def test_a_wait_is_not_sure_of_later_phases() -> None:
    """The barrier happened to be three phases on; parity 0 is sure of the first of them only."""
    checker, main, other = two_tasks()
    for number in range(3):
        region = byte_range("smem", f"a[{number}]", 64 * number, 64 * number + 64)
        checker.access(other, "write", region, "generic", WRITE + 10 * number)
        checker.arrive(other, "full", 1, ARRIVE)
        checker.phase("full")
    checker.waited(main, "full", 0, WAIT)
    checker.access(main, "read", TILE, "generic", READ)
    assert checker.findings() == [] or checker.findings()[0].first is None
    late = byte_range("smem", "a[2]", 128, 192)
    checker.access(main, "read", late, "generic", READ)
    assert [pair[1:] for pair in places(checker)] == [(WRITE + 20, READ)]


def test_an_arrival_before_the_access_does_not_cover_it() -> None:
    checker, main, other = two_tasks()
    checker.arrive(other, "full", 1, ARRIVE)
    checker.phase("full")
    checker.access(other, "write", TILE, "generic", WRITE)
    checker.waited(main, "full", 0, WAIT)
    checker.access(main, "read", TILE, "generic", READ)
    assert places(checker) == [("race", WRITE, READ)]
    (finding,) = checker.findings()
    assert finding.cause.missing == (
        "partition0 arrives on full[0] before the write of a[0], so the phase that default waits "
        "for does not cover it"
    )
    assert finding.cause.fix.site == ARRIVE


def test_an_operation_is_done_only_when_waited_for() -> None:
    checker, main, other = two_tasks()
    checker.access(main, "write", TILE, "async", WRITE)
    product = checker.issue(main, "the product with a[0]", "wgmma of default", in_order=True)
    checker.access(product, "read", TILE, "async", READ)
    checker.arrive(main, "empty", 1, ARRIVE)
    checker.phase("empty")
    checker.waited(other, "empty", 0, WAIT)
    checker.access(other, "write", TILE, "generic", AGAIN)
    (finding,) = checker.findings()
    assert finding.kind == "wait"
    assert (finding.cause.fix.text, finding.cause.fix.site) == (
        "call tlx.async_dot_wait before this",
        ARRIVE,
    )


def test_an_operation_that_was_waited_for_is_ordered() -> None:
    checker, main, other = two_tasks()
    checker.access(main, "write", TILE, "async", WRITE)
    product = checker.issue(main, "the product with a[0]", "wgmma of default", in_order=True)
    checker.access(product, "read", TILE, "async", READ)
    checker.join(main, [product])
    checker.arrive(main, "empty", 1, ARRIVE)
    checker.phase("empty")
    checker.waited(other, "empty", 0, WAIT)
    checker.access(other, "write", TILE, "generic", AGAIN)
    assert checker.findings() == []


def test_engines_in_order_follow_each_other_per_issuer() -> None:
    checker, main, other = two_tasks()
    for issuer in (main, main, other):
        product = checker.issue(issuer, "a product", "tcgen05", in_order=True)
        checker.access(product, "write", TILE, "tensor", WRITE if issuer is main else AGAIN)
    assert [pair[1:] for pair in places(checker)] == [(WRITE, AGAIN)]


def stored(checker: Checker, task: Agent) -> None:
    checker.access(task, "write", TILE, "generic", WRITE)


def test_a_store_needs_a_fence_before_an_engine_reads() -> None:
    checker, main, _ = two_tasks()
    stored(checker, main)
    copy = checker.issue(main, "the TMA store of a[0]", "tma stores")
    checker.access(copy, "read", TILE, "async", READ)
    (finding,) = checker.findings()
    assert (finding.kind, finding.cause.fix.site) == ("fence", WRITE)
    assert finding.message.endswith(
        "access the same 64 bytes of shared memory, without an async proxy fence between them"
    )


def test_a_fence_counts_only_after_the_store_and_travels_with_barriers() -> None:
    for fences in ((True, False), (False, True), (False, False)):
        checker, main, other = two_tasks()
        if fences[0]:
            checker.fence(other)
        stored(checker, other)
        if fences[1]:
            checker.fence(other)
        hand_over(checker, other, main)
        copy = checker.issue(main, "the TMA store of a[0]", "tma stores")
        checker.access(copy, "read", TILE, "async", READ)
        assert [each.kind for each in checker.findings()] == ([] if fences[1] else ["fence"])


def alias(name: str, start: int, end: int) -> ByteRegion:
    return byte_range("smem", name, start, end, owner=name)


def test_different_buffers_may_share_bytes() -> None:
    checker, main, other = two_tasks()
    checker.access(main, "write", alias("p", 32, 96), "generic", WRITE)
    checker.access(other, "write", alias("qk", 0, 64), "generic", AGAIN)
    (finding,) = checker.findings()
    assert finding.size_bytes == 32
    assert finding.notes[0].text == "p and qk are different buffers that overlap"


def test_a_value_that_another_buffer_overwrote_is_reported() -> None:
    checker, main, _ = two_tasks()
    for name, deed, place in (("qk", "write", WRITE), ("p", "write", AGAIN), ("qk", "read", READ)):
        start = 32 if name == "p" else 0
        region = alias(name, start, start + 64)
        assert deed in ("read", "write")
        access = checker.access(main, deed, region, "generic", place)  # type: ignore[arg-type]
        checker.takes_effect(access, main)
    assert places(checker) == [("overwritten", AGAIN, READ)]
    (finding,) = checker.findings()
    assert finding.message == (
        "overwritten value: read of qk by default returns 32 bytes of shared memory that p has "
        "overwritten"
    )


def test_bytes_that_come_after_the_phase_were_not_announced() -> None:
    checker, main, other = two_tasks()
    checker.expect(other, "full", 64, EXPECT)
    checker.arrive(other, "full", 1, EXPECT)
    loads = [
        checker.issue(other, f"the TMA load into {name}[0]", "tma", barriers=("full",))
        for name in "ab"
    ]
    checker.deliver(loads[0], "full", 64, LOAD)
    checker.phase("full")
    checker.waited(main, "full", 0, WAIT)
    checker.deliver(loads[1], "full", 64, AGAIN)
    (finding,) = checker.findings()
    assert (finding.kind, finding.site) == ("bytes", EXPECT)
    assert finding.cause.fix.text == "expect 128 bytes here"


def test_a_barrier_made_by_an_unordered_task_may_not_be_there() -> None:
    checker = Checker()
    checker.memory("smem", "shared memory", 64)
    here, there = checker.task("CTA 0 default"), checker.task("CTA 1 default")
    checker.init(there, "full", "full[0]", "full", 1, MAKE)
    checker.arrive(here, "full", 1, ARRIVE)
    (finding,) = checker.findings()
    assert (finding.kind, finding.site, finding.cause.fix.site) == ("init", ARRIVE, MAKE)


def test_barriers_of_threads_order_all_who_came() -> None:
    checker, main, other = two_tasks()
    checker.access(main, "write", TILE, "generic", WRITE)
    for task in (main, other):
        checker.came(task, "bar", 1)
    for task in (main, other):
        checker.went(task, "bar", 1)
    checker.access(other, "read", TILE, "generic", READ)
    assert checker.findings() == []


def test_too_few_arrivals_let_a_second_reader_be_overtaken() -> None:
    checker, main, first = two_tasks()
    second = checker.task("partition1", main)
    checker.access(main, "write", TILE, "generic", WRITE)
    checker.came(main, "start", 1)
    for reader in (first, second):
        checker.went(reader, "start", 1)
        checker.access(reader, "read", TILE, "generic", READ)
        checker.arrive(reader, "empty", 1, ARRIVE)
        checker.phase("empty")
    checker.waited(main, "empty", 0, WAIT)
    checker.access(main, "write", TILE, "generic", AGAIN)
    (finding,) = checker.findings()
    assert (finding.kind, finding.cause.fix.text, finding.cause.fix.site) == (
        "count",
        "use arrive_count=2",
        MAKE,
    )


def test_a_second_arrival_without_a_wait_comes_too_soon() -> None:
    checker, main, other = two_tasks()
    checker.waiting(main, "full")
    checker.expect(other, "full", 64, EXPECT)
    checker.arrive(other, "full", 1, EXPECT)
    load = checker.issue(other, "the TMA load into a[0]", "tma", barriers=("full",))
    checker.deliver(load, "full", 64, LOAD)
    checker.phase("full")
    checker.arrive(other, "full", 1, AGAIN)
    (finding,) = checker.findings()
    assert (finding.kind, finding.site) == ("wait", AGAIN)
    assert finding.cause.missing == (
        "nothing orders partition0 after the completion of phase 0 of full[0] (arrive count 1)"
    )


def test_a_barrier_must_not_run_ahead_of_a_wait() -> None:
    """Two phases end one after the other; had the wait come after both, it would not pass."""
    checker, main, other = two_tasks()
    for place in (ARRIVE, AGAIN):
        checker.arrive(other, "full", 1, place)
        checker.phase("full")
        if place == ARRIVE:
            checker.waited(main, "full", 0, WAIT)
    (finding,) = checker.findings()
    assert (finding.kind, finding.site, finding.cause.fix.site) == ("wait", WAIT, AGAIN)
    assert finding.cause.missing == (
        "phase 1 of full[0] may complete before default reaches its wait for parity 0, which then "
        "does not pass"
    )


def test_a_barrier_that_waits_for_the_wait_is_fine() -> None:
    checker, main, other = two_tasks()
    for parity in (0, 1):
        hand_over(checker, other, main, parity)
        checker.arrive(main, "empty", 1, ARRIVE)
        checker.phase("empty")
        checker.waited(other, "empty", parity, WAIT)
    assert checker.findings() == []


# Tasks that wait for ever.


def test_stuck_for_bytes() -> None:
    checker, main, other = two_tasks()
    checker.expect(other, "full", 128, EXPECT)
    checker.arrive(other, "full", 1, EXPECT)
    load = checker.issue(other, "the TMA load into a[0]", "tma", barriers=("full",))
    checker.deliver(load, "full", 64, LOAD)
    finding = checker.deadlock([(main, "full", 0, WAIT)])
    assert finding is not None
    assert (finding.kind, finding.cause.fix.text, finding.cause.fix.site) == (
        "bytes",
        "expect 64 bytes here",
        EXPECT,
    )


def test_stuck_for_bytes_that_nobody_brings() -> None:
    checker, main, other = two_tasks()
    checker.expect(other, "full", 128, EXPECT)
    checker.arrive(other, "full", 1, EXPECT)
    finding = checker.deadlock([(main, "full", 0, WAIT)])
    assert finding is not None
    assert (finding.kind, finding.cause.fix.site) == ("bytes", EXPECT)
    assert finding.cause.missing == ("128 bytes expected on full[0] in phase 0, 0 completed")


def test_stuck_in_a_circle_beside_one_who_only_suffers() -> None:
    """`done` is waited for too, but whoever waits for it helps nobody."""
    signals = {
        "done": [PossibleSignal("partition0", AGAIN, "ttng.tc_gen5_commit")],
        "full": [PossibleSignal("partition1", EXPECT, "ttng.barrier_expect")],
        "empty": [PossibleSignal("partition0", ARRIVE, "ttng.tc_gen5_mma")],
    }
    checker, main, products = two_tasks(signals=signals.__getitem__)
    checker.init(main, "done", "done[0]", "done", 1, MAKE)
    loads = checker.task("partition1", main)
    waits = [(main, "done", 0, READ), (products, "full", 0, WAIT), (loads, "empty", 0, AGAIN)]
    finding = checker.deadlock(waits)
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("phase", AGAIN, "empty")


def test_stuck_for_the_wrong_parity() -> None:
    checker, main, other = two_tasks()
    checker.arrive(other, "full", 1, ARRIVE)
    checker.phase("full")
    finding = checker.deadlock([(main, "full", 1, WAIT)])
    assert finding is not None
    assert (finding.kind, finding.cause.fix.text) == ("phase", "wait for parity 0 here")


def test_the_parity_of_a_later_phase_is_not_constant() -> None:
    """A loop that waits for parity 0 each time: parity 1 each time would be wrong in phase 0."""
    checker, main, other = two_tasks()
    for _ in range(2):
        checker.arrive(other, "full", 1, ARRIVE)
        checker.phase("full")
    checker.waited(main, "full", 0, WAIT)
    finding = checker.deadlock([(main, "full", 0, WAIT)])
    assert finding is not None
    fix = finding.cause.fix.text
    assert (finding.kind, fix) == (
        "phase",
        "the parity alternates: wait here for parity n & 1 in use n of the slot (n = 0, 1, ...)",
    )


def test_stuck_for_an_arrival_nobody_makes() -> None:
    checker, main, _ = two_tasks()
    finding = checker.deadlock([(main, "full", 0, WAIT)])
    assert finding is not None
    assert (finding.kind, finding.cause.missing) == (
        "arrive",
        "0 of 1 arrival on full[0] in phase 0",
    )


def test_stuck_at_the_first_wait_of_a_ring() -> None:
    """Both wait for parity 0: the side whose barrier gets no bytes must not."""
    signals = {
        "full": [PossibleSignal("partition0", EXPECT, "ttng.barrier_expect")],
        "empty": [PossibleSignal("default", ARRIVE, "ttng.arrive_barrier")],
    }
    checker, main, other = two_tasks(signals=signals.__getitem__)
    finding = checker.deadlock([(main, "full", 0, WAIT), (other, "empty", 0, AGAIN)])
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("phase", AGAIN, "empty")


def test_buffers_that_are_only_written() -> None:
    checker, main, _ = two_tasks()
    checker.access(main, "write", TILE, "generic", WRITE)
    checker.access(main, "write", byte_range("smem", "b[0]", 64, 128), "generic", WRITE)
    checker.access(main, "read", byte_range("smem", "b[0]", 64, 128), "generic", READ)
    assert {owner: access.site for owner, access in checker.unread().items()} == {"a": WRITE}
