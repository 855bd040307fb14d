"""Several compilers in parallel, each in its own process.

    with Compilers(8) as compilers:
        futures = [compilers.compile(module, settings) for module in modules]

Passes and emitters are Python, so threads would be serialised. The processes are started, not
forked: CUDA does not survive a fork. They are started by name, not by `multiprocessing`, which
would run the user's script once more in each of them. One starts when there is work for it; all
of them end with the ``with``, whatever they are doing: they write nothing to the disk.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.hip.errors import HipCompilerMissing
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.triton.worker import receive, send

WORKERS = "TILEWRIGHT_COMPILE_WORKERS"
"""The environment variable with the number of processes that compile in parallel."""
_MAX_WORKERS = 32
"""Each of them takes some hundred megabytes."""
_MODULE = "tilewright.targets.cuda.worker"
_SOURCE = Path(__file__).parents[3]


class CompilerFailed(Exception):
    """The process that compiled a kernel died, took too long, or had an unexpected error."""


def worker_count(jobs: int, requested: int | None = None) -> int:
    """How many processes to start for `jobs`: the requested number, or one for each core.

    A process takes as long to start as two kernels take to compile, so each gets two at least.
    """
    given = os.environ.get(WORKERS, "")
    if requested is None and given:
        if not given.isdecimal() or int(given) == 0:
            raise ValueError(f"{WORKERS} must be at least 1, got {given!r}")
        requested = int(given)
    if requested is not None and requested < 1:
        raise ValueError(f"num_workers must be at least 1, got {requested}")
    if os.environ.get("TILEWRIGHT_COMPILE") == "inline" or not sys.executable:
        return 1
    return max(1, min(requested or _cores(), _MAX_WORKERS, jobs // 2))


def _cores() -> int:
    """Those that this process may use."""
    with contextlib.suppress(AttributeError):  # not available on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Compilers:
    """Up to `count` processes that compile."""

    def __init__(self, count: int, timeout_seconds: float | None = None) -> None:
        self._timeout = timeout_seconds
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(count, "compiler")

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            for process in self._processes:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            _close(process)

    def compile(self, module: ModuleOp, settings: Settings | HipSettings) -> Future[Any]:
        """What `compile_as` of the target makes of a module, or raises."""
        text = print_module(module, generic=True, locations=True)
        return self._threads.submit(self._compiled, text, settings)

    def _compiled(self, text: str, settings: Settings | HipSettings) -> Any:
        process = self._process()
        assert process.stdin is not None and process.stdout is not None
        try:
            send(cast("Any", process.stdin), (text, settings))
            if not _has_replied(process.stdout, self._timeout):
                raise CompilerFailed(f"compilation timed out after {self._timeout:g} s")
            sent = receive(cast("Any", process.stdout))
        except (EOFError, BrokenPipeError):
            code = process.wait()
            self._end(process)
            raise CompilerFailed(f"the compiler process exited with {code}") from None
        except CompilerFailed:
            self._end(process)
            raise
        return _outcome(sent)

    def _process(self) -> subprocess.Popen[bytes]:
        """The one of this thread."""
        found = getattr(self._own, "process", None)
        if found is None:
            with self._lock:
                if self._is_closed:
                    raise CompilerFailed("compilation was stopped")
                found = self._own.process = _started()
                self._processes.append(found)
        return found

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """The next job of this thread gets another one."""
        process.kill()
        self._own.process = None


def _has_replied(replies: IO[bytes], seconds: float | None) -> bool:
    """Wait for the beginning of a reply, or the end of the process."""
    poll = select.poll()  # unlike `select`, takes files of any number
    poll.register(replies, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _started() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        process_group=0,  # Ctrl-C is for the user's program, which ends them
    )


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _outcome(sent: tuple[Any, ...]) -> Any:
    match sent:
        case ("compiled", program):
            return program
        case ("wrong", diagnostics):
            engine = DiagnosticEngine()
            for each in diagnostics:
                engine.emit(each)
            raise CompileError(engine)
        case ("refused", message, log, source, kind):
            raise kind(message, log, source)
        case ("missing", message):
            raise HipCompilerMissing(message)
        case _:
            raise CompilerFailed(sent[1])
