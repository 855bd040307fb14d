"""``tilewright tune``: what is tried, what a table holds, and who takes it from there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tilewright.cli import main
from tilewright.runtime.tuning_table import Row, TuningTable, read_table

TL = """\
import sys
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.autotune([tw.Config({"BLOCK": size}) for size in SIZES], key=["n"])
@tw.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * 2, mask=inside)


@tw.jit
def plain(x_ptr):
    tl.store(x_ptr, 1.0)


n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
x = np.ones(n, np.float32)
out = np.empty_like(x)
scale[lambda meta: (tw.cdiv(n, meta["BLOCK"]),)](x, out, n)
assert (out == 2).all()
plain[(1,)](x)
print("BLOCK", scale.best_config.kwargs["BLOCK"])
"""
T = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.autotune(configs=[{"block": size} for size in (16, 32, 64)])
@tw.jit
def double(X, block=16):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=32) as bx:
        for i in T.Parallel(block):
            Y[bx * block + i] = X[bx * block + i] * 2
    return Y


assert (double(np.ones(128, np.float32)) == 2).all()
result = double.tune(np.ones(128, np.float32))
print("block", result.config["block"])
"""


@pytest.fixture
def tune(tmp_path, monkeypatch, capsys):
    """Runs the program on one of the scripts; exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.delenv("TILEWRIGHT_TUNING_TABLE", raising=False)
    Path("tl.py").write_text(TL.replace("SIZES", "(32, 64, 100)"))
    Path("t.py").write_text(T)
    Path("k.ttir").write_text("module {\n}\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        before = os.environ.get("TILEWRIGHT_AUTOTUNE")
        code = main.run(["tune", *arguments])
        assert os.environ.get("TILEWRIGHT_AUTOTUNE") == before
        return code, *capsys.readouterr()

    return run


def test_a_script_without_launches_says_why_there_is_no_result(tune):
    Path("none.py").write_text("print(1)\n")
    assert tune("none.py") == (3, "", "1\ntilewright tune: none.py launched no kernel\n")


def test_what_was_tried_the_best_first(tune):
    code, out, err = tune("tl.py")
    assert code == 0
    title, *rows = out.splitlines()
    assert title == "scale(n=100, x_ptr=float32, out_ptr=float32) on cpu: measured"
    times = [float(row.split()[0]) for row in rows[:2]]
    assert times == sorted(times)
    assert {row.split()[2] for row in rows[:2]} == {"BLOCK=32,", "BLOCK=64,"}
    assert rows[2].split()[:3] == ["left", "out", "BLOCK=100,"]
    assert "arange's range must be a power of 2" in rows[2]
    assert "BLOCK " in err, "what the script prints is no result"
    assert "plain (tl) has one configuration: put @tw.autotune([tw.Config(" in err


def test_a_table_is_written_extended_and_used(tune, monkeypatch, capsys):
    assert tune("tl.py", "-o", "tuned.json")[0] == 0
    code, _, err = tune("-o", "tuned.json", "tl.py", "200")
    assert (code, "tuned.json: 2 rows" in err) == (0, True)
    table = read_table("tuned.json")
    assert [row.arguments["n"] for row in table.rows.values()] == ["100", "200"]
    assert {row.hardware for row in table.rows.values()} == {"cpu"}
    # Whatever was measured, a program takes what the table has.
    for block in (32, 64):
        rows = [
            Row(row.kernel, row.arguments, "NVIDIA H200", {**row.config, "BLOCK": block})
            for row in table.rows.values()
        ]
        Path("fixed.json").write_text(TuningTable.of(rows).text())
        monkeypatch.setenv("TILEWRIGHT_TUNING_TABLE", str(Path("fixed.json").absolute()))
        from tilewright.runtime import tuning_table

        tuning_table._of_environment.cache_clear()
        assert main.run(["run", "tl.py"]) == 0
        assert f"BLOCK {block}\n" in capsys.readouterr().out


def test_a_row_of_a_configuration_that_is_gone_is_reported(tune, monkeypatch, capsys):
    row = Row("scale", {"n": "100", "x_ptr": "float32", "out_ptr": "float32"}, "cpu", {"BLOCK": 7})
    Path("old.json").write_text(TuningTable.of([row]).text())
    monkeypatch.setenv("TILEWRIGHT_TUNING_TABLE", str(Path("old.json").absolute()))
    assert main.run(["run", "tl.py"]) == 0
    err = capsys.readouterr().err
    assert "the configuration of scale for n=100, x_ptr=float32, out_ptr=float32 is none" in err


def test_tile_kernels_and_json(tune, monkeypatch, capsys):
    code, out, _ = tune("--json", "-o", "tuned.json", "t.py")
    assert code == 0
    (tuned,) = json.loads(out)
    assert (tuned["kernel"], tuned["hardware"], tuned["how"]) == ("double", "cpu", "measured")
    assert tuned["arguments"] == {"X": "float32 (128,)"}
    assert len(tuned["trials"]) == 3
    assert all(each["latency_ms"] > 0 for each in tuned["trials"])
    fixed = (
        Path("tuned.json").read_text().replace(f'"block": {tuned["best"]["block"]}', '"block": 32')
    )
    Path("fixed.json").write_text(fixed)
    monkeypatch.setenv("TILEWRIGHT_TUNING_TABLE", str(Path("fixed.json").absolute()))
    assert main.run(["run", "t.py"]) == 0
    assert "block 32\n" in capsys.readouterr().out


def test_a_model_ranks_and_only_the_first_are_measured(tune):
    code, out, _ = tune("--json", "--top", "1", "t.py")
    assert code == 0
    (tuned,) = json.loads(out)
    assert len(tuned["trials"]) == 1


def test_the_model_of_tenstorrent_compares_kernels_on_pointers(tune):
    code, out, _ = tune("--target", "tenstorrent:wormhole", "tl.py")
    assert code == 0
    title, first, second, _ = out.splitlines()
    assert title.endswith(" on tenstorrent:wormhole: model")
    assert float(first.split()[0]) <= float(second.split()[0])


def test_other_processes_measure_the_same_configurations(tune):
    code, out, err = tune("--jobs", "2", "--log", "log.jsonl", "tl.py")
    assert code == 0, err
    assert sorted(line.split("BLOCK=")[1].split(",")[0] for line in out.splitlines()[1:]) == [
        "100",
        "32",
        "64",
    ]
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["done"]
    assert set(lines[0]["result"]) == {"0", "1", "2"}
    assert "power of 2" in lines[0]["result"]["2"]
    # What is in the log is not measured again.
    _, again, _ = tune("--jobs", "2", "--log", "log.jsonl", "tl.py")
    assert again == out
    assert len(Path("log.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["k.ttir"], 3, "k.ttir is IR text, which is one configuration"),
        (["--kernel", "scal", "tl.py"], 2, "launched no kernel 'scal'; it launched scale, plain"),
        (["tl.py:plain"], 3, "plain (tl) has one configuration"),
        (["absent.py"], 2, "cannot read 'absent.py': no such file"),
        (["-o", "t.py", "tl.py"], 2, "'t.py' is not a tuning table"),
        (["-o", "no/such/table.json", "tl.py"], 2, "cannot write 'no/such/table.json'"),
        (["--target", "cuda:sm_9q", "tl.py"], 2, "--target: unknown target"),
        (["--top", "few", "tl.py"], 2, "--top: 'few' is not an integer >= 0"),
        (["--jobs", "no", "tl.py"], 2, "--jobs: 'no' is not an integer >= 1"),
    ],
)
def test_what_cannot_be_tuned(tune, arguments, code, message):
    ended, _, err = tune(*arguments)
    assert (ended, message in err) == (code, True), err


def test_a_script_that_fails_is_no_success(tune):
    Path("fails.py").write_text("raise SystemExit(4)\n")
    code, _, err = tune("fails.py")
    assert (code, err) == (1, "tilewright tune: the script ended with exit code 4\n")
