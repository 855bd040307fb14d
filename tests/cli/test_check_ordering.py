"""``tilewright check`` for scripts with `tlx` tasks: reports of missing orders, and the timeline."""

import sys
from pathlib import Path

import pytest

from tilewright.cli import execution, main

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def handed_over(out_ptr):
    box = tlx.local_alloc((32,), tl.int32, 1)
    spare = tlx.local_alloc((32,), tl.int32, 1)
    ready = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            {wait}
            tl.store(out_ptr + tl.arange(0, 32), tlx.local_load(box[0]))
        with tlx.async_task(num_warps=1):
            tlx.local_store(box[0], tl.arange(0, 32) * 3)
            {extra}
            tlx.barrier_arrive(ready[0], 1)


out = np.zeros(32, np.int32)
handed_over[(1,)](out)
print((out == np.arange(32) * 3).all())
"""
WAIT = "tlx.barrier_wait(ready[0], 0)"


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs `tilewright VERB FLAGS script`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(
        *arguments: str, wait: str = WAIT, extra: str = "pass", behind: tuple[str, ...] = ()
    ) -> tuple[int, str, str]:
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(wait=wait, extra=extra))
        return main.run([*arguments, "script.py", *behind]), *capsys.readouterr()

    return run


def test_a_right_kernel_passes(command):
    code, out, err = command("check", "--schedules", "5")
    assert (code, out) == (0, "True\n")
    assert err == "tilewright check: 1 launch of 1 kernel, 1 program: no fault\n"


def test_a_missing_wait_is_found_though_the_order_was_lucky(command):
    """Seed 0 runs the writer first: the result is right, the kernel is not."""
    code, _, err = command("check", "--schedules", "1", wait="pass")
    lines = err.splitlines()
    assert code == 1
    assert "script.py:14:" in lines[0] or "script.py:16:" in lines[0]
    assert "error[TW6132]: missing wait: " in lines[0]
    assert "access the same 128 bytes of shared memory, and nothing orders them" in lines[0]
    assert "note: missing: default does not wait for the phase of ready[0]" in err
    assert "note: smallest fix: call tlx.barrier_wait on ready (parity 0) before this" in err
    assert "note: witness: program (0, 0, 0), schedule with seed 0" in err
    assert lines[-1] == "tilewright check: fault in handed_over"


SPARE = "tlx.local_store(spare[0], tl.arange(0, 32))"


def test_a_buffer_nobody_reads_is_reported(command):
    code, out, err = command("check", extra=SPARE)
    assert (code, out) == (1, "True\n")
    assert "script.py:17:" in err
    assert "error[TW6139]: buffer never read: no task reads spare, which partition0 writes" in err
    assert err.endswith("tilewright check: 1 launch of 1 kernel, 1 program: 1 report\n")


def test_a_buffer_nobody_reads_may_be_allowed(command):
    code, out, err = command("check", "--allow-unread", extra=SPARE)
    assert (code, out) == (0, "True\n")
    assert "warning[TW6139]: buffer never read: no task reads spare, which partition0 writes" in err
    assert err.endswith(": no fault\n")
    code, _, err = command("run", "--allow-unread")
    assert code == 2
    assert "--allow-unread applies to 'tilewright check' only" in err


def test_the_timeline_is_one_file(command):
    code, _, err = command("check", "--timeline", "out.html")
    assert code == 0
    assert "tilewright check: out.html: program (0, 0, 0), schedule with seed 0\n" in err
    page = Path("out.html").read_text()
    for text in ("Tasks", "partition0", "waits for parity 0 of ready[0] script.py:13", "box[0]"):
        assert text in page


def test_flags_may_stand_right_behind_the_script(command):
    behind = ("--schedules", "2", "--timeline=out.html", "--allow-unread")
    code, _, err = command("check", extra=SPARE, behind=behind)
    assert (code, Path("out.html").exists()) == (0, True)
    assert "warning[TW6139]" in err
    code, _, err = command("check", behind=("--schedules", "none"))
    assert (code, err) == (2, "tilewright check: --schedules: 'none' is not an integer >= 1\n")


@pytest.mark.parametrize(
    ("behind", "wanted"),
    [
        (("--", "--schedules", "none"), ["--schedules", "none"]),
        (("size", "--schedules", "none"), ["size", "--schedules", "none"]),
        (("--stats",), ["--stats"]),
    ],
)
def test_what_follows_belongs_to_the_script(command, monkeypatch, behind, wanted):
    given: list[str] = []
    monkeypatch.setattr(execution, "run_file", lambda file, arguments: given.extend(arguments))
    code, _, err = command("check", behind=behind)
    assert (code, given) == (1, wanted)
    assert "no kernel was launched" in err


def test_the_timeline_of_a_fault_lists_it(command):
    code, _, _ = command("check", "--timeline=out.html", wait="pass")
    assert code == 1
    assert "<li>missing wait: " in Path("out.html").read_text()


def test_wrong_uses_of_the_flag_are_told(command):
    code, _, err = command("run", "--timeline", "out.html")
    assert (code, err) == (
        2,
        "tilewright run: --timeline applies to 'tilewright check' only\n",
    )
    code, _, err = command("check", "--timeline", "no/such/folder/out.html")
    assert code == 2
    assert "cannot write 'no/such/folder/out.html': No such file or directory" in err
