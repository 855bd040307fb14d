"""Dask distributed as an executor: a scheduler, and workers on any number of machines.

    dask scheduler                                        on one machine
    dask worker tcp://HOST:8786 --nworkers 8 --nthreads 1 on each, in the checkout of the same state

A worker that dies gives its items back to the scheduler, which hands them to others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

INSTALL = "pip install 'tilewright[dask]'"
_CONNECT_SECONDS = 10.0
_WORKERS_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_SCHEMES = ("tcp", "tls", "ucx", "inproc")


class ClusterUnavailable(Exception):
    """There is no cluster to work on, and why."""


@contextmanager
def dask_executor(address: str) -> Generator[tuple[Executor, int, Callable[[], None]]]:
    """The executor of a scheduler, how many items its workers do at a time, and how to stop."""
    if address.partition("://")[0] not in _SCHEMES or "://" not in address:
        raise ClusterUnavailable(
            f"'{address}' is no address of a Dask scheduler; expected tcp://HOST:PORT"
        )
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ClusterUnavailable(
            f"{address} needs Dask, which is not installed: {INSTALL}"
        ) from error
    client: Any = None
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
    except TimeoutError as error:
        close(client)
        raise ClusterUnavailable(
            f"the Dask scheduler at {address} has no workers: start some with "
            f"'dask worker {address}'"
            if client is not None
            else f"no Dask scheduler responds at {address}: start one with 'dask scheduler'"
        ) from error
    except OSError as error:
        close(client)
        raise ClusterUnavailable(
            f"no Dask scheduler responds at {address}: start one with 'dask scheduler'"
        ) from error
    try:
        threads = sum(client.nthreads().values())
        # Results are merged by our keys. Dask's own would keep results of earlier runs.
        executor: Any = client.get_executor(pure=False)
        yield executor, max(threads, 1), lambda: _cancel(executor)
    finally:
        close(client)


def _cancel(executor: Any) -> None:
    with suppress(Exception):  # the scheduler may be what went away
        executor.shutdown(wait=False, cancel_futures=True)


def close(client: Any) -> None:
    """Leave the cluster as it is."""
    if client is not None:
        with suppress(Exception):
            client.close(timeout=_CLOSE_SECONDS)
