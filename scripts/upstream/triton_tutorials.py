"""Triton's tutorials 01 to 11, unmodified: each a process, with the smallest sizes it defines."""

from __future__ import annotations

import argparse
import json
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from scripts.upstream.pool import in_parallel
from scripts.upstream.result import STAND_INS, environment, last_line
from scripts.upstream.triton_plugin import Ending, TimeLimit, judgement

TUTORIALS = Path("python/tutorials")
GROUP = "tutorials"
_MODULE = "scripts.upstream.triton_tutorials"
_GRACE = 60.0
_ARGUMENTS_ON_A_CPU = {"09-persistent-matmul.py": ("--K_range", "32", "0")}
"""An empty range of sizes for benchmarks: those of that file repeat each GEMM 20,000 times."""


def tutorials(
    checkout: Path, *, limit: float, jobs: int = 1, only: Sequence[str] = ()
) -> Iterator[Ending]:
    """Run those that `only` names (parts of names; all of them without)."""
    paths = sorted((checkout / TUTORIALS).resolve().glob("[01][0-9]-*.py"))
    chosen = [path for path in paths if not only or any(part in path.name for part in only)]
    for ended in in_parallel(jobs, partial(_tutorial, limit=limit), chosen):
        sys.stdout.write(f"{ended.test}: {ended.ending} ({ended.seconds:.0f} s) {ended.reason}\n")
        sys.stdout.flush()
        yield ended


def _tutorial(path: Path, *, limit: float) -> Ending:
    name = f"{GROUP}::{path.name}"
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        command = [sys.executable, "-m", _MODULE, str(path), str(record), "--limit", str(limit)]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=scratch,
                env=environment(
                    MPLBACKEND="agg",
                    TILEWRIGHT_BENCH_SECONDS="0",  # a report stops after its first row
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=limit + _GRACE,
                check=False,
            )
            last = last_line(done.stdout)
        except subprocess.TimeoutExpired:
            last = "limit"
        seconds = time.monotonic() - start
        if not record.exists():
            return Ending(name, "time", last, seconds)
        ending, reason = json.loads(record.read_text())
        return Ending(name, ending, reason, seconds)


# -- one tutorial, in a process of its own --------------------------------------------------------


def perform(path: Path, record: Path, limit: float) -> None:
    """Run one tutorial in this process and write how it ended."""
    from tilewright.compat.finder import install

    def stop(*_: object) -> None:
        raise TimeLimit

    install()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(limit))
    sys.argv = [str(path), *(() if _has_gpu() else _ARGUMENTS_ON_A_CPU.get(path.name, ()))]
    sys.path[0] = str(path.parent)
    sys.path.append(str(STAND_INS))
    ended = ("passed", "")
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as left:
        if left.code not in (None, 0):
            ended = ("failed", f"exit code {left.code}")
    except BaseException as error:
        signal.alarm(0)
        traceback.print_exc()
        ended = judgement(error)
    signal.alarm(0)
    record.write_text(json.dumps(ended))


def _has_gpu() -> bool:
    # Asked of the driver: torch is imported by the tutorial, after the hooks are in place.
    from tilewright.runtime.cuda.driver import is_available

    return is_available()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--limit", type=float, default=600.0)
    given = parser.parse_args(arguments)
    perform(given.file, given.record, given.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
