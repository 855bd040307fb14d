"""Judge many seeds on all cores, in processes that a fault of the GPU may end.

An illegal instruction or address ends every later call of its process, and a deadlock ends nothing at
all. So seeds are judged in forked processes, a chunk each, and the parent sees three ways out: a
verdict; a process that is gone, whose seed gets the verdict `died`; a process that is silent for too
long, which is killed, with the verdict `hang`. What is left of its chunk goes to a new process.

The parent imports everything before it forks and never starts CUDA itself: a CUDA context does not
survive a fork.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

CHUNK = 100
"""Seeds of one process: a CUDA context takes seconds to make while others do the same."""

FATAL = frozenset({"fault", "died", "hang"})
"""Verdicts after which a process cannot be used any more."""


@dataclass(frozen=True)
class Verdict:
    """What became of a seed."""

    outcome: str
    """`right`, `refused`, `wrong`, `internal`, `fault`, `died`, `hang`."""
    reason: str = ""
    seconds: float = 0.0
    notes: dict[str, object] = field(default_factory=dict[str, object])


Judge = Callable[[int], Verdict]


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    left: list[int]
    since: float
    """When it last sent something."""


def judged(
    judge: Judge,
    seeds: Sequence[int],
    *,
    jobs: int,
    patience_s: float = 120.0,
    deadline: float | None = None,
    chunk: int = CHUNK,
) -> Iterator[tuple[int, Verdict]]:
    """Each seed with its verdict, in the order in which they are known.

    With a `deadline` (of `time.monotonic`) what is not judged by then is left out.
    """
    context = multiprocessing.get_context("fork")
    waiting = [list(seeds[start : start + chunk]) for start in range(0, len(seeds), chunk)][::-1]
    workers: dict[Connection, _Worker] = {}

    def start(chunk: list[int]) -> None:
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(judge, chunk, there), daemon=True)
        process.start()
        there.close()
        workers[here] = _Worker(process, here, list(chunk), time.monotonic())

    def end(worker: _Worker) -> None:
        del workers[worker.pipe]
        worker.pipe.close()
        worker.process.join()
        if worker.left:
            waiting.append(worker.left)

    try:
        while waiting or workers:
            now = time.monotonic()
            if deadline is not None and now > deadline:
                return
            while waiting and len(workers) < jobs:
                start(waiting.pop())
            for pipe in wait(list(workers), timeout=1.0):
                assert isinstance(pipe, Connection)
                worker = workers[pipe]
                worker.since = now
                try:
                    seed, verdict = pipe.recv()
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    if worker.left:
                        seed = worker.left.pop(0)
                        yield seed, Verdict("died", f"exit status {worker.process.exitcode}")
                    end(worker)
                    continue
                worker.left.remove(seed)
                yield seed, verdict
                if verdict.outcome in FATAL or not worker.left:
                    end(worker)
            for worker in list(workers.values()):
                if now - worker.since > patience_s:
                    worker.process.kill()
                    yield worker.left.pop(0), Verdict("hang", f"silent for {patience_s:.0f} s")
                    end(worker)
    finally:
        for worker in workers.values():
            worker.process.kill()


def _work(judge: Judge, chunk: Sequence[int], pipe: Connection) -> None:
    for seed in chunk:
        begun = time.monotonic()
        verdict = judge(seed)
        took = time.monotonic() - begun
        pipe.send((seed, Verdict(verdict.outcome, verdict.reason, took, verdict.notes)))
        if verdict.outcome in FATAL:
            break
    pipe.close()
