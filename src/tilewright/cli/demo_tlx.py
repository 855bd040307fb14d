"""The part of the demonstration in `tlx`: a Hopper kernel with roles, checked, and a barrier less.

`examples/tlx/hopper_gemm_ws.py` runs under several orders of events with nothing to report. Then
the consumers' wait for the copies is taken out, and the check names the two accesses, the bytes
they share and the barrier that is missing.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from tilewright.cli import check

_SCHEDULES = "3"
_WAIT = "tlx.barrier_wait(full"
_SHOWN = 12


def show(example: Path, emit: Callable[[str], None]) -> bool:
    """Check the kernel as it is, and without a wait; True if only the latter is reported."""
    lines = example.read_text().splitlines(keepends=True)
    broken = [line for line in lines if _WAIT not in line]
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        status, _, elapsed = _checked(example.name, lines)
        is_clean = status == 0 and len(broken) < len(lines)
        verdict = "nothing to report" if is_clean else "REPORTED"
        emit(f"   {_SCHEDULES} orders of events: {verdict} ({elapsed * 1e3:.0f} ms)")
        emit("   the same without the wait of the consumers:")
        status, report, _ = _checked(example.name, broken)
    for line in report.splitlines()[:_SHOWN]:
        emit("   " + line)
    return is_clean and status == 1 and "missing wait" in report


def _checked(name: str, lines: list[str]) -> tuple[int, str, float]:
    """Exit status, output, and time taken."""
    Path(name).write_text("".join(lines))
    output = io.StringIO()
    start = time.perf_counter()
    with redirect_stderr(output), redirect_stdout(io.StringIO()):
        status = check.run([name, "--schedules", _SCHEDULES], "tilewright check")
    elapsed = time.perf_counter() - start
    return status, output.getvalue().replace(f"{Path.cwd()}/", ""), elapsed
