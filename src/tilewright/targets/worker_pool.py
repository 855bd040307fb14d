"""Functions called in processes of their own: what they raise is raised here, and a crash is too.

    with WorkerPool(8, name="compiler", timeout_seconds=100) as pool:
        futures = [pool.submit(compile_text, text, settings) for text in texts]

Compilers end the process they run in when something they never expected happens, and with it a
user's notebook or training run; and what is Python in them would be serialised in threads.

The pool is a `concurrent.futures.Executor`. It differs from that of the standard library in what
compiling needs: a call may take only so long; a process that dies costs its own call, which names
the signal, and is replaced; leaving the ``with`` by an exception ends calls in flight. Processes
are started, not forked (CUDA does not survive a fork), and by name: `multiprocessing` would run the
user's script once more in each of them. One is started when there is a call for it, stays a while
for the next one, and ends with this process at the latest.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from typing_extensions import override

from tilewright.targets.worker import receive, send

MODULE = "tilewright.targets.worker"
"""The program of a process."""
_SOURCE = Path(__file__).parents[2]
_ATTEMPTS = 3


class WorkerFailed(Exception):
    """A process died, took too long, or was stopped."""

    def __init__(self, name: str, reason: str, *, is_hung: bool = False) -> None:
        super().__init__(name, reason)
        self.reason = reason
        """``exited with SIGKILL``."""
        self.is_hung = is_hung
        """Whether it took too long."""

    def __str__(self) -> str:
        return f"the {self.args[0]} process {self.reason}"


class _Gone(Exception):
    """The process ended of its own accord, before the call began."""


@dataclass(frozen=True)
class Reply:
    """What a call came to."""

    value: Any
    error: Exception | None
    output: str = ""
    """What the process wrote to standard error, and printed, meanwhile."""

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def is_inline() -> bool:
    """Whether to compile without processes: for a debugger, or in a program that embeds Python."""
    return os.environ.get("TILEWRIGHT_COMPILE") == "inline" or not sys.executable


def call_here(function: Callable[..., Any], *args: Any) -> Reply:
    """The call in this process; its output is not collected."""
    try:
        return Reply(function(*args), None)
    except Exception as error:
        return Reply(None, error)


class WorkerPool(Executor):
    """Processes that call functions."""

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        name: str = "worker",
        timeout_seconds: float | None = None,
        niceness: int = 0,
        settings: Callable[[], object] = lambda: None,
        shares_path: bool = False,
        is_last: Callable[[Any], bool] = lambda _: False,
    ) -> None:
        """`max_workers` limits what `submit` starts; `settings` is what a process depends on.

        A process serves no further calls if it was started with other settings, or after it
        returned a value that `is_last`. With `shares_path` it finds the modules that this one
        finds; else those of Tilewright, of installed packages and of ``PYTHONPATH``.
        """
        self._name = name
        self._timeout = timeout_seconds
        self._niceness = niceness
        self._settings = settings
        self._shares_path = shares_path
        self._is_last = is_last
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._owner = os.getpid()
        self._is_stopped = False
        self._threads = ThreadPoolExecutor(max_workers, self._name)

    @override
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._submitted, fn, args, kwargs)

    def _submitted(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        reply = self.call(function, *args, **kwargs)
        sys.stderr.write(reply.output)
        return reply.result()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Reply:
        """Call `function` and wait for it, in the thread of the caller."""
        request = pickle.dumps((function, args, kwargs))
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(_Gone):
                return self._reply(request)
        return Reply(None, WorkerFailed(self._name, "exits before the first request"))

    def _reply(self, request: bytes) -> Reply:
        worker = self._taken()
        try:
            value, error = worker.reply(request, self._timeout)
        except _Failed as failed:
            reason = "was stopped" if self._is_stopped else failed.reason
            fault = WorkerFailed(self._name, reason, is_hung=failed.is_hung)
            reply = Reply(None, fault, worker.new_output())
            self._end(worker)
            return reply
        except BaseException:
            self._end(worker)
            raise
        reply = Reply(value, error, worker.new_output())
        if self._is_last(value):
            self._end(worker)
            return reply
        with self._lock:
            self._busy.discard(worker)
            self._idle.append(worker)
        return reply

    def _taken(self) -> _Worker:
        """A process without a call, which now has one."""
        settings = self._settings()
        with self._lock:
            if self._owner != os.getpid():  # after a fork: they are the parent's
                self._idle.clear()
                self._busy.clear()
                self._owner = os.getpid()
            if self._is_stopped:
                raise WorkerFailed(self._name, "was stopped")
            while self._idle:
                worker = self._idle.pop()
                if worker.is_usable(settings):
                    break
                worker.close()
            else:
                path = (
                    [each or str(Path.cwd()) for each in sys.path]
                    if self._shares_path
                    else [os.environ.get("PYTHONPATH", "")]
                )
                worker = _Worker(self._niceness, settings, path)
            self._busy.add(worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        worker.process.kill()
        with self._lock:
            self._busy.discard(worker)
        worker.close()

    def process_ids(self) -> tuple[int, ...]:
        """Of the processes that there are at the moment."""
        with self._lock:
            return tuple(each.process.pid for each in (*self._idle, *self._busy))

    def end_idle(self) -> None:
        """End processes that have nothing to do. They would end by themselves, later."""
        while self._owner == os.getpid() and self._idle:
            self._end(self._idle.pop())

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self.end_idle()

    def stop(self) -> None:
        """End all processes, whatever they do; calls in flight raise `WorkerFailed`."""
        with self._lock:
            self._is_stopped = True
            for worker in self._busy:
                worker.process.kill()
        self.shutdown(cancel_futures=True)

    @override
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if exc_type is None:
            self.shutdown()
        else:
            self.stop()


class _Failed(Exception):
    """The process is of no use any more."""

    def __init__(self, reason: str, *, is_hung: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_hung = is_hung


class _Worker:
    """One process, and what it writes to standard error."""

    def __init__(self, niceness: int, settings: object, search: Sequence[str]) -> None:
        self._settings = settings
        # Closed in `close`, after the process that writes to it.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._read_to = 0
        path = os.pathsep.join(filter(None, [str(_SOURCE), *search]))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, str(niceness)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": path},
            process_group=0,  # Ctrl-C is for the user's program, which ends them
        )

    def reply(self, request: bytes, timeout: float | None) -> tuple[Any, Exception | None]:
        """Value and exception; raises `_Failed` or `_Gone`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            send(cast("Any", self.process.stdin), request)
            if not _has_replied(self.process.stdout, timeout):
                raise _Failed(f"timed out after {timeout:g} s", is_hung=True)
            return pickle.loads(receive(cast("Any", self.process.stdout)))
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            raise (_Failed(f"exited with {_ending(code)}") if code else _Gone) from None

    def new_output(self) -> str:
        """What was written to standard error since the last time."""
        self._errors.seek(self._read_to)
        text = self._errors.read()
        self._read_to += len(text)
        return text.decode("utf-8", errors="replace")

    def is_usable(self, settings: object) -> bool:
        return self.process.poll() is None and self._settings == settings

    def close(self) -> None:
        """Wait until it has ended, which it does when it reads the end of its requests."""
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()


def _has_replied(replies: IO[bytes], seconds: float | None) -> bool:
    """Wait for the beginning of a reply, or the end of the process."""
    poll = select.poll()  # unlike `select`, takes files of any number
    poll.register(replies, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
