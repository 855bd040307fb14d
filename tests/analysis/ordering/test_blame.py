"""Which barrier is blamed, where several come into question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.analysis.ordering import (
    Agent,
    BlockedNamedBarrier,
    Checker,
    Finding,
    PossibleSignal,
    byte_range,
)

MAKE, WRITE, READ, ARRIVE, WAIT, LOAD, AGAIN, GATE = range(8)
TILE = byte_range("smem", "v[0]", 0, 64)


def tasks(
    *barriers: str,
    count: int = 1,
    is_written: bool = False,
    signals: Mapping[str, Sequence[PossibleSignal]] | None = None,
    waiters: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Checker, Agent, Agent, Agent]:
    """A checker with barriers of one, and the tasks `default`, `partition0` and `partition1`."""
    checker = Checker(
        lambda name: (signals or {}).get(name, ()),
        None if waiters is None else lambda name: waiters.get(name, ()),
    )
    checker.memory("smem", "shared memory", 256)
    main = checker.task("default")
    for name in barriers:
        checker.init(main, name, f"{name}[0]", name, count, MAKE)
    if is_written:
        checker.access(main, "write", TILE, "generic", MAKE)
    return checker, main, checker.task("partition0", main), checker.task("partition1", main)


def first(checker: Checker) -> Finding:
    return checker.findings()[0]


def load(checker: Checker, loader: Agent, barrier: str, delivers: bool = True) -> Agent:
    checker.expect(loader, barrier, 64, LOAD)
    checker.arrive(loader, barrier, 1, LOAD)
    copy = checker.issue(loader, "the copy into v[0]", "tma", barriers=(barrier,))
    checker.access(copy, "write", TILE, "async", LOAD)
    if delivers:
        checker.deliver(copy, barrier, 64, LOAD)
        checker.phase(barrier)
    return copy


def pass_on(checker: Checker, giver: Agent, barrier: str, taker: Agent, parity: int = 0) -> None:
    checker.arrive(giver, barrier, 1, ARRIVE)
    checker.phase(barrier)
    checker.waiting(taker, barrier)
    checker.waited(taker, barrier, parity, WAIT)


def test_a_copy_says_itself_what_to_wait_for() -> None:
    """The reader waits for `q`, which the loader tells too; the copy reports to `k`."""
    checker, main, loader, _ = tasks("q", "k")
    pass_on(checker, loader, "q", main)
    load(checker, loader, "k")
    checker.access(main, "read", TILE, "generic", READ)
    assert (first(checker).kind, first(checker).cause.barrier) == ("wait", "k")


def test_an_arrival_nobody_waits_for_tells_more_than_one_that_came_before() -> None:
    """`empty_v` is told after the read, and only `empty_k` is waited for."""
    waiters = {"empty_k": ("partition0",)}
    checker, main, loader, _ = tasks("full", "empty_k", "empty_v", waiters=waiters)
    load(checker, loader, "full")
    checker.waited(main, "full", 0, WAIT)
    pass_on(checker, main, "empty_k", loader)
    checker.access(main, "read", TILE, "generic", READ)
    checker.arrive(main, "empty_v", 1, ARRIVE)
    checker.phase("empty_v")
    checker.access(loader, "write", TILE, "generic", AGAIN)
    assert (first(checker).kind, first(checker).cause.barrier) == ("wait", "empty_v")


def test_two_arrivals_of_one_task_take_the_place_of_the_other() -> None:
    checker, main, one, other = tasks("empty", count=2, is_written=True)
    for task in (one, other):
        checker.access(task, "read", TILE, "generic", READ)
    checker.arrive(one, "empty", 2, ARRIVE)
    checker.phase("empty")
    checker.waited(main, "empty", 0, WAIT)
    checker.arrive(other, "empty", 1, ARRIVE)
    checker.access(main, "write", TILE, "generic", WRITE)
    found = first(checker)
    assert (found.kind, found.cause.barrier) == ("count", "empty")
    assert found.cause.missing == (
        "phase 0 of empty[0] completes with the arrivals 2 of partition0, without partition1"
    )


def test_a_barrier_of_threads_that_one_task_left_out() -> None:
    checker, main, other, _ = tasks("full", is_written=True)
    checker.access(other, "read", TILE, "generic", READ)
    checker.came(other, "gate", 1, "barrier 9", GATE)
    checker.access(main, "write", TILE, "generic", WRITE)
    found = first(checker)
    assert (found.kind, found.cause.barrier, found.cause.details[0].site) == (
        "wait",
        "barrier 9",
        GATE,
    )


def test_a_barrier_of_threads_that_opens_for_one_task() -> None:
    """The other one has lost its wait, so two arrivals of the first make up its threads."""
    checker, main, other, _ = tasks("full")
    for generation in (1, 1, 2):
        checker.came(other, "gate", generation, "barrier 9", GATE)
    checker.access(other, "read", TILE, "generic", READ)
    checker.access(main, "write", TILE, "generic", WRITE)
    assert first(checker).cause.missing == (
        "only partition0 arrives on barrier 9: no other task waits there"
    )


RING = {
    "full": [PossibleSignal("partition0", LOAD, "ttng.barrier_expect")],
    "empty": [
        PossibleSignal("default", ARRIVE, "ttng.arrive_barrier"),
        PossibleSignal("default", AGAIN, "ttng.arrive_barrier"),
    ],
}


def test_who_passed_a_wait_and_did_not_answer_owes_the_arrival() -> None:
    """Both sides wait for each other; the reader has passed twice and arrived once."""
    checker, main, loader, _ = tasks("full", "empty", signals=RING)
    load(checker, loader, "full")
    checker.waited(main, "full", 0, WAIT)
    pass_on(checker, main, "empty", loader)
    load(checker, loader, "full")
    checker.waited(main, "full", 1, WAIT)
    finding = checker.deadlock([(main, "full", 0, WAIT), (loader, "empty", 1, GATE)])
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("arrive", GATE, "empty")


def test_a_barrier_made_for_more_than_come_in_a_phase() -> None:
    """Every passed wait is answered, so the count is to blame, not a task."""
    checker, main, loader, _ = tasks("full", "empty", count=2, signals=RING)
    checker.waited(main, "full", 0, WAIT)
    checker.arrive(main, "empty", 1, ARRIVE)
    finding = checker.deadlock([(main, "full", 0, WAIT), (loader, "empty", 0, GATE)])
    assert finding is not None
    assert (finding.kind, finding.cause.barrier) == ("count", "empty")


def test_of_two_barriers_of_threads_the_one_that_is_owed_an_arrival() -> None:
    """`default` has passed 9, to which `partition0` came, and has not come to 10 in return."""
    checker, main, other, _ = tasks("full")
    for task in (main, other):
        checker.came(task, "nine", 1, "barrier 9", GATE)
    checker.went(main, "nine", 1)
    checker.came(main, "nine", 2, "barrier 9", GATE)
    checker.came(other, "ten", 1, "barrier 10", GATE)
    half = "128 of 256 threads arrived"
    barriers = [
        BlockedNamedBarrier("default", "barrier 9", half, GATE),
        BlockedNamedBarrier("partition0", "barrier 10", half, GATE),
    ]
    finding = checker.deadlock([], barriers)
    assert finding is not None
    assert finding.cause.barrier == "barrier 10"
    assert finding.message == "missing arrival: partition0 waits on barrier 10 forever"


def second_slots(checker: Checker, main: Agent, *owners: str) -> None:
    """A second barrier of each array: `full1` is `full[1]`."""
    for owner in owners:
        checker.init(main, f"{owner}1", f"{owner}[1]", owner, 1, MAKE)


def filled(checker: Checker, loader: Agent, barrier: str) -> None:
    checker.arrive(loader, barrier, 1, LOAD)
    checker.phase(barrier)


TURNS = {
    "full": [PossibleSignal("partition0", LOAD, "ttng.arrive_barrier")],
    "empty": [PossibleSignal("default", ARRIVE, "ttng.arrive_barrier")],
}


def ring() -> tuple[Checker, Agent, Agent]:
    """A ring of two slots, both filled by `partition0` for `default`."""
    checker, main, loader, _ = tasks("full", "empty", signals=TURNS)
    second_slots(checker, main, "full", "empty")
    loader = checker.task("partition0", main)
    for slot in ("", "1"):
        checker.waited(loader, f"empty{slot}", 1, GATE)
        filled(checker, loader, f"full{slot}")
    return checker, main, loader


def test_a_task_that_skips_a_full_slot_waits_for_the_wrong_phase() -> None:
    """It has taken slot 0 and waits for it again, slot 1 is full, and its arrival comes later."""
    checker, main, loader = ring()
    checker.waited(main, "full", 0, WAIT)
    finding = checker.deadlock([(main, "full", 1, AGAIN), (loader, "empty", 0, GATE)])
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("phase", AGAIN, "full")
    assert finding.cause.missing == (
        "default waits for a phase of full[0] that partition0 completes only after default has "
        "arrived on empty[0], which default does later"
    )


def test_a_task_that_took_every_slot_owes_an_arrival() -> None:
    checker, main, loader = ring()
    for slot in ("", "1"):
        checker.waited(main, f"full{slot}", 0, WAIT)
    finding = checker.deadlock([(main, "full", 1, WAIT), (loader, "empty", 0, GATE)])
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("arrive", GATE, "empty")
    assert finding.cause.fix.text == "make default arrive on it: here it signals empty"


def test_a_slot_that_lags_behind_the_next_one_lacks_an_arrival() -> None:
    """Slots are handed out before the work begins, one of them is left out."""
    checker, main, _, _ = tasks("full", "empty", signals=TURNS)
    second_slots(checker, main, "full", "empty")
    loader = checker.task("partition0", main)
    filled(checker, main, "empty1")
    finding = checker.deadlock([(main, "full", 0, WAIT), (loader, "empty", 0, GATE)])
    assert finding is not None
    assert (finding.kind, finding.site, finding.cause.barrier) == ("arrive", GATE, "empty")


def test_an_arrival_that_a_barrier_of_threads_holds_up() -> None:
    """`empty` lacks `partition1`, which stands at a barrier that `default` owes an arrival."""
    signals = {
        "full": TURNS["full"],
        "empty": [
            PossibleSignal("default", ARRIVE, "ttng.arrive_barrier"),
            PossibleSignal("partition1", ARRIVE, "ttng.arrive_barrier"),
        ],
    }
    checker, main, loader, other = tasks("full", "empty", count=2, signals=signals)
    filled(checker, loader, "full")
    for task in (main, other):
        checker.waited(task, "full", 0, WAIT)
        checker.came(task, "nine", 1, "barrier 9", GATE)
    checker.went(main, "nine", 1)
    checker.came(other, "ten", 1, "barrier 10", GATE)
    checker.arrive(main, "empty", 1, ARRIVE)
    barriers = [
        BlockedNamedBarrier("partition1", "barrier 10", "128 of 256 threads arrived", AGAIN)
    ]
    finding = checker.deadlock([(main, "full", 1, WAIT), (loader, "empty", 0, LOAD)], barriers)
    assert finding is not None
    assert (finding.site, finding.cause.barrier) == (AGAIN, "barrier 10")


def test_a_barrier_for_too_few_lets_a_task_signal_again_too_soon() -> None:
    checker, main, one, other = tasks("full", "empty")
    for task in (one, other):
        checker.arrive(task, "empty", 1, ARRIVE)
        checker.phase("empty")
    checker.waiting(one, "full")
    for parity in (0, 1):
        checker.arrive(main, "full", 1, LOAD)
        checker.waited(main, "empty", parity, WAIT)
    checker.arrive(main, "full", 1, LOAD)
    found = checker.findings(is_certain=True)[0]
    assert (found.kind, found.cause.barrier) == ("count", "empty")
    assert found.cause.fix.text == "use arrive_count=2"


def test_a_phase_that_is_not_waited_for_is_no_wrong_parity() -> None:
    """The reader has waited for the copy before this one, and handed it back unread."""
    checker, main, loader, _ = tasks("full", "empty")
    load(checker, loader, "full")
    checker.waited(main, "full", 0, WAIT)
    pass_on(checker, main, "empty", loader)
    load(checker, loader, "full")
    checker.access(main, "read", TILE, "generic", READ)
    found = first(checker)
    assert (found.kind, found.cause.barrier) == ("wait", "full")
    assert found.cause.missing == "default does not wait for phase 1 of full[0] that orders them"
