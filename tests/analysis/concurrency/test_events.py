"""The event protocol: every event reaches every receiver."""

from __future__ import annotations

from typing import Any

from tilewright.analysis.concurrency import EVENTS, MBarrier, Operation, Relay, SyncEvents


class Log(SyncEvents[str, MBarrier, Operation]):
    """Keeps the names of events, with their arguments."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        for name in EVENTS:
            setattr(self, name, self._keep(name))

    def _keep(self, name: str) -> Any:
        return lambda *arguments: self.seen.append((name, *arguments))


def test_a_relay_passes_every_event_on_to_all_of_its_receivers() -> None:
    assert {"spawn", "access", "phase", "waited_group", "fence"} <= set(EVENTS)
    first, second = Log(), Log()
    relay = Relay(first, second)
    for number, name in enumerate(EVENTS):
        getattr(relay, name)(name, number)
    assert first.seen == second.seen == [(n, n, i) for i, n in enumerate(EVENTS)]


def test_a_receiver_that_follows_nothing_accepts_every_event() -> None:
    barrier = MBarrier("full", 1)
    silent: SyncEvents[str, MBarrier, Operation] = SyncEvents()
    silent.phase(barrier, 0)
    assert barrier.phase == 0
