"""Tasks, barriers and engines without data, and what the checker is told of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.analysis.alias_sync import machine as machines
from tilewright.analysis.alias_sync.machine import AliasRange, Machine, Misuse
from tilewright.analysis.concurrency import (
    CHECK_SCHEDULES,
    KeyedBarrier,
    NamedBarrier,
    Steps,
    Task,
    TooManySteps,
)
from tilewright.analysis.ordering import Finding, byte_range

Body = Callable[[Task], Steps]
TILE = byte_range("smem", "tile[0]", 0, 64)
OTHER = byte_range("smem", "other[0]", 32, 96)
EVERY = pytest.mark.parametrize("schedule", CHECK_SCHEDULES)


def new_machine(schedule: str = "late") -> Machine:
    machine = Machine(lambda name: (), CHECK_SCHEDULES[schedule]())
    machine.checker.memory("smem", "shared memory", 128)
    return machine


def barrier(name: str, count: int = 1) -> KeyedBarrier:
    return KeyedBarrier(f"{name}[0]", count, key=name, owner=name)


def run(machine: Machine, *bodies: Body, inits: tuple[KeyedBarrier, ...] = ()):
    """Tasks that start after barriers were made; what stops them, and what is found."""

    def main(task: Task) -> Steps:
        for each in inits:
            machine.init(task, each, 0)
        others = [
            machine.spawn(f"@{number + 1}", 128, body, task) for number, body in enumerate(bodies)
        ]
        yield None
        yield from machine.join(task, others, 0)
        machine.leave(task)

    machine.spawn("@0", 128, main)
    stuck = machine.run()
    return stuck, machine.checker.findings()


@EVERY
@pytest.mark.parametrize("waits", [True, False])
def test_only_a_wait_orders_a_write_and_a_read(schedule: str, waits: bool) -> None:
    machine, full = new_machine(schedule), barrier("full")

    def writer(task: Task) -> Steps:
        yield None
        machine.events.accessed(task, "write", TILE, "generic", 1)
        machine.arrive(task, full, 1, 2)

    def reader(task: Task) -> Steps:
        if waits:
            yield from machine.wait(task, full, 0, 3)
        yield None
        machine.events.accessed(task, "read", OTHER, "generic", 4)

    stuck, found = run(machine, writer, reader, inits=(full,))
    assert stuck is None
    assert [each.size_bytes for each in found] == ([] if waits else [32])


@EVERY
@pytest.mark.parametrize("size", [64, 48])
def test_bytes_end_a_phase_if_all_are_announced(schedule: str, size: int) -> None:
    machine, full = new_machine(schedule), barrier("full")

    def producer(task: Task) -> Steps:
        yield None
        machine.expect(task, full, size, 1)
        part = AliasRange(TILE, "async", writes=True)
        machine.issue(task, "the TMA load", "tma", 2, [part], delivers=[(full, 64)])

    def consumer(task: Task) -> Steps:
        yield from machine.wait(task, full, 0, 3)
        machine.events.accessed(task, "read", TILE, "generic", 4)

    stuck, found = run(machine, producer, consumer, inits=(full,))
    assert not found
    if size == 64:
        assert stuck is None
        assert (full.phase, full.tx_count, machine.direct) == (1, 0, {})
        return
    assert isinstance(stuck, Finding)
    assert stuck.kind == "bytes"
    assert stuck.cause.missing == "48 bytes expected on full[0] in phase 0, 64 completed"


def test_an_arrival_too_many_is_misuse() -> None:
    machine, full = new_machine(), barrier("full", 3)

    def eager(task: Task) -> Steps:
        yield None
        machine.arrive(task, full, 2, 7)
        machine.arrive(task, full, 2, 8)

    with pytest.raises(Misuse) as wrong:
        run(machine, eager, inits=(full,))
    finding = wrong.value.finding
    assert (finding.kind, finding.site) == ("count", 8)
    assert (
        finding.message == "wrong arrive count: 4 arrivals on full[0] in phase 0, one of them here"
    )


def test_threads_must_agree_on_a_gate() -> None:
    machine, gate = new_machine(), NamedBarrier("barrier 9")

    def body(task: Task) -> Steps:
        yield None
        assert machine.arrive_named(task, gate, 256, 0) == 1
        assert gate.missing() == "128 of 256 threads arrived"
        with pytest.raises(
            Misuse, match="256 threads arrive on barrier 9 with thread count 384, expected 256"
        ):
            machine.arrive_named(task, gate, 384, 1)
        assert machine.arrive_named(task, gate, 256, 2) == 1

    run(machine, body)
    assert gate.generation == 1


@EVERY
def test_a_gate_orders_those_who_come_and_those_who_wait(schedule: str) -> None:
    machine, gate = new_machine(schedule), NamedBarrier("barrier 9")

    def writer(task: Task) -> Steps:
        yield None
        machine.events.accessed(task, "write", TILE, "generic", 1)
        machine.arrive_named(task, gate, 256, 2)

    def reader(task: Task) -> Steps:
        generation = machine.arrive_named(task, gate, 256, 3)
        yield from machine.wait_named(task, gate, generation, 3)
        machine.events.accessed(task, "read", TILE, "generic", 4)

    assert run(machine, writer, reader) == (None, [])


def test_nobody_comes_to_a_gate() -> None:
    machine, gate = new_machine(), NamedBarrier("barrier 9")

    def alone(task: Task) -> Steps:
        generation = machine.arrive_named(task, gate, 256, 5)
        yield from machine.wait_named(task, gate, generation, 5)

    stuck, found = run(machine, alone)
    assert stuck is not None
    assert (stuck.kind, stuck.site, found) == ("arrive", 5, [])


@EVERY
@pytest.mark.parametrize(("leave", "clashes"), [(0, 0), (1, 1)])
def test_a_wait_for_groups_leaves_the_youngest(schedule: str, leave: int, clashes: int) -> None:
    machine = new_machine(schedule)

    def body(task: Task) -> Steps:
        yield None
        groups = machine.groups(task, "cp.async")
        for number, region in enumerate((TILE, byte_range("smem", "b[0]", 96, 128))):
            part = AliasRange(region, "generic", writes=True)
            groups.issue_alone(machine.issue(task, "a copy", "cp.async", number, [part]))
        yield from machine.wait_groups(task, "cp.async", leave, 3)
        machine.events.accessed(task, "read", TILE, "generic", 4)
        machine.events.accessed(task, "read", byte_range("smem", "b[0]", 96, 128), "generic", 5)

    stuck, found = run(machine, body)
    assert stuck is None
    assert len(found) == clashes


@EVERY
def test_operations_of_an_engine_in_order_follow_each_other(schedule: str) -> None:
    machine, done = new_machine(schedule), barrier("done")

    def body(task: Task) -> Steps:
        yield None
        part = AliasRange(TILE, "tensor", writes=True)
        machine.issue(task, "a product", "tcgen05", 1, [part], in_order=True)
        machine.issue(task, "a commit", "tcgen05", 2, (), in_order=True, arrives=[(done, 1)])
        yield from machine.wait(task, done, 0, 3)
        machine.events.accessed(task, "read", TILE, "tensor", 4)

    assert run(machine, body, inits=(done,)) == (None, [])
    assert not machine.direct


@EVERY
def test_engines_need_no_memory_after_the_end(schedule: str) -> None:
    machine = new_machine(schedule)

    def body(task: Task) -> Steps:
        yield None
        machine.issue(
            task, "the TMA store of tile[0]", "tma stores", 6, [AliasRange(TILE, "async")]
        )

    stuck, found = run(machine, body)
    assert (stuck, found) == (None, [])
    assert [each.message for each in machine.direct.values()] == [
        "missing wait: the CTA may exit while the TMA store of tile[0] still reads tile[0]"
    ]


def test_an_operation_knows_its_barriers_by_their_keys() -> None:
    machine, full, done = new_machine(), barrier("full"), barrier("done")

    def body(task: Task) -> Steps:
        yield None
        issued = machine.issue(
            task, "both", "tma", 1, (), delivers=[(full, 0)], arrives=[(done, 1)]
        )
        assert machine.events.agent(issued).barriers == (full.key, done.key)

    run(machine, body, inits=(full, done))


def test_a_result_is_there_after_its_wait() -> None:
    machine = new_machine()

    def body(task: Task) -> Steps:
        yield None
        issued = machine.issue(task, "the product", "wgmma", 1, [AliasRange(TILE, "async")])
        machine.groups(task, "wgmma").issue_alone(issued)
        machine.used(task, issued, 2)
        yield from machine.wait_groups(task, "wgmma", 0, 3)
        machine.used(task, issued, 4)

    run(machine, body)
    assert list(machine.direct) == [2]


def test_a_run_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "STEP_LIMIT", 100)

    def forever(task: Task) -> Steps:
        while True:
            yield None

    with pytest.raises(TooManySteps):
        run(new_machine(), forever)
