"""``tilewright check`` on a terminal draws how far it is, and wipes the line at the end."""

import os
import re
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def through_a_buffer(out_ptr):
    box = tlx.local_alloc((32,), tl.int32, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            tl.store(out_ptr + tl.program_id(0) * 32 + tl.arange(0, 32), tlx.local_load(box[0]))
        with tlx.async_task(num_warps=4):
            tlx.local_store(box[0], tl.arange(0, 32) + tl.program_id(0))
            tlx.barrier_arrive(full[0], 1)


out = np.zeros((6, 32), np.int32)
through_a_buffer[(6,)](out)
assert (out == np.arange(32) + np.arange(6)[:, None]).all()
"""
# Launches of less than a second draw nothing; here every one counts as long.
COMMAND = """\
import sys
from tilewright.runtime import progress
progress._SILENT_SECONDS = progress._REFRESH_SECONDS = 0.0
from tilewright.cli.main import run
sys.exit(run(["check", "--schedules", "2", sys.argv[1]]))
"""


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """Exit code of a command, and what it writes to the terminal that is its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux's word for the end of a terminal
            break
        if not part:
            break
        seen += part
    os.close(ours)
    process.communicate()
    return process.returncode, seen.decode()


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_bar_counts_the_programs_of_all_schedules(script):
    code, seen = on_a_terminal([sys.executable, "-c", COMMAND, str(script)])
    assert code == 0
    counts = [
        int(n) for n in re.findall(r"\rthrough_a_buffer \[[#.]{30}\] (\d+)/12 programs", seen)
    ]
    assert counts == list(range(1, 12))  # 6 programs, twice; the twelfth wipes the line
    bars = re.findall(r"\[([#.]{30})\] 6/12", seen)
    assert bars == ["#" * 15 + "." * 15]
    assert seen.split("\r\x1b[K")[1].startswith("tilewright check: 1 launch of 1 kernel")


def test_a_bar_ends_where_the_other_schedules_would_be_the_same(script):
    lines = script.read_text().splitlines()
    first = next(n for n, line in enumerate(lines) if "alloc_barriers" in line)
    last = next(n for n, line in enumerate(lines) if "barrier_arrive" in line)
    body = (
        "    tlx.local_store(box[0], tl.arange(0, 32) + tl.program_id(0))\n"
        "    tl.store(out_ptr + tl.program_id(0) * 32 + tl.arange(0, 32), tlx.local_load(box[0]))"
    )
    script.write_text("\n".join([*lines[:first], body, *lines[last + 1 :]]))
    code, seen = on_a_terminal([sys.executable, "-c", COMMAND, str(script)])
    assert code == 0
    counts = re.findall(r"\rthrough_a_buffer \[[#.]{30}\] (\d+)/12 programs", seen)
    assert list(map(int, counts)) == list(range(1, 7))
    assert seen.split("\r\x1b[K")[1].startswith("tilewright check: 1 launch of 1 kernel")


def test_no_bar_without_a_terminal(script):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == "tilewright check: 1 launch of 1 kernel, 6 programs: no fault\n"
