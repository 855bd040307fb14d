"""docs/many-machines.md: its script runs, its flags exist."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import blocks
from tilewright.cli import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = "docs/many-machines.md"


def test_the_script_of_the_page_tunes_in_two_processes(tmp_path):
    (source,) = blocks(PAGE, "python")
    (tmp_path / "tune_across.py").write_text(source)
    run = subprocess.run(
        [sys.executable, "tune_across.py"], cwd=tmp_path, capture_output=True, text=True,
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert run.stdout == "{'block': 128}\n"
    lines = [json.loads(line) for line in (tmp_path / "tuning.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert {line["status"] for line in lines} == {"done"}
    names = set(re.findall(r"`(\w+)`", (ROOT / PAGE).read_text().partition("## The log")[2]))
    assert set(lines[0]) <= names


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_flags_of_the_page_exist(command, capsys):
    assert main.run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(flag in text for flag in ("--jobs N", "--cluster tcp://HOST:PORT", "--log FILE"))
