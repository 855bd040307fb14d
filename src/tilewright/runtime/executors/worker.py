"""What happens to an item on a worker: the function is called, and its end is described.

`perform` is what executors are given. In a process of our own (`processes`) it calls the function
at once. An executor of another library may not survive an item that ends its process, or may run
several items in threads of one: `perform_apart` has a process of its own for the item, which it
replaces when it died, was silent for too long, or was spoiled.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.runtime.executors.work import (
    Json,
    OtherVersion,
    Spoiled,
    Status,
    function_named,
    version_of,
)

if TYPE_CHECKING:
    from tilewright.targets.worker_pool import WorkerPool

_CUDA_ERRORS = ("tilewright.runtime.cuda.errors", "CudaError")
"""A fault of the GPU ends every later call of its process."""


@dataclass(frozen=True)
class Reply:
    """How an item ended, as a value that can be sent."""

    status: Status
    value: Json = None
    reason: str = ""
    seconds: float = 0.0
    worker: str = ""
    is_spoiled: bool = False
    """Whether the process must not be used any more."""


def perform(function: str, version: str, value: Json) -> Reply:
    """Call the function; whatever it raises is the reply."""
    here = f"{socket.gethostname()}:{os.getpid()}"
    own = version_of(function)
    if own != version:
        raise OtherVersion(
            f"the worker {here} has other sources of {function} than this process ({own[:8]}, not "
            f"{version[:8]}): start workers in a checkout of the same state"
        )
    begun = time.perf_counter()
    try:
        found = function_named(function)(value)
        # What a log or another machine returns is what this process returns: no tuples.
        found = json.loads(json.dumps(found))
    except Exception as error:
        seconds = time.perf_counter() - begun
        reason = f"{type(error).__name__}: {error}"
        return Reply("raised", None, reason, seconds, here, is_spoiled=_spoils(error))
    return Reply("done", found, "", time.perf_counter() - begun, here)


def _spoils(error: Exception) -> bool:
    module, name = _CUDA_ERRORS
    loaded = sys.modules.get(module)
    return isinstance(error, Spoiled) or (
        loaded is not None and isinstance(error, getattr(loaded, name))
    )


_lock = threading.Lock()
_apart: list[WorkerPool] = []


def perform_apart(function: str, version: str, value: Json, patience_s: float | None) -> Reply:
    """The same in a process that the item may end."""
    # A worker of ours is such a process already, and does without.
    from tilewright.runtime.executors.processes import processes, status_of
    from tilewright.targets.worker_pool import WorkerFailed

    with _lock:
        if not _apart:
            _apart.append(processes(patience_s=patience_s))
            atexit.register(_apart[0].stop)
    begun = time.perf_counter()
    done = _apart[0].call(perform, function, version, value)
    sys.stderr.write(done.output)
    if isinstance(done.error, WorkerFailed):
        here = f"{socket.gethostname()}:{os.getpid()}"
        status = status_of(done.error)
        return Reply(status, None, str(done.error), time.perf_counter() - begun, here)
    return done.result()
