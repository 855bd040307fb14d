"""`tilewright check --jobs`: what is merged, what is repeated here, what a wrong use is told."""

import os
import sys
from pathlib import Path

import pytest

from tests.runtime.executors.kernels import RING
from tilewright.cli import check_worker, main
from tilewright.targets.numpy.tasks.kernel import TaskKernel

ROOT = Path(__file__).resolve().parents[3]
TILES = ROOT / "examples" / "tile"
READ = ("tlx.local_store(spare[0], value)", "pass")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main.run([*arguments])
        out, err = capsys.readouterr()
        lines = [line for line in err.splitlines() if not line.startswith("schedules: ")]
        return code, out, "\n".join(lines)

    return run


def test_processes_report_what_one_reports(command, tmp_path):
    (tmp_path / "ring.py").write_text(RING.format(factor=2).replace(*READ))
    (tmp_path / "lost.py").write_text(
        RING.format(factor=2).replace("tlx.barrier_arrive(empty[slot], 1)", "pass")
    )
    for name in ("ring.py", "lost.py"):
        here = command("check", name, "--schedules", "12", "--timeline", "here.html")
        across = command(
            "check", name, "--schedules", "12", "--jobs", "2", "--timeline", "there.html"
        )
        assert across[:2] == here[:2]
        assert across[2].replace("there.html", "here.html") == here[2]
        assert (tmp_path / "there.html").read_bytes() == (tmp_path / "here.html").read_bytes()
    assert "deadlock" in across[2]


def test_blocks_of_tile_kernels_are_counted_for_every_schedule(command):
    file = str(TILES / "gemm.py")
    here = command("check", "--schedules", "7", file)
    assert command("check", "--schedules", "7", "--jobs", "1", file) == here
    assert here[0] == 0
    on_hip = ("check", "--target", "hip:gfx942", "--schedules", "3")
    assert command(*on_hip, "--jobs", "1", file) == command(*on_hip, file)


def test_a_failure_that_is_not_repeated_is_reported(command, tmp_path, monkeypatch):
    """A script that fails in another process only: the check has failed."""
    text = RING.format(factor=2).replace(*READ)
    text += "import os\nif os.environ.get('MARK') != str(os.getpid()):\n    raise SystemExit(4)\n"
    (tmp_path / "ring.py").write_text(text)
    monkeypatch.setenv("MARK", str(os.getpid()))
    code, out, err = command("check", "--schedules", "3", "--jobs", "1", "ring.py")
    assert (code, out) == (1, "True\n")
    assert err.startswith("tilewright check: 1 launch of 1 kernel, 1 program: no fault")
    assert "tilewright check: reported by another process, not repeated here: " in err


def test_schedules_of_an_interrupted_check_are_not_run_again(command, tmp_path):
    (tmp_path / "ring.py").write_text(RING.format(factor=2).replace(*READ))
    flags = ("check", "ring.py", "--jobs", "1", "--log", "log.jsonl", "--schedules")
    first = command(*flags, "11")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert len(lines) == 3  # the first schedule alone, and two parts
    assert command(*flags, "11") == first
    assert (tmp_path / "log.jsonl").read_text().splitlines() == lines
    command(*flags, "16")
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 4


PLAIN = """\
import numpy as np
import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def twice(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    staged = tlx.local_alloc((N,), tl.float32, 1)
    tlx.local_store(staged[0], tl.load(x_ptr + at))
    tl.store(y_ptr + at, tlx.local_load(staged[0]) * 2)


open("runs.txt", "a").write("run\\n")
x = np.ones(64, np.float32)
y = np.empty_like(x)
twice[(1,)](x, y, N=64)
print((y == 2).all())
"""


def test_a_script_without_choices_is_not_run_for_every_schedule(command, tmp_path):
    """Nothing is asynchronous and there is one task, though the kernel has shared memory."""
    (tmp_path / "plain.py").write_text(PLAIN)
    here = command("check", "plain.py", "--schedules", "40")
    assert here[:2] == (0, "True\n")
    across = command("check", "plain.py", "--schedules", "40", "--jobs", "1")
    assert across == here
    runs = (tmp_path / "runs.txt").read_text().splitlines()
    assert len(runs) == 1 + 2  # here; the first schedule on a worker, and the report


@pytest.mark.parametrize(("text", "schedules"), [(PLAIN, 1), (RING.format(factor=2), 7)])
def test_a_kernel_whose_events_have_one_order_runs_once(tmp_path, monkeypatch, text, schedules):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    (tmp_path / "kernel.py").write_text(text.replace(*READ))
    reports = []
    run = TaskKernel.launch

    def launch(self, *arguments):
        reports.append(run(self, *arguments))
        return reports[-1]

    monkeypatch.setattr(TaskKernel, "launch", launch)
    assert main.run(["check", "--schedules", "7", "--allow-unread", "kernel.py"]) == 0
    assert [each.schedules for each in reports] == [schedules]
    assert [each.has_choice for each in reports] == [schedules > 1]


def test_a_worker_without_the_script_gets_its_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    value = {
        "file": "sub/ring.py",
        "text": RING.format(factor=2),
        "directory": str(tmp_path),
        "flags": [],
        "arguments": [],
        "seeds": [0, 3],
    }
    found = check_worker.checked(value)
    assert (found["has_failed"], found["launches"]) == (False, 1)
    assert found["unread"]["clusters"] == 2
    assert [each["owner"] for _, each in found["unread"]["written"]] == ["spare"]
    assert "ring.py:" in found["text"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--jobs", "2", "--cluster", "tcp://a:1"), "--jobs and --cluster exclude each other"),
        (("--jobs", "0"), "--jobs: expected the number of processes, 1 or more, got 0"),
        (("--jobs", "many"), "--jobs: 'many' is not an integer >= 1"),
        (("--cluster", "a:1"), "'a:1' is no address of a Dask scheduler"),
        (("--log", "."), "--log: Is a directory: '.'"),
    ],
)
def test_flags_that_cannot_be_followed(command, tmp_path, flags, message):
    (tmp_path / "ring.py").write_text(RING.format(factor=2))
    code, out, err = command("check", *flags, "ring.py")
    assert (code, out) == (2, "")
    assert err.startswith("tilewright check: ")
    assert message in err


def test_a_script_that_is_not_there(command):
    code, _, err = command("check", "--jobs", "2", "absent.py")
    assert (code, err) == (2, "tilewright check: cannot read 'absent.py': no such file")


def test_ir_text_has_one_process(command):
    file = str(ROOT / "tests" / "corpus" / "ttir" / "vector_add.ttir")
    code, _, err = command("check", "--jobs", "2", file)
    assert (code, err) == (2, "tilewright check: --jobs applies to Python files only")
