"""All benchmarks of a GPU in one call: which run, with how much time, and what the report has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import h200_whole
from benchmarks.h200_whole import BENCHMARKS, Benchmark, Options, command, main, run_all


@pytest.mark.parametrize("one", BENCHMARKS, ids=lambda one: one.name)
def test_a_benchmark_takes_the_arguments_that_it_gets(one: Benchmark, tmp_path: Path) -> None:
    given = command(one, Options("there", "files", 2), tmp_path, 60.0)
    assert given[-1] == "--check"
    shown = subprocess.run(
        [*given[:2], "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = shown[shown.index("options:") :]
    for argument in given[2:]:
        if argument.startswith("--"):
            assert f"{argument} " in options or f"{argument}\n" in options, argument


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "benchmarks"
    directory.mkdir()
    (directory / "good.py").write_text("import sys\nprint('mean 1.1')\nprint(sys.argv[1:])\n")
    (directory / "bad.py").write_text("import sys\nprint('mean 0.5')\nsys.exit(1)\n")
    (directory / "long.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(h200_whole, "ROOT", tmp_path)
    return tmp_path


def test_one_that_misses_does_not_end_the_others(scripts, tmp_path):
    chosen = [Benchmark(name, 1, has_tables=False) for name in ("bad", "good")]
    found = list(run_all(chosen, Options(), tmp_path, None))
    assert [(each.name, each.status, each.last) for each in found] == [
        ("bad", "missed", "mean 0.5"),
        ("good", "passed", "['--check']"),
    ]
    assert (tmp_path / "bad.log").read_text() == "mean 0.5\n"


def test_what_the_time_does_not_suffice_for_is_ended_or_left_out(scripts, tmp_path):
    chosen = [Benchmark(name, 1, has_tables=False) for name in ("long", "good")]
    found = list(run_all(chosen, Options(), tmp_path, 2.0))
    assert [(each.name, each.status, each.last) for each in found] == [
        ("long", "ended", "begun"),
        ("good", "left out", "no time is left"),
    ]


def test_the_report_and_the_exit_code(scripts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(h200_whole, "BENCHMARKS", (Benchmark("good", 1, limits_itself=True),))
    assert main([str(tmp_path / "out"), "--within", "50"]) == 0
    assert "good                   passed" in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "whole.json").read_text())
    assert [each["status"] for each in report["outcomes"]] == ["passed"]
    assert "'--within', '49'" in report["outcomes"][0]["last"]
    needing = Benchmark("good", 1, needs_tilelang=True)
    monkeypatch.setattr(h200_whole, "BENCHMARKS", (needing,))
    assert main([str(tmp_path / "out")]) == 1
    assert "needs --tilelang and --checkout" in capsys.readouterr().out


def test_an_unknown_name_is_an_error(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "--only", "h2000"])
    assert ended.value.code == 2
    assert "no benchmark 'h2000'" in capsys.readouterr().err
