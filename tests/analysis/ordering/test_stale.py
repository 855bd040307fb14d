"""Reads of the wrong contents in good order: what is reported, and what is left alone."""

from __future__ import annotations

from tilewright.analysis.ordering import Agent, Checker, byte_range

MAKE, LOAD, WAIT, READ, ARRIVE, OTHER = range(6)
SLOTS = tuple(byte_range("smem", f"v[{i}]", 64 * i, 64 * i + 64) for i in range(2))


class Ring:
    """A loader and two readers, with barriers `full` and `empty` for two slots."""

    def __init__(self) -> None:
        self.checker = checker = Checker()
        checker.memory("smem", "shared memory", 128)
        main = checker.task("default")
        for name in ("full", "empty"):
            for slot in range(2):
                checker.init(main, (name, slot), f"{name}[{slot}]", name, 1, MAKE)
        self.loader = checker.task("loader", main)
        self.first = checker.task("first", main)
        self.second = checker.task("second", main)

    def load(self, slot: int) -> None:
        """A copy, from the wait for its slot to its report."""
        checker, full = self.checker, ("full", slot)
        checker.waiting(self.loader, ("empty", slot))
        checker.expect(self.loader, full, 64, LOAD)
        checker.arrive(self.loader, full, 1, LOAD)
        copy = checker.issue(self.loader, f"the copy into v[{slot}]", "tma", barriers=(full,))
        checker.access(copy, "write", SLOTS[slot], "async", LOAD)
        checker.deliver(copy, full, 64, LOAD)
        checker.phase(full)

    def wait(self, task: Agent, slot: int) -> None:
        self.checker.waiting(task, ("full", slot))
        self.checker.waited(task, ("full", slot), 0, WAIT)

    def read(self, task: Agent, slot: int, place: int = READ) -> None:
        self.checker.access(task, "read", SLOTS[slot], "generic", place)

    def hand_back(self, task: Agent, slot: int) -> None:
        self.checker.arrive(task, ("empty", slot), 1, ARRIVE)
        self.checker.phase(("empty", slot))

    def meet(self, *tasks: Agent) -> None:
        for task in tasks:
            self.checker.came(task, "gate", 1, "gate", OTHER)
        for task in tasks:
            self.checker.went(task, "gate", 1)

    def found(self) -> list[tuple[str, str, str]]:
        """Kind, array of barriers and fix of each finding."""
        return [
            (each.kind, each.cause.barrier, each.cause.fix.text) for each in self.checker.findings()
        ]


def begun() -> Ring:
    """Both slots are loaded, the first is read and handed back, the second waited for."""
    ring = Ring()
    for slot in range(2):
        ring.load(slot)
    ring.wait(ring.first, 0)
    ring.read(ring.first, 0)
    ring.hand_back(ring.first, 0)
    ring.wait(ring.first, 1)
    return ring


def test_what_was_handed_back_is_stale() -> None:
    ring = begun()
    ring.read(ring.first, 0, OTHER)
    assert ring.found() == [("stale", "full", "read v[1] here")]
    (finding,) = ring.checker.findings()
    assert finding.first is not None
    assert finding.second is not None
    assert (finding.first.site, finding.second.site) == (LOAD, OTHER)
    assert finding.message == (
        "stale read: read of v[0] by first reads data that it has already read, and nothing after "
        "its wait reads the data of the copy into v[1], issued by loader"
    )
    assert [each.site for each in finding.cause.details] == [WAIT, READ, ARRIVE]


def test_the_right_slot_is_fine_even_beside_the_old_one() -> None:
    ring = begun()
    ring.read(ring.first, 0, OTHER)
    ring.read(ring.first, 1)
    assert ring.found() == []


def test_a_block_that_is_waited_for_and_skipped_is_fine() -> None:
    assert begun().found() == []


def test_a_read_on_behalf_of_the_waiter_is_fine() -> None:
    """It waits, and tells another task, which reads."""
    ring = begun()
    ring.read(ring.first, 0, OTHER)
    ring.meet(ring.first, ring.second)
    ring.read(ring.second, 1)
    assert ring.found() == []


def test_a_buffer_that_was_not_handed_back_may_be_read_again() -> None:
    ring = Ring()
    for slot in range(2):
        ring.load(slot)
        ring.wait(ring.first, slot)
        ring.read(ring.first, 0)
    assert ring.found() == []


def sharing() -> Ring:
    """Each reader waits for one slot and reads it; then they meet."""
    ring = Ring()
    for slot, task in enumerate((ring.first, ring.second)):
        ring.load(slot)
        ring.wait(task, slot)
        ring.read(task, slot)
    ring.meet(ring.first, ring.second)
    return ring


def test_what_another_task_waits_for_is_borrowed() -> None:
    """Both come to the same line: each of them should read its own block there."""
    ring = sharing()
    ring.read(ring.first, 0, OTHER)
    ring.read(ring.second, 0, OTHER)
    assert ring.found() == [("stale", "full", "read v[1] here, or wait for full[0]")]
    (finding,) = ring.checker.findings()
    assert finding.message == (
        "stale read: read of v[0] by second reads the data of the copy into v[0], issued by "
        "loader, which is for first"
    )


def test_a_line_of_its_own_for_the_block_of_another_task_is_meant() -> None:
    """A halo: `second` reads its own block, and the one beside it that it has been told of."""
    ring = sharing()
    ring.read(ring.second, 0, OTHER)
    assert ring.found() == []


def test_tasks_that_read_all_they_load_together_are_fine() -> None:
    ring = sharing()
    for task in (ring.first, ring.second):
        for slot in range(2):
            ring.read(task, slot, OTHER)
    assert ring.found() == []


def test_a_wait_says_that_it_is_meant() -> None:
    ring = sharing()
    ring.wait(ring.second, 0)
    for task in (ring.first, ring.second):
        ring.read(task, 0, OTHER)
    assert ring.found() == []
