"""Ctrl-C: one line with the kernel and its line, exit code 130, and no file half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tilewright.cli import outputs
from tilewright.cli.interrupts import where

ROOT = Path(__file__).parents[2]
TL = """\
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def long(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(n):
        total += tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, total)


print("begun", flush=True)
long[(1,)](np.ones(64, np.float32), 100_000_000, BLOCK=64)
"""
T = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def long(X):
    X: T.Tensor((64,), "float32")
    with T.Kernel(1, threads=32):
        a = T.alloc_shared((64,), "float32")
        for step in T.serial(100_000_000):
            T.copy(X, a)
            T.copy(a, X)


print("begun", flush=True)
long(np.ones(64, np.float32))
"""


def interrupted(*arguments: str, directory: Path, after: float = 2.0) -> tuple[int, str]:
    """Starts the program, sends it what Ctrl-C sends, and returns its code and errors."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tilewright", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        # A test run in the background ignores Ctrl-C, and so would its programs.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert program.stdout is not None
    begun = program.stdout.readline() if arguments[0] in ("run",) else ""
    time.sleep(after)
    program.send_signal(signal.SIGINT)
    try:
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert begun in ("begun\n", "")
    return program.returncode, errors


@pytest.mark.parametrize(
    ("text", "lines", "launch"), [(TL, (10, 11), 16), (T, (11, 12, 13), 17)], ids=["tl", "T"]
)
def test_the_kernel_its_line_and_the_launch_are_told(tmp_path, text, lines, launch):
    (tmp_path / "k.py").write_text(text)
    told = [f"interrupted in long, k.py:{line} ({tmp_path / 'k.py'}:{launch})" for line in lines]
    for after in (1.0, 5.0, 15.0):  # a busy computer takes a while until the kernel runs
        code, errors = interrupted("run", "k.py", directory=tmp_path, after=after)
        assert code == 130
        assert "Traceback" not in errors
        if errors.splitlines()[-1] in told:
            return
    pytest.fail(f"not told: {errors}")


def test_a_script_outside_of_kernels(tmp_path):
    (tmp_path / "k.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    code, errors = interrupted("run", "k.py", directory=tmp_path, after=0.2)
    assert (code, errors.strip()) == (130, f"interrupted at {tmp_path / 'k.py'}:3")


def test_a_pass_is_named(monkeypatch, tmp_path):
    """Compiling is interrupted in the middle of a pass."""
    from tilewright.cli import main
    from tilewright.passes.gpu.infer_layouts import InferLayouts

    def run(self, module, engine):
        raise KeyboardInterrupt

    monkeypatch.setattr(InferLayouts, "run", run)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    script = ROOT / "tests" / "cli" / "inputs" / "T.py"
    with pytest.raises(KeyboardInterrupt) as stopped:
        main.run(["compile", str(script), "-o", str(tmp_path / "made")])
    assert where(stopped.value).startswith("in scale, in the pass gpu-pipeline")
    assert not (tmp_path / "made").exists()


def test_no_file_is_half_written(monkeypatch, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("before")

    def write(self, data):
        self.parent.joinpath(self.name).open("wb").write(data[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(KeyboardInterrupt):
        outputs.write_whole(path, "after and longer")
    monkeypatch.undo()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
