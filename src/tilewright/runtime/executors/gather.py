"""Distributing work and gathering its results.

    for item, outcome in gathered(work, values, executor=pool): ...

Equal values are done once. Of each executor only `submit` is used, and of its futures
`add_done_callback` and `result`. Failures of an item are distinguished by their cause:

- it raised: that is its result;
- its process died or was silent for too long: it is tried again, on whatever worker is free, and
  after `tries` such ends it is poisonous and reported;
- the executor lost it (a broken pool, a machine that went away): any of the items in flight may
  have caused that, so each is tried again *alone*. A broken executor is made anew if there is a
  factory, and ends the run otherwise.

A limited number of items is in flight at a time, so that Ctrl-C does not leave a cluster full of
work. On Ctrl-C what is in flight is given up, and what is done is in the log.
"""

from __future__ import annotations

import queue
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.runtime.executors.journal import Journal
from tilewright.runtime.executors.pools import Pool
from tilewright.runtime.executors.processes import status_of
from tilewright.runtime.executors.work import Item, Json, OtherVersion, Outcome, Status, Work
from tilewright.runtime.executors.worker import Reply
from tilewright.runtime.progress import progress_lines
from tilewright.targets.worker_pool import WorkerFailed

TRIES = 3
"""How many times an item may end its process before it is poisonous."""
_POLL_SECONDS = 0.2
"""How long a wait is before Ctrl-C is noticed on systems where waiting hides it."""
_CANNOT_RUN = (OtherVersion, ModuleNotFoundError, ImportError, AttributeError, TypeError)
"""Errors that are not of the item: the worker cannot do this work at all."""

Found: TypeAlias = Iterator[tuple[Item, Outcome]]


class WorkFailed(Exception):
    """The work cannot be done with this executor."""


@dataclass(frozen=True)
class _Submitted:
    item: Item
    future: Future[Any]
    executor: Executor


def gathered(
    work: Work,
    values: Sequence[Json],
    *,
    pool: Pool,
    log: Journal | None = None,
    tries: int = TRIES,
    things: str = "items",
    name: str | None = None,
) -> Found:
    """Each item with its outcome, as they are known; those in the log come first."""
    items = {item.key: item for item in map(work.item, values)}
    known = log.known if log is not None else {}
    to_do = [item for key, item in items.items() if key not in known]
    yield from ((item, known[key]) for key, item in items.items() if key in known)
    show = progress_lines(name or work.function.rpartition(":")[2], things)
    done = 0
    try:
        for item, outcome in _Run(to_do, pool, log, tries).outcomes():
            done += 1
            if log is not None:
                log.done(item, outcome)
            show(done, len(to_do))
            yield item, outcome
    except KeyboardInterrupt:
        pool.abandon()
        count = len(items) - len(to_do) + done
        where = "a log (--log FILE) would keep their results"
        if log is not None:
            where = f"their results are in {log.path}, from which the next run resumes"
        sys.stderr.write(f"\ninterrupted: {count} of {len(items)} {things} are done; {where}\n")
        raise
    except BaseException:
        pool.abandon()
        raise


@contextmanager
def journal(path: str | Path | None) -> Generator[Journal | None]:
    """The log at `path`, or None without one."""
    log = None if path is None else Journal(path)
    try:
        yield log
    finally:
        if log is not None:
            log.close()


def merged(found: Found, work: Work, values: Sequence[Json]) -> list[Outcome]:
    """All outcomes, in the order of the values, whatever the order in which they came."""
    outcomes = {item.key: outcome for item, outcome in found}
    return [outcomes[work.item(value).key] for value in values]


@dataclass
class _Run:
    items: Sequence[Item]
    pool: Pool
    log: Journal | None
    tries: int
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """How many times the process of an item ended."""
    in_flight: dict[str, _Submitted] = field(default_factory=dict[str, _Submitted])
    ended: queue.SimpleQueue[tuple[str, Future[Any]]] = field(
        default_factory=lambda: queue.SimpleQueue["tuple[str, Future[Any]]"]()
    )

    def outcomes(self) -> Found:
        waiting = deque(self.items)
        suspects: deque[Item] = deque()
        """Items that were in flight when the executor lost some: each is tried alone."""
        while waiting or suspects or self.in_flight:
            if suspects and not self.in_flight:
                self._submit(suspects.popleft())
            while waiting and not suspects and len(self.in_flight) < self.pool.window:
                self._submit(waiting.popleft())
            try:
                key, future = self.ended.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            submitted = self.in_flight.pop(key)
            assert submitted.future is future, "an item is in flight once at a time"
            item = submitted.item
            reply, is_certain = self._reply(submitted)
            if reply.status in ("done", "raised"):
                yield item, self._outcome(item, reply)
                continue
            count = self.failures[key] = self.failures.get(key, 0) + 1
            if count >= self.tries:
                yield item, self._outcome(item, reply)
                continue
            if self.log is not None:
                self.log.retried(item, reply.reason, count)
            (waiting if is_certain else suspects).append(item)

    def _submit(self, item: Item) -> None:
        call = (item.work.function, item.work.version, item.value)
        executor = self.pool.executor
        try:
            future = self.pool.submit(call)
        except BrokenExecutor as error:
            self.pool.renew(executor, error)
            executor = self.pool.executor
            future = self.pool.submit(call)
        self.in_flight[item.key] = _Submitted(item, future, executor)
        future.add_done_callback(partial(self._note, item.key))

    def _note(self, key: str, future: Future[Any]) -> None:
        self.ended.put((key, future))

    def _reply(self, submitted: _Submitted) -> tuple[Reply, bool]:
        """How an item ended, and whether that is known to be its own doing."""
        try:
            found: Reply = submitted.future.result()
        except _CANNOT_RUN as error:
            raise WorkFailed(_unable(error)) from error
        except (Exception, CancelledError) as error:
            status, is_certain = _end_of(error)
            if isinstance(error, BrokenExecutor):
                self.pool.renew(submitted.executor, error)
            return Reply(status, None, _described(error)), is_certain
        return found, True

    def _outcome(self, item: Item, reply: Reply) -> Outcome:
        failed = self.failures.get(item.key, 0)
        tries = failed + 1 if reply.status in ("done", "raised") else failed
        return Outcome(
            item.key, reply.status, reply.value, reply.reason, tries, reply.seconds, reply.worker
        )


def _end_of(error: BaseException) -> tuple[Status, bool]:
    if isinstance(error, WorkerFailed):
        return status_of(error), True
    return "lost", False


def _described(error: BaseException) -> str:
    text = str(error)
    return text if type(error).__module__.startswith("tilewright.") else (
        f"{type(error).__name__}: {text}" if text else type(error).__name__
    )  # fmt: skip


def _unable(error: Exception) -> str:
    if isinstance(error, OtherVersion):
        return str(error)
    return (
        f"a worker cannot do this work: {type(error).__name__}: {error}; workers need Tilewright "
        "and the modules of the work (start them in the checkout, with PYTHONPATH=src:.)"
    )
