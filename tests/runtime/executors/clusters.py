"""A Dask scheduler and worker processes, started by name as on real machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_S = 60


class Cluster:
    """A running scheduler."""

    def __init__(self, address: str) -> None:
        self.address = address

    def worker_processes(self) -> list[int]:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return list(client.run(os.getpid).values())

    def kill_a_worker(self) -> int:
        """End one worker process as a machine that loses power would."""
        process = self.worker_processes()[0]
        os.kill(process, signal.SIGKILL)
        return process


@contextmanager
def started(folder: Path, workers: int) -> Generator[Cluster]:
    """A scheduler with so many worker processes of one thread."""
    file = folder / "scheduler.json"
    given = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), *given])
    environment = {**os.environ, "PYTHONPATH": path}
    own = ["--scheduler-file", str(file), "--no-dashboard"]
    with (folder / "dask.log").open("wb") as log:

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, *own],
                cwd=folder, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
        others: list[subprocess.Popen[bytes]] = [scheduler]
        try:
            begun = time.monotonic()
            while not file.exists():
                assert scheduler.poll() is None, (folder / "dask.log").read_text()
                assert time.monotonic() - begun < _PATIENCE_S
                time.sleep(0.05)
            if workers:
                count = ("--nworkers", str(workers), "--nthreads", "1", "--host", "127.0.0.1")
                others.append(start("worker", *count, "--local-directory", str(folder)))
            yield Cluster(json.loads(file.read_text())["address"])
        finally:
            for each in reversed(others):
                each.terminate()
            for each in others:
                try:
                    each.wait(15)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()
