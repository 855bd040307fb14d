"""``tilewright``: the commands besides ``opt``."""

from pathlib import Path

import pytest

from tilewright.cli import demo, main, ops
from tilewright.targets.hip.clang import installed

CORPUS = Path(__file__).parents[1] / "corpus"


def test_demo_shows_what_it_promises(capsys):
    assert demo.run([], "tilewright demo") == 0
    out = capsys.readouterr().out
    assert "text out == text in, locations included" in out
    assert "0 have no line" in out
    assert "expects different type than prior uses" in out
    assert "note: prior use here" in out
    assert "tw::wgmma_m64n64k16_f32_f16_f16_tb(C_local" in out
    assert "wait for its barrier first" in out
    assert "3 orders of events: nothing to report" in out
    assert "error[TW6132]: missing wait: the TMA load into a[0]" in out
    assert "smallest fix: call tlx.barrier_wait on full (parity 0) before this" in out
    assert "3 schedules on the model" in out
    assert "56 57 58 59 60 61 62 63" in out
    assert "L1 of @gemm on wormhole: 12288 of 1368064 bytes" in out
    assert "DRAM page reads        1024     1024" in out
    assert "error[TW7211]: core (0,0): pushes pages of c_0" in out
    rows = ["gfx942     64  v_mfma_f32_32x32x8_f16", "gfx1201    32  v_wmma_f32_16x16x16_f16"]
    assert all(each in out for each in (rows if installed() else ["no clang 19 here"]))
    assert "tw::mfma_f32_32x32x8_f16_f16(C_local" in out


def test_demo_fails_if_the_text_does_not_come_back(capsys, monkeypatch):
    monkeypatch.setattr(demo, "print_module", lambda *_, **__: "something else")
    for part in ("memory", "run", "tile", "tlx", "tenstorrent", "hip"):  # they read no text
        monkeypatch.setattr(demo, f"_show_{part}", lambda: True)
    assert demo.run([], "tilewright demo") == 1
    assert "text out != text in" in capsys.readouterr().out


def test_ops_lists_every_dialect(capsys):
    assert ops.run([], "tilewright ops") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "tt.load" in lines
    assert "tt.reduce  (generic)" in lines
    dialects = {line.split(".")[0] for line in lines}
    assert {"tt", "ttg", "ttng", "tlx", "arith", "scf", "math", "cf", "amdg"} <= dialects
    assert len(lines) == len(set(lines)) > 250


def test_ops_counts_files(capsys):
    assert ops.run([str(CORPUS / "ttir" / "vector_add.ttir")], "tilewright ops") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "tt.load            2" in lines
    assert lines[-1] == "14 different ops, 21 in all"


def test_ops_reports_what_it_cannot_read(capsys, tmp_path):
    bad = tmp_path / "bad.ttir"
    bad.write_text("module { nonsense }")
    good = str(CORPUS / "ttir" / "vector_add.ttir")
    assert ops.run([str(bad), str(tmp_path / "absent"), good], "tilewright ops") == 1
    out, err = capsys.readouterr()
    assert "unknown operation 'nonsense'" in err
    assert "cannot read" in err
    assert "14 different ops" in out


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["help"], 0)])
def test_usage(capsys, arguments, code):
    assert main.run(arguments) == code
    assert "tilewright COMMAND" in capsys.readouterr().out


def test_unknown_command(capsys):
    assert main.run(["optt"]) == 2
    assert "no command 'optt'" in capsys.readouterr().err


def test_commands_are_reached(capsys, tmp_path):
    file = tmp_path / "empty.mlir"
    file.write_text("module {\n}\n")
    assert main.run(["opt", str(file)]) == 0
    assert capsys.readouterr().out == "module {\n}\n"
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tilewright 0.")
