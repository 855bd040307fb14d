"""``--target tenstorrent:...`` of `run`, `check`, `memory` and `compile`: runs and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tilewright.cli import check, memory, run
from tilewright.cli import compile as compile_command

TARGET = ["--target", "tenstorrent:wormhole"]
SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T

@tw.jit
def shift(X):
    m, n = T.const("m, n")
    X: T.Tensor((m, n), "float32")
    Y = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(n, 32), {rows}) as (bx, by):
        x = T.alloc_shared((32, 32), "float32")
        T.copy(X[by * 32, bx * 32], x)
        for i, j in T.Parallel(32, 32):
            x[i, j] = x[i, j] + 1.0
        T.copy(x, Y[by * 32, bx * 32])
    return Y

print(shift(np.ones((100, 40), np.float32)).sum())
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "shift.py"
    path.write_text(SCRIPT.format(rows="T.ceildiv(m, 32)"))
    return path


def test_a_script_runs_on_the_target(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run([*TARGET, "--schedules", "3", "--stats", str(script)], "run") == 0
    out, err = capsys.readouterr()
    assert out == "8000.0\n"
    assert "1 launch of 1 kernel, 24 programs" in err


def test_check_counts_the_launch(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([*TARGET, "--numerics", "device", str(script)], "check") == 0
    assert "1 launch of 1 kernel, 32 programs: no fault" in capsys.readouterr().err


def test_a_finding_names_the_user_s_line(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.format(rows="T.ceildiv(m, 64)"))
    assert check.run([*TARGET, str(script)], "check") == 1
    error = capsys.readouterr().err
    assert (
        "shift.py:6:1: error[TW7221]: 4 of 8 pages of 'Y' were never written, the first is page 4"
        in error
    )
    assert "check: fault in shift" in error


def test_the_report_has_cores_memory_timeline_and_traffic(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.run([*TARGET, "--report", "out.html", str(script)], "run") == 0
    page = Path("out.html").read_text()
    for heading in ("Cores", "L1 of a core", "Timeline: shift, core (0,0)", "Traffic"):
        assert f"<h2>{heading}</h2>" in page
    assert run.run([*TARGET, "--report", "out.txt", str(script)], "run") == 0
    text = Path("out.txt").read_text()
    assert "shift on wormhole_b0: 8 blocks of 1 x 1 tiles on 8 of 56 cores" in text
    assert "    0 0 1 2 3 4 5 6 7\n      6 rows of cores have no block\n" in text
    assert "L1 of @shift on wormhole: 12288 of 1368064 bytes" in text
    assert "DRAM page reads           8        8\nDRAM page writes          8        8" in text
    assert "run: out.txt: shift on wormhole_b0" in capsys.readouterr().err


def test_a_failing_run_has_a_report_with_its_findings(script: Path) -> None:
    script.write_text(SCRIPT.format(rows="T.ceildiv(m, 64)"))
    assert run.run([*TARGET, "--report", "out.html", str(script)], "run") == 1
    assert "<li>4 of 8 pages of &#x27;Y&#x27; were never written" in Path("out.html").read_text()


def test_the_memory_map_of_a_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.run([*TARGET, str(script)], "memory") == 0
    out = capsys.readouterr().out
    assert "L1 of @shift on wormhole: 12288 of 1368064 bytes" in out
    assert "1 c_0: 1 x 4096 bytes at 0; x, f32 tiles" in out
    assert memory.run([*TARGET, "--format", "json", str(script)], "memory") == 0
    (found,) = json.loads(capsys.readouterr().out)["memories"]
    assert (found["memory"], found["used"], found["capacity"]) == ("l1", 12288, 1368064)


def test_an_explanation_needs_no_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_command.run([*TARGET, "--explain", str(script)], "compile") == 0
    out = capsys.readouterr().out
    assert "first and last block of each core\n  y\\x 0 1 2 3 4 5 6 7\n" in out
    assert "DRAM page reads           8  not run" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "numpy", "K"], "--target numpy: expected --target tenstorrent:"),
        (["--target", "tenstorrent:quasar", "K"], "unknown Tenstorrent chip 'quasar'"),
        (["--report", "x.html", "K"], "--report: expected --target tenstorrent:wormhole"),
        ([*TARGET, "--executor", "rtl", "K"], "executor: 'rtl' is not one of ir, source"),
        ([*TARGET, "k.ttir"], "--target applies to Python files only"),
        ([*TARGET, "empty.py"], "the script ran no kernel"),
    ],
)
def test_what_cannot_run(
    arguments: list[str], message: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.py").write_text("")
    given = [str(script) if each == "K" else each for each in arguments]
    assert run.run(given, "run") == 2
    assert message in capsys.readouterr().err


def test_what_has_no_map(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.run([*TARGET, "--merge", str(script)], "memory") == 2
    assert "--merge applies to GPUs, not to --target" in capsys.readouterr().err
    assert memory.run(["--target", "tenstorrent:quasar", str(script)], "memory") == 2
    assert "unknown Tenstorrent chip 'quasar'" in capsys.readouterr().err
    arguments = ["--target", "tenstorrent:quasar", str(script)]
    assert compile_command.run(arguments, "compile") == 2
    assert "unknown Tenstorrent chip 'quasar'" in capsys.readouterr().err
    arguments = ["--target", "cuda:sm_90a", "--explain", str(script)]
    assert compile_command.run(arguments, "compile") == 2
    assert "--explain applies to --target tenstorrent only" in capsys.readouterr().err


def test_the_target_may_follow_the_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([str(script), *TARGET, "--report", "out.txt"], "check") == 0
    assert "32 programs: no fault" in capsys.readouterr().err, "the model runs four schedules"
    assert "shift on wormhole_b0" in Path("out.txt").read_text()


def test_a_script_may_have_a_target_of_its_own(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    run.run([str(script), "--target", "cuda", "--report", "x"], "run")
    run.run([str(script), "--", *TARGET], "run")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "['--target', 'cuda', '--report', 'x']"
    assert second == str(TARGET)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--report", "out.pdf"], "--report out.pdf: expected a file *.html or *.txt"),
        (["--timeline", "out.html"], "use --report OUT.html, which has the timeline of a core"),
    ],
)
def test_diagrams_that_the_target_does_not_have(
    flags: list[str], message: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.run([*TARGET, *flags, str(script)], "check") == 2
    assert message in capsys.readouterr().err


def test_a_compiler_that_is_none(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOST_CXX", "false")
    assert run.run([*TARGET, "--executor", "source", str(script)], "run") == 2
    assert "is no C++ compiler, 'false --version' fails" in capsys.readouterr().err


def test_nothing_is_written_if_one_file_cannot_be(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("build/main.cpp").mkdir(parents=True)
    assert compile_command.run([*TARGET, "-o", "build", str(script)], "compile") == 2
    assert "cannot write to 'build': 'main.cpp' is a directory" in capsys.readouterr().err
    assert [path.name for path in Path("build").iterdir()] == ["main.cpp"]


def test_settings_of_the_command_line(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = script.with_suffix(".txt")
    settings = ["--set", "tt.core_grid=2x1,tt.schedule.order=column_major"]
    assert run.run([*TARGET, *settings, "--report", str(report), str(script)], "run") == 0
    assert capsys.readouterr().out == "8000.0\n"
    assert "column_major" in report.read_text()
    assert run.run([*settings, str(script)], "run") == 2
    assert "--set: expected --target tenstorrent" in capsys.readouterr().err
