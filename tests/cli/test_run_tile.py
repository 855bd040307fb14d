"""``tilewright run`` and ``tilewright check`` for scripts with kernels of `T`."""

import re
import subprocess
import sys

import pytest

from tilewright.cli import main

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def moved(A, wait, fill):
    M = T.const("M")
    A: T.Tensor((M,), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, 8), threads=32) as bx:
        part = T.alloc_shared((8,), "float32")
        other = T.alloc_fragment((8,), "float32")
        if fill:
            T.clear(other)
        T.async_copy(A[bx * 8 : bx * 8 + 8], part)
        T.ptx_commit_group()
        if wait:
            T.ptx_wait_group(0)
        for i in T.Parallel(8):
            B[bx * 8 + i] = part[i] + other[i]
    return B


a = np.arange(24, dtype=np.float32)
print((moved(a, {wait}, {fill}) == a).all())
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs `tilewright VERB FLAGS script`, with a script that waits, or fills, or does not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(*arguments: str, wait: bool = True, fill: bool = True) -> tuple[int, str, str]:
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(wait=wait, fill=fill))
        return main.run([*arguments, str(path)]), *capsys.readouterr()

    return run


def test_a_kernel_runs_and_is_counted(command):
    code, out, err = command("run", "--stats")
    assert (code, out) == (0, "True\n")
    lines = err.splitlines()
    assert lines[0] == "tilewright run: 1 launch of 1 kernel, 3 programs"
    assert re.fullmatch(r"  moved  1 launch  3 programs  3 batches  0\.\d{3} s", lines[1])


@pytest.mark.parametrize(
    ("flags", "programs"), [((), 4 * 3), (("--schedules", "2"), 2 * 3), (("--schedules=1",), 3)]
)
def test_check_tries_several_orders_of_events(command, flags, programs):
    code, out, err = command("check", *flags)
    assert (code, out) == (0, "True\n")
    assert err == f"tilewright check: 1 launch of 1 kernel, {programs} programs: no fault\n"


def test_bytes_that_have_not_arrived_are_a_fault(command):
    code, out, err = command("check", wait=False)
    assert (code, out) == (1, "")
    assert "error[TW6120]" in err
    assert "B[bx * 8 + i] = part[i] + other[i]" in err
    assert err.endswith("tilewright check: fault in moved\n")


def test_memory_that_nobody_wrote_is_a_fault(command):
    code, out, err = command("run", fill=False)
    assert (code, out) == (1, "")
    assert "script.py:21:" in err
    assert "error[TW6107]: read of uninitialised other[0]" in err
    assert "Traceback" not in err


def test_schedules_are_numbers(command):
    code, _, err = command("check", "--schedules", "many")
    assert code == 2
    assert err == "tilewright check: --schedules: 'many' is not an integer >= 1\n"


def test_a_script_that_needs_tilelang_is_told_of_compat(tmp_path):
    file = tmp_path / "theirs.py"
    file.write_text("import tilelang\nraise RuntimeError\n")
    command = [sys.executable, "-m", "tilewright", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "this script imports tilelang: --compat runs its kernels on Tilewright" in done.stderr
