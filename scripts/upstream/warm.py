"""Processes that have imported what they need: a server that forks one for each job.

Importing torch, Tilewright and pytest takes longer than most files of a suite. A module that has
jobs calls `serve` in a process of its own, after its imports; `Warm` starts that process, and has
each job done by a child of it, in a session of its own, so that a job that runs past its limit ends
with everything it has started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

Job = Mapping[str, Any]
_ROOT = Path(__file__).resolve().parents[2]

SETTINGS = {
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": os.pathsep.join(
        [f"{_ROOT}/src", str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    ),
}
"""Variables of every server; the caller's PYTHONPATH, which torch may be on, stays."""


class Warm:
    """The server of one thread."""

    def __init__(self, module: str, env: Mapping[str, str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", module, "--serve"],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, job: Job, *, directory: str, env: Mapping[str, str], limit: float
    ) -> tuple[bool, str]:
        """Whether the job ended within `limit` seconds, and its output."""
        output = Path(directory) / "output.txt"
        order = {"job": job, "directory": directory, "env": env, "limit": limit}
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps({**order, "output": str(output)}) + "\n")
        self._server.stdin.flush()
        has_ended = self._server.stdout.readline().strip() == "ended"
        return has_ended, output.read_text(errors="replace") if output.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


def serve(perform: Callable[[Job], None]) -> None:
    """Do the jobs that come in, one after another."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what imports print is no answer
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order, perform)
        answers.write("ended\n" if _wait(child, order["limit"]) else "stopped\n")
        answers.flush()


def _wait(child: int, limit: float) -> bool:
    """Whether `child` ends within `limit` seconds; it is ended where it does not."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _become(order: Mapping[str, Any], perform: Callable[[Job], None]) -> None:
    """In the child: do the job, and end without the server's own ending."""
    status = 0
    try:
        os.setsid()
        os.environ.update(order["env"])
        os.chdir(order["directory"])
        output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, output), (2, output)):
            os.dup2(source, target)
        perform(order["job"])
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
