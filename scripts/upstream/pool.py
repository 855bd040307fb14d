"""Work in parallel that Ctrl-C ends early, with what there is by then.

    for each in in_parallel(jobs, run_file, files):
        found.append(each)

The processes that run files are in the foreground group, so they get the interrupt too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

stopped = Event()
"""Set by Ctrl-C: nothing is started after it."""


def in_parallel(jobs: int, perform: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Results as they are ready; after Ctrl-C, or an error, nothing more is started."""
    if stopped.is_set():
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        for future in as_completed([pool.submit(perform, item) for item in items]):
            yield future.result()
    except KeyboardInterrupt:
        stopped.set()
        sys.stderr.write("interrupted: what has ended so far is kept\n")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
