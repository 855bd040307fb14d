"""Tasks and engines under schedules: a ring of buffers between a producer and a consumer."""

import pytest

from tilewright.analysis.concurrency import (
    BarrierMisuse,
    Deadlock,
    Event,
    Groups,
    Machine,
    MBarrier,
    Operation,
    Steps,
    Task,
    Wait,
    schedule_of,
)

STAGES = 3
TURNS = 10


def _until(barrier: MBarrier, parity: int) -> Wait:
    return Wait(
        f"{barrier.name} to end the phase of parity {parity}",
        lambda: barrier.has_passed(parity),
        barrier.missing,
    )


class Ring:
    """A producer that fills slots asynchronously, and a consumer that sums them up."""

    def __init__(self, seed: int, *, releases: bool = True, waits_full: bool = True) -> None:
        self.machine = Machine(seed)
        self.slots = [-1] * STAGES
        self.full = [MBarrier(f"full[{i}]", 1) for i in range(STAGES)]
        self.empty = [MBarrier(f"empty[{i}]", 1) for i in range(STAGES)]
        self.seen: list[int] = []
        self.releases = releases
        self.waits_full = waits_full
        self.machine.spawn("producer", self.producer())
        self.machine.spawn("consumer", self.consumer())

    def _fill(self, slot: int, value: int) -> Operation:
        def finish() -> None:
            self.slots[slot] = value
            self.full[slot].complete_tx(8)

        return Operation(f"fill {slot}", finish)

    def producer(self) -> Steps:
        for k in range(TURNS):
            slot = k % STAGES
            yield _until(self.empty[slot], (k // STAGES & 1) ^ 1)
            self.full[slot].arrive_expect_tx(8)
            yield None
            self.machine.issue("copies", self._fill(slot, k))

    def consumer(self) -> Steps:
        for k in range(TURNS):
            slot = k % STAGES
            if self.waits_full:
                yield _until(self.full[slot], k // STAGES & 1)
            yield None
            self.seen.append(self.slots[slot])
            if self.releases:
                self.empty[slot].arrive()


@pytest.mark.parametrize("seed", range(24))
def test_ring_gives_every_value_in_order(seed: int) -> None:
    ring = Ring(seed)
    ring.machine.run()
    assert ring.seen == list(range(TURNS))


def test_missing_wait_is_seen_by_the_late_schedule() -> None:
    ring = Ring(0, waits_full=False)
    # The consumer releases slots that were never filled, so the producer arrives twice in a phase.
    with pytest.raises(BarrierMisuse, match=r"2 arrivals on full\[0\]"):
        ring.machine.run()
    assert ring.seen[:STAGES] == [-1] * STAGES


def test_missing_release_is_a_deadlock() -> None:
    ring = Ring(0, releases=False)
    with pytest.raises(Deadlock) as caught:
        ring.machine.run()
    stuck = {each.task: each for each in caught.value.blocked}
    assert set(stuck) == {"producer", "consumer"}
    assert stuck["producer"].wait.what == "empty[0] to end the phase of parity 0"
    assert stuck["producer"].missing == "in phase 0: 0 of 1 arrivals occurred"
    assert str(stuck["consumer"]).startswith("consumer waits for full[0]")
    assert ring.seen == [0, 1, 2]


def test_tasks_that_ended_are_named() -> None:
    def ends() -> Steps:
        yield None

    def hangs() -> Steps:
        yield Wait("a word", lambda: False)

    machine = Machine()
    machine.spawn("quick", ends())
    machine.spawn("stuck", hangs())
    with pytest.raises(Deadlock) as caught:
        machine.run()
    assert caught.value.over == ("quick",)
    assert [str(each) for each in caught.value.blocked] == ["stuck waits for a word"]


def _orders(seed: int) -> list[str]:
    log: list[str] = []

    def task(name: str, machine: Machine) -> Steps:
        for turn in range(3):
            log.append(f"{name}{turn}")
            machine.issue("unit", Operation(name, lambda n=name, t=turn: log.append(f"{n}{t}!")))
            yield None

    machine = Machine(seed)
    machine.spawn("a", task("a", machine))
    machine.spawn("b", task("b", machine))
    machine.run()
    return log


def test_same_seed_same_order() -> None:
    for seed in range(12):
        assert _orders(seed) == _orders(seed)


def test_fixed_schedules() -> None:
    assert _orders(0)[:6] == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert _orders(1)[:7] == ["a0", "a0!", "a1", "a1!", "a2", "a2!", "b0"]
    assert _orders(2)[:6] == ["b0", "b1", "b2", "a0", "a1", "a2"]
    assert len({tuple(_orders(seed)) for seed in range(30)}) > 10


def test_engine_in_order_finishes_the_oldest_first() -> None:
    for seed in range(10):
        log: list[int] = []

        def task(machine: Machine, log: list[int] = log) -> Steps:
            for turn in range(5):
                operation = Operation("mma", lambda t=turn: log.append(t))
                machine.issue("tensor core", operation, in_order=True)
                yield None

        machine = Machine(seed)
        machine.spawn("a", task(machine))
        machine.run()
        assert log == [0, 1, 2, 3, 4]


def test_counted_groups_under_every_schedule() -> None:
    for seed in range(10):
        machine, groups = Machine(seed), Groups()
        cells = [0, 0, 0, 0]
        seen: list[tuple[int, ...]] = []

        def task(
            machine: Machine = machine,
            groups: Groups = groups,
            cells: list[int] = cells,
            seen: list[tuple[int, ...]] = seen,
        ) -> Steps:
            for k in range(4):
                operation = Operation("copy", lambda k=k: cells.__setitem__(k, k + 1))
                groups.issue(operation)
                machine.issue("copies", operation)
                groups.commit()
                yield Wait("groups", lambda: groups.is_done(1))
                groups.forget(1)
                seen.append(tuple(cells[:k]))

        machine.spawn("a", task())
        machine.run()
        assert seen == [(), (1,), (1, 2), (1, 2, 3)]
        assert cells == [1, 2, 3, 4]


def test_tasks_that_tasks_start() -> None:
    log: list[str] = []
    machine = Machine(5)

    def child(name: str) -> Steps:
        yield None
        log.append(name)

    def parent() -> Steps:
        children = [machine.spawn(name, child(name), threads=32) for name in ("x", "y")]
        yield from machine.join(children)
        log.append("joined")

    machine.spawn("parent", parent())
    machine.run()
    assert sorted(log[:2]) == ["x", "y"]
    assert log[2] == "joined"


def test_listener_is_told_every_step() -> None:
    events: list[Event] = []
    ring = Ring(1)
    ring.machine.listener = events.append
    ring.machine.run()
    assert len(events) == ring.machine.steps
    assert [each.what for each in events if each.kind == "finish"] == [
        f"fill {k % STAGES}" for k in range(TURNS)
    ]
    assert {each.actor for each in events if each.kind == "end"} == {"producer", "consumer"}


def test_random_schedules_choose_what_can_happen() -> None:
    def nothing() -> Steps:
        yield None

    tasks = [Task(name, nothing(), number) for number, name in enumerate("ab")]
    operation = Operation("op", lambda: None)
    for seed in range(20):
        schedule = schedule_of(seed)
        assert schedule.choose([], [operation]) is operation
        assert schedule.choose(tasks, []) in tasks
