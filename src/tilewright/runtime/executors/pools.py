"""Which executor does the work: this process, processes of this machine, a cluster, or any given.

    pool_of(None)                      this process, one item after another
    pool_of(8)                         eight processes
    pool_of("tcp://10.0.0.1:8786")     the workers of a Dask scheduler
    pool_of(executor)                  loky, mpi4py.futures, Ray, ...: whatever has `submit`
    pool_of(make_executor)             the same from a factory, which is called again when it broke

Items run in processes of our own on every worker but ours, so that one item cannot end a worker or
spoil its memory (`worker.perform_apart`); `is_apart=False` runs them in the worker itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tilewright.runtime.executors.work import Json
from tilewright.runtime.executors.worker import perform, perform_apart

Where: TypeAlias = "int | str | Executor | Callable[[], Executor] | None"
"""What names an executor."""

_WINDOW = 256
"""Items that a foreign executor, whose size is unknown, has at a time."""
_PER_PROCESS = 2
_RENEWALS = 3
"""How many times a broken executor is made anew."""


class ExecutorLost(Exception):
    """The executor broke and cannot be made anew."""


class Here(Executor):
    """This process: a call is done when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class Pool:
    """An executor, how it is fed, and how it ends."""

    executor: Executor
    window: int
    """How many items it gets at a time."""
    name: str
    is_apart: bool = False
    patience_s: float | None = None
    factory: Callable[[], Executor] | None = None
    end: Callable[[], None] = lambda: None
    """Gives up what is in flight."""
    _renewals: int = field(default=0, init=False)

    def submit(self, call: tuple[str, str, Json]) -> Future[Any]:
        if self.is_apart:
            return self.executor.submit(perform_apart, *call, self.patience_s)
        return self.executor.submit(perform, *call)

    def renew(self, broken: Executor, error: Exception) -> None:
        """Replace a broken executor, unless another of its items has already seen to that."""
        if broken is not self.executor:
            return
        self._renewals += 1
        if self.factory is None:
            raise ExecutorLost(
                f"{self.name} broke ({type(error).__name__}: {error}), and cannot be made anew: "
                "pass a function that makes the executor instead of the executor itself"
            ) from error
        if self._renewals > _RENEWALS:
            raise ExecutorLost(
                f"{self.name} broke {self._renewals} times: {type(error).__name__}: {error}"
            ) from error
        self.executor = self.factory()

    def abandon(self) -> None:
        """Give up what is in flight."""
        self.end()


def where_of(jobs: int | None, cluster: str | None) -> Where:
    """What the flags ``--jobs`` and ``--cluster`` name."""
    if jobs is not None and cluster is not None:
        raise ValueError(
            "--jobs and --cluster exclude each other: the workers of a cluster are its own"
        )
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs: expected the number of processes, 1 or more, got {jobs}")
    return jobs if cluster is None else cluster


@contextmanager
def pool_of(
    where: Where, *, patience_s: float | None = None, is_apart: bool = True
) -> Generator[Pool]:
    """The executor that `where` names; one that is made here ends with the ``with``."""
    if where is None:
        yield Pool(Here(), 1, "this process")
    elif isinstance(where, int):
        # Other executors need no processes of ours on this machine.
        from tilewright.runtime.executors.processes import processes

        with processes(where, patience_s=patience_s) as own:
            yield Pool(own, where * _PER_PROCESS, f"{where} processes", end=own.stop)
    elif isinstance(where, str):
        # Dask is an extra.
        from tilewright.runtime.executors.cluster import dask_executor

        with dask_executor(where) as (executor, threads, end):
            window = max(threads * _PER_PROCESS, threads + 1)
            yield Pool(executor, window, where, is_apart, patience_s, end=end)
    else:
        given = where() if callable(where) and not isinstance(where, Executor) else where
        if not hasattr(given, "submit"):
            raise TypeError(
                "expected an executor, a number of processes or the address of a cluster, got "
                f"{where!r}"
            )
        factory = where if given is not where else None
        window = getattr(given, "_max_workers", None) or _WINDOW
        yield Pool(
            given,
            max(window, os.cpu_count() or 1) * _PER_PROCESS,
            type(given).__name__,
            is_apart,
            patience_s,
            factory,  # pyright: ignore[reportArgumentType]
        )
