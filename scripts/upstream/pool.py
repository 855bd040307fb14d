"""Work in parallel that Ctrl-C ends early, with what there is by then.

    for each in in_parallel(jobs, run_file, files):
        found.append(each)

The processes that run files are in the foreground group, so they get the interrupt too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

stopped = Event()
"""Set by Ctrl-C: nothing is started after it."""


def in_parallel(jobs: int, perform: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Results in the order of the items; after Ctrl-C those there are, and nothing is started."""
    if stopped.is_set():
        return
    pool = ThreadPoolExecutor(jobs)
    futures = [pool.submit(perform, item) for item in items]
    shown = 0
    try:
        for future in futures:
            found = future.result()
            shown += 1
            yield found
    except KeyboardInterrupt:
        stopped.set()
        sys.stderr.write("interrupted: what has ended so far is kept\n")
        ended = [each for each in futures[shown:] if each.done() and not each.cancelled()]
        yield from (each.result() for each in ended if each.exception() is None)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
