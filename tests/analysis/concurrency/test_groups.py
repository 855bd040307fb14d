"""Groups that are waited for by counting, and barriers that count threads."""

import pytest

from tilewright.analysis.concurrency import BarrierMisuse, Groups, NamedBarrier, Operation


def _operation(log: list[str], name: str) -> Operation:
    return Operation(name, lambda: log.append(name))


def test_wait_leaves_the_youngest_groups() -> None:
    log: list[str] = []
    groups = Groups()
    operations = [_operation(log, name) for name in "abc"]
    for operation in operations:
        groups.issue(operation)
        groups.commit()
    assert [each.what for each in groups.older(1)] == ["a", "b"]
    assert not groups.is_done(1)
    operations[0].complete()
    operations[1].complete()
    assert groups.is_done(1)
    assert not groups.is_done(0)
    assert [each.what for each in groups.forget(1)] == ["a", "b"]
    assert [each.what for each in groups.forget(0)] == ["c"]
    assert log == ["a", "b"]


def test_open_operations_are_not_waited_for() -> None:
    groups = Groups()
    groups.issue(_operation([], "a"))
    assert groups.is_done(0)
    groups.commit()
    assert not groups.is_done(0)


def test_operation_happens_once() -> None:
    log: list[str] = []
    operation = _operation(log, "a")
    operation.complete()
    operation.complete()
    assert log == ["a"]


def test_named_barrier_opens_when_all_came() -> None:
    barrier = NamedBarrier("barrier 1")
    first = barrier.arrive(128, 256)
    assert not barrier.has_opened(first)
    assert barrier.missing() == "128 of 256 threads arrived"
    second = barrier.arrive(128, 256)
    assert first == second
    assert barrier.has_opened(first)
    assert not barrier.has_opened(barrier.arrive(128, 256))


def test_named_barrier_counts_must_agree() -> None:
    barrier = NamedBarrier("barrier 1")
    barrier.arrive(128, 256)
    with pytest.raises(BarrierMisuse, match="used with 384 threads while 128 of 256 threads wait"):
        barrier.arrive(128, 384)
    with pytest.raises(BarrierMisuse, match="384 threads arrive on barrier 1, expected 256"):
        barrier.arrive(256, 256)
