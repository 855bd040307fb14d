"""An executor of processes that may die.

    with Processes(8, patience_s=60) as executor:
        futures = [executor.submit(function, value) for value in values]

A process that ends takes the one call with it that it was busy with: its future has a
`ProcessEnded`, and the next call gets a new process. `concurrent.futures.ProcessPoolExecutor` would
give up all calls instead. A call that takes longer than `patience_s` is ended the same way.

Processes are started by name, not by `multiprocessing`: that would run the user's script once more
in each, and is not allowed in the daemons that workers of Dask are. One starts when there is work
for it. They find the modules that this process finds.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import IO, Any, Literal, ParamSpec, TypeVar, cast

from typing_extensions import override

from tilewright.targets.triton.worker import receive, send

P = ParamSpec("P")
R = TypeVar("R")
MODULE = "tilewright.runtime.executors.serving"
_Call = tuple["Future[Any]", tuple[Any, ...]]


class ProcessEnded(Exception):
    """The process of a call ended before the call did."""

    status: Literal["died", "hung"] = "died"


class ProcessHung(ProcessEnded):
    """It was silent for too long, and was ended."""

    status = "hung"


class Processes(Executor):
    """Up to `count` processes, each with one call at a time."""

    def __init__(self, count: int, *, patience_s: float | None = None) -> None:
        if count < 1:
            raise ValueError(f"the number of processes must be at least 1, got {count}")
        self.count = count
        self._patience_s = patience_s
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = threading.Semaphore(0)
        """One for each thread that waits for a call."""
        self._threads: list[threading.Thread] = []
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    @override
    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot submit a call after shutdown")
            self._calls.put((future, (fn, args, kwargs)))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self.count:
                thread = threading.Thread(target=self._serve, daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when they have done their calls; without `wait`, at once."""
        with self._lock:
            self._is_closed = True
        if cancel_futures or not wait:
            with contextlib.suppress(queue.Empty):
                while True:
                    call = self._calls.get_nowait()
                    if call is not None:
                        call[0].cancel()
        for _ in self._threads:
            self._calls.put(None)
        if not wait:
            self.kill()
            return
        for thread in self._threads:
            thread.join()

    def kill(self) -> None:
        """End all processes at once, whatever they do."""
        with self._lock:
            self._is_closed = True
            for process in self._running:
                process.kill()

    def process_ids(self) -> tuple[int, ...]:
        """Of the processes that run at the moment."""
        with self._lock:
            return tuple(each.pid for each in self._running)

    # -- a thread for each process -----------------------------------------------------------

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while (call := self._calls.get()) is not None:
            future, request = call
            if future.set_running_or_notify_cancel():
                process = self._do_call(future, request, process)
            self._idle.release()
        if process is not None:
            self._end(process)

    def _do_call(
        self, future: Future[Any], request: tuple[Any, ...], process: subprocess.Popen[bytes] | None
    ) -> subprocess.Popen[bytes] | None:
        """Do one call; the process for the next one, if it can be used again."""
        if process is not None and process.poll() is not None:
            self._end(process)  # it died while it had nothing to do
            process = None
        try:
            process = process or self._started()
            is_done, outcome, is_spoiled = self._reply(process, request)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            assert process is not None
            future.set_exception(ProcessEnded(_how(process.wait())))
            self._end(process)
            return None
        except ProcessHung as hung:
            assert process is not None
            self._end(process)
            future.set_exception(hung)
            return None
        except Exception as error:  # a request that cannot be sent, a process that cannot start
            if process is not None:
                self._end(process)
            future.set_exception(error)
            return None
        if is_spoiled:
            self._end(process)
        if is_done:
            future.set_result(outcome)
        else:
            future.set_exception(outcome)
        return None if is_spoiled else process

    def _reply(self, process: subprocess.Popen[bytes], request: tuple[Any, ...]) -> Any:
        assert process.stdin is not None and process.stdout is not None
        send(cast("Any", process.stdin), request)
        if not _has_replied(process.stdout, self._patience_s):
            process.kill()
            raise ProcessHung(f"silent for {self._patience_s:g} s")
        return receive(cast("Any", process.stdout))

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise ProcessEnded("the executor was shut down")
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": _path()},
                process_group=0,  # Ctrl-C is for this process, which ends them
            )
            self._running.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()
        with self._lock:
            self._running.discard(process)


def _path() -> str:
    """Where this process finds modules, for another one."""
    return os.pathsep.join(each or os.getcwd() for each in sys.path)  # noqa: PTH109


def _has_replied(replies: IO[bytes], seconds: float | None) -> bool:
    """Wait for the beginning of a reply, or the end of the process."""
    poll = select.poll()  # unlike `select`, takes files of any number
    poll.register(replies, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _how(code: int) -> str:
    return (
        f"the process ended with signal {-code}" if code < 0 else f"the process exited with {code}"
    )
