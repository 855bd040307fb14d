"""Warnings about shared storage come from every tool that sees a kernel: TW5054 and its like."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilewright.cli import main

SCRIPT = (Path(__file__).parent / "inputs" / "tlx.py").read_text()
WASTEFUL = SCRIPT.replace("tl.float32, 1, reuse=spec", "tl.float32, 4, reuse=spec").replace(
    "tl.float16, 1, reuse=spec", "tl.float16, 2, reuse=spec"
)
LINE = next(n for n, line in enumerate(WASTEFUL.splitlines(), 1) if "second = " in line)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)
    path = tmp_path / "k.py"

    def command(text: str, *arguments: str) -> tuple[int, str]:
        path.write_text(text)
        code = main.run([*arguments, str(path)])
        return code, capsys.readouterr().err.replace(f"{path}", "k.py")

    return command


@pytest.mark.parametrize(
    "arguments",
    [("check",), ("memory",), ("compile", "--target", "triton:sm_90")],
    ids=lambda e: e[0],
)
def test_buffers_that_are_never_used_together_are_told(run, arguments):
    if arguments[0] == "compile":
        pytest.importorskip("triton", reason="Triton, which compiles it, is not installed")
    code, err = run(WASTEFUL, *arguments)
    assert code == 0, err
    assert f"k.py:{LINE}:" in err
    assert "warning[TW5054]: " in err
    assert err.count("TW5054") == 1, "once, however many launches there are"


@pytest.mark.parametrize("arguments", [("check",), ("memory",)], ids=lambda e: e[0])
def test_equal_counts_are_no_waste(run, arguments):
    code, err = run(SCRIPT, *arguments)
    assert (code, "TW50" in err) == (0, False)
