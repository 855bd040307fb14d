"""Compile in a process next to the user's.

Triton and LLVM end the process they run in when something they never expected happens, and with it
an user's notebook or training run. So a helper process does the compiling: if it dies, the user
reads which stage of which kernel it was. It also keeps Triton out of a process in which `compat`
has put Tilewright under that name, gives its diagnostics a location of their own, and several of
them compile at the same time.

A helper is started when one is needed, stays a while for the next job, and ends with the process
that started it at the latest. ``TILEWRIGHT_COMPILE=inline`` does without, for a debugger.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from tilewright.targets.triton import adapter, installation
from tilewright.targets.triton.messages import TritonMessage, parse
from tilewright.targets.triton.ptxas import PtxasFailed
from tilewright.targets.triton.worker import receive, respond, send

_MODULE = "tilewright.targets.triton.worker"
_SOURCE = Path(__file__).parents[3]
_ATTEMPTS = 3


class Crashed(Exception):
    """The helper process ended in the middle of a job."""


class Gone(Exception):
    """The helper process ended of its own accord, before the job began."""


class _Helper:
    """One helper process and what it writes to standard error."""

    def __init__(self) -> None:
        self.settings = installation.fingerprint()
        # Closed in `close`, after the process that writes to it.
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.read_to = 0
        path = os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH", "")]))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": path},
        )

    def do(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            send(cast("Any", self.process.stdin), request)
            return receive(cast("Any", self.process.stdout))
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            raise (Crashed(_ending(code)) if code else Gone) from None

    def new_output(self) -> str:
        """What was written to standard error since the last time."""
        self.errors.seek(self.read_to)
        text = self.errors.read()
        self.read_to += len(text)
        return text.decode("utf-8", errors="replace")

    def is_usable(self) -> bool:
        return self.process.poll() is None and self.settings == installation.fingerprint()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


# Helpers of this process that have nothing to do. After a fork they belong to the parent.
_idle: list[_Helper] = []
_owner = os.getpid()
_lock = threading.Lock()


@atexit.register
def _end_idle() -> None:
    """They would end by themselves; this leaves nothing to be swept up."""
    while _owner == os.getpid() and _idle:
        helper = _idle.pop()
        helper.process.kill()
        helper.close()


@contextmanager
def _helper() -> Generator[_Helper]:
    global _owner
    with _lock:
        if _owner != os.getpid():
            _idle.clear()
            _owner = os.getpid()
        found = _idle.pop() if _idle else None
    if found is not None and not found.is_usable():
        found.close()
        found = None
    helper = found or _Helper()
    try:
        yield helper
    except BaseException:
        helper.process.kill()
        helper.close()
        raise
    with _lock:
        _idle.append(helper)


def build(
    text: str, way: adapter.Way, options: adapter.BuildOptions, path: Path
) -> tuple[adapter.Built, TritonMessage]:
    """As `adapter.build`, and Triton's output. Failures carry it as ``output``."""
    request = (text, way, options, path)
    if os.environ.get("TILEWRIGHT_COMPILE") == "inline" or not sys.executable:
        response, output = (
            respond(request),
            TritonMessage(),
        )  # Triton's output goes to standard error
    else:
        response, output = _send_request(request)
    if output.other:
        # LLVM repeats some of its lines for every function.
        sys.stderr.writelines(f"{line}\n" for line in dict.fromkeys(output.other.splitlines()))
    try:
        return _outcome(response), output
    except adapter.TritonRefused as refused:
        raise Failed(f"stage {refused.stage}", refused.reason, output) from None


def _send_request(request: tuple[Any, ...]) -> tuple[tuple[Any, ...], TritonMessage]:
    """The response of a helper, and its output meanwhile."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(Gone), _helper() as helper:
            try:
                return helper.do(request), parse(helper.new_output())
            except Crashed as crashed:
                output = parse(helper.new_output())
                reason = f"it exited with {crashed}"
                raise Failed("the compiler process", reason, output) from None
    raise Failed("the compiler process", "it exits before the first request", TritonMessage())


class Failed(Exception):
    """Triton failed: the stage, its reason, and its output before."""

    def __init__(self, stage: str, reason: str, output: TritonMessage) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
        self.output = output


def _outcome(response: tuple[Any, ...]) -> adapter.Built:
    match response:
        case ("built", built):
            return built
        case ("refused", stage, reason):
            raise adapter.TritonRefused(stage, reason)
        case ("ptxas", text):
            raise PtxasFailed(text)
        case _:
            raise installation.TritonMissing(response[1])
