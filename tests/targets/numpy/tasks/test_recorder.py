"""What a recorder receives: every event, in an order that explains the next one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from tests.targets.numpy.tasks.programs import compiled, descriptor
from tests.targets.numpy.tasks.test_mutations import RING
from tilewright.analysis.concurrency import EVENTS, SyncEvents, Task
from tilewright.analysis.ordering import CheckerEvents
from tilewright.targets.numpy import RunOptions
from tilewright.targets.numpy.tasks.ordering import OrderingLog
from tilewright.targets.numpy.tasks.recorder import Recorder
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tasks.view_events import ViewEvents

STEPS = 5
LOGGED = frozenset((*EVENTS, "begin", "end", "alloc"))


class Log(Recorder):
    """Keeps events as (name, arguments)."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[str, tuple[Any, ...]]] = []

    @override
    def __getattribute__(self, name: str) -> Any:
        if name not in LOGGED:
            return super().__getattribute__(name)
        return lambda *arguments: self.events.append((name, arguments))

    def named_events(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for event, arguments in self.events if event == name]


def recorded(seed: int) -> Log:
    log = Log()
    launch(log, seed)
    return log


def launch(recorder: Recorder, seed: int) -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((128, 64 * STEPS)).astype(np.float16)
    b = rng.standard_normal((64 * STEPS, 128)).astype(np.float16)
    c = np.zeros((128, 128), np.float32)
    arguments = [descriptor("a", a), descriptor("b", b), descriptor("c", c), np.int32(STEPS)]
    options = RunOptions(seed=seed, recorder=lambda: recorder)
    compiled(RING).launch((1, 1), arguments, options)


def test_events_are_complete() -> None:
    log = recorded(0)
    counts = Counter(name for name, _ in log.events)
    assert counts["begin"] == counts["end"] == counts["join"] == 1
    assert counts["spawn"] == 2
    assert counts["init"] == 8
    assert counts["expect"] == STEPS
    assert counts["deliver"] == 2 * STEPS
    assert counts["waiting"] == counts["waited"] == 2 * STEPS
    assert counts["issue"] == counts["complete"] == 3 * STEPS + 1  # two loads, an MMA; a store
    assert counts["phase"] == 2 * STEPS
    # A load writes, an MMA reads twice, the result is written and stored.
    accesses = Counter(kind for _, kind, *_ in log.named_events("access"))
    assert accesses == {"write": 2 * STEPS + 1, "read": 2 * STEPS + 1}


def test_actors_are_tasks_and_operations() -> None:
    log = recorded(4)
    for actor, kind, view, proxy, source_id in log.named_events("access"):
        assert isinstance(source_id, int)
        if view.name.startswith("c") and kind == "write":
            assert isinstance(actor, Task) and actor.name == "default" and proxy == "generic"
        else:
            assert isinstance(actor, AsyncOperation) and proxy == "async"
    assert {task.name for task, _ in log.named_events("spawn")} == {"default", "partition0"}


def test_a_wait_follows_the_phase_it_waited_for() -> None:
    for seed in range(6):
        done: Counter[str] = Counter()
        for name, arguments in recorded(seed).events:
            if name == "phase":
                barrier, number = arguments
                assert number == done[barrier.name]
                done[barrier.name] += 1
            elif name == "waited":
                _, barrier, parity, _ = arguments
                assert (done[barrier.name] - 1) % 2 == parity


def test_views_find_their_bytes() -> None:
    views = {view.name: view for _, _, view, *_ in recorded(0).named_events("access")}
    arena = views["a[0]"].arena
    table = np.zeros(arena.size, np.int32)
    for number, name in enumerate(("a[0]", "b[0]", "a[1]", "b[1]"), 1):
        cells = views[name].bytes.cells(table)
        assert not cells.any()
        cells[...] = number
    starts = [int(np.flatnonzero(table == number)[0]) for number in (1, 2, 3, 4)]
    assert starts == [0, 16384, 32768, 49152]
    # The result aliases the first two stages.
    assert set(np.unique(views["c[0]"].bytes.cells(table))) == {1, 2, 3, 4}
    assert views["c[0]"].overlap(views["b[1]"]) == 16384
    assert views["a[0]"].overlap(views["b[0]"]) == 0


def test_every_event_that_the_checker_handles_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is not passed on orders nothing: a correct kernel has a data race."""
    handled = [name for name in EVENTS if name in vars(CheckerEvents)]
    assert {"arrive", "named", "waited_group"} <= set(handled)
    assert all(
        getattr(ViewEvents, name) is not getattr(SyncEvents, name) for name in (*handled, "access")
    )
    received: Counter[str] = Counter()
    for name in (*handled, "accessed", "issued"):
        original = vars(CheckerEvents)[name]

        def counted(*arguments: Any, _name: str = name, _original: Any = original) -> Any:
            received[_name] += isinstance(arguments[0], ViewEvents)  # not that of global memory
            return _original(*arguments)

        monkeypatch.setattr(CheckerEvents, name, counted)
    counts: list[Counter[str]] = []
    for wants_timeline in (False, True):
        received.clear()
        launch(OrderingLog(wants_timeline).recorder(), 0)
        counts.append(Counter(received))
    sent = Counter(name for name, _ in recorded(0).events)
    for name, count in (+counts[0]).items():
        event = {"accessed": "access", "issued": "issue"}.get(name, name)
        assert count == sent[event]
    assert counts[0] == counts[1]
    assert {"spawn", "arrive", "waited", "deliver", "issued", "accessed"} <= (+counts[0]).keys()
