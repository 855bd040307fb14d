"""``tilewright analyze``: files and scripts in, reports and exit codes out."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.report.test_address_text import DESIGN, DESIGN_REPORT
from tilewright.cli import main
from tilewright.cli.analyze_inputs import MAX_LAUNCHES

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus" / "ttir"
VECTOR_ADD = str(CORPUS / "vector_add.ttir")

SCRIPT = """\
import sys
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.store(x_ptr + offsets, x * 2, mask=offsets < {bound})


@tw.jit
def everyone(x_ptr):
    tl.store(x_ptr, 1.0)


x = np.ones(100, np.float32)
print("the script's own words", *sys.argv[1:])
{body}
"""
LAUNCH = "scale[(4,)](x, 100, BLOCK=32)"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Runs a script with `body`; the interpreter's state is put back afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tilewright"])

    def write(body: str = LAUNCH, bound: str = "n") -> str:
        file = tmp_path / "script.py"
        file.write_text(SCRIPT.format(body=body, bound=bound))
        return str(file)

    return write


def failed(capsys, *arguments: str) -> str:
    """What is said about input that is wrong."""
    assert main.run(["analyze", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    return err


# IR text.


def test_the_example_of_the_design(tmp_path, capsys):
    file = tmp_path / "vector_add.ttir"
    file.write_text(DESIGN)
    assert main.run(["analyze", str(file)]) == 0
    assert capsys.readouterr() == (DESIGN_REPORT, "")


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DESIGN.encode())))
    assert main.run(["analyze", "-"]) == 0
    assert capsys.readouterr().out == DESIGN_REPORT


def test_given_values_make_classes_stronger(capsys):
    file = str(CORPUS / "matmul_grouped.ttir")
    flags = ["--json", "--grid", "9"]
    for name, value in {"M": 384, "N": 768, "K": 128, "stride_am": 128}.items():
        flags += ["--arg", f"{name}={value}"]
    assert main.run(["analyze", file, *flags]) == 0
    given = json.loads(capsys.readouterr().out)
    assert main.run(["analyze", file, "--format=json"]) == 0
    open_ = json.loads(capsys.readouterr().out)
    assert [access["virtual"] is None for access in open_["accesses"]] == [True, True, False]
    assert [access["virtual"] is None for access in given["accesses"]] == [False, False, False]
    assert given["grid"] == [9, 1, 1]
    assert open_["grid"] == [None, None, None]


def test_a_grid_may_be_known_in_part(capsys):
    assert main.run(["analyze", VECTOR_ADD, "--json", "--grid", "?,2"]) == 0
    assert json.loads(capsys.readouterr().out)["grid"] == [None, 2, 1]


def test_a_buffer_that_is_too_small_is_a_violation(capsys):
    launch = [VECTOR_ADD, "--grid", "5", "--arg", "n_elements=4992", "--check", "bounds"]
    assert main.run(["analyze", *launch, "--buffer", "x_ptr=19968"]) == 0
    assert "bounds: refuted" not in capsys.readouterr().out
    assert main.run(["analyze", *launch, "--buffer", "x_ptr=19967"]) == 1
    out = capsys.readouterr().out
    assert "bounds: refuted" in out
    assert "program 4, lane 895" in out


def test_only_the_checks_that_are_asked_for(capsys):
    assert main.run(["analyze", VECTOR_ADD, "--json", "--check", "race", "--check=bounds"]) == 0
    checks = {each["check"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert checks == {"bounds", "race"}


def test_every_check(capsys):
    launch = ["--grid", "5", "--arg", "n_elements=4992"]
    assert main.run(["analyze", VECTOR_ADD, "--json", "--check", "all", *launch]) == 0
    checks = {each["check"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert {"coalesce", "vector", "bounds", "race"} <= checks


def test_arguments_that_may_alias(tmp_path, capsys):
    # One program stores where the next one loads, if both arguments are the same buffer.
    file = tmp_path / "shift.ttir"
    file.write_text("""\
tt.func @shift(%from: !tt.ptr<i32>, %to: !tt.ptr<i32>, %other: !tt.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %next = arith.addi %pid, %c1 : i32
  %a = tt.addptr %from, %pid : !tt.ptr<i32>, i32
  %b = tt.addptr %to, %next : !tt.ptr<i32>, i32
  %v = tt.load %a : !tt.ptr<i32>
  tt.store %b, %v : !tt.ptr<i32>
  tt.return
}
""")
    pairs: list[list[list[int]]] = []
    chain = ["--may-alias", "from,other", "--may-alias", "%other,%to"]
    for flags in ([], ["--noalias"], ["--may-alias", "from,%to"], chain):
        main.run(["analyze", str(file), "--json", "--grid", "4", "--check", "race", *flags])
        findings = json.loads(capsys.readouterr().out)["findings"]
        pairs.append([each["accesses"] for each in findings if each["verdict"] != "proved"])
    assert pairs == [[], [], [[0, 1]], [[0, 1]]]


def test_a_value_the_kernel_was_not_made_for_is_noted(capsys):
    assert main.run(["analyze", VECTOR_ADD, "--arg", "n_elements=5000"]) == 0
    assert "n_elements = 5000 is not a multiple of 16" in capsys.readouterr().err


def test_output_file(tmp_path, capsys):
    file = tmp_path / "out.html"
    assert main.run(["analyze", VECTOR_ADD, "--format", "html", "-o", str(file)]) == 0
    assert capsys.readouterr() == ("", "")
    assert file.read_text().startswith("<!DOCTYPE html>")
    assert [each.name for each in tmp_path.iterdir()] == ["out.html"]
    assert "cannot write" in failed(capsys, VECTOR_ADD, "-o", str(tmp_path / "no" / "out"))


def test_help(capsys):
    assert main.run(["analyze", "--help"]) == 0
    assert "coalesce, vector, bounds, race, overflow, prefetch; or all" in capsys.readouterr().out


# Input that is wrong.


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--grid", "0"], "the grid has 0 programs along axis 0; it needs 1 to 2147483647"),
        (["--grid", "1,65536"], "the grid has 65536 programs along axis 1; it needs 1 to 65535"),
        (["--grid", "-1"], "the grid has -1 programs along axis 0"),
        (["--grid", "1,1,1,1"], "--grid: '1,1,1,1': expected X, X,Y or X,Y,Z"),
        (["--arg", "n_elements=1", "--arg", "n_elements=2"], "contradicts '--arg n_elements=1'"),
        (["--arg", "n_elements=16", "--assume", "n_elements > 20"], "contradicts the other facts"),
        (
            ["--assume", "n_elements > 5", "--assume", "n_elements < 3"],
            "contradicts the other facts",
        ),
        (["--assume", "n_elements %"], "cannot be read"),
        (["--arg", "n_elements=2147483648"], "does not fit its type i32"),
        (["--arg", "count=1"], "there is no argument 'count'; the kernel has x_ptr, y_ptr"),
        (["--arg", "x_ptr=1"], "the argument 'x_ptr' is not an integer"),
        (["--arg", "n_elements"], "expected NAME=VALUE, for example n=1000"),
        (["--arg", f"n_elements={'9' * 5000}"], "expected NAME=VALUE"),
        (["--buffer", "n_elements=4"], "no pointer 'n_elements' to give a size"),
        (["--buffer", "x_ptr=-4"], "expected NAME=BYTES, for example x_ptr=4096"),
        (["--check", ","], "--check: pass a check, for example 'bounds,race', or all"),
        (["--check", "races"], "unknown check 'races'; expected coalesce, vector, bounds"),
        (["--noalias", "--may-alias", "x_ptr,y_ptr"], "are mutually exclusive"),
        (["--may-alias", "x_ptr"], "pass two arguments"),
        (["--may-alias", "x_ptr,z_ptr"], "no pointer argument 'z_ptr' for --may-alias"),
        (["--function", "subtract"], "there is no function 'subtract'; the module has vector_add"),
        (["--format", "xml"], "'xml' is not one of text, json, html"),
        (["--frmat", "json"], "did you mean '--format'?"),
        (["--timeout", "soon"], "'soon' is not a number of seconds"),
        (["--compat"], "--compat applies to Python files only"),
        ([VECTOR_ADD], "two input files"),
        (["--grid"], "'--grid' needs a value"),
    ],
)
def test_flags_that_make_no_sense(flags, message, capsys):
    err = failed(capsys, VECTOR_ADD, *flags)
    assert err.startswith("tilewright analyze: ")
    assert message in err
    assert err.count("\n") == 1


KERNEL = Path(VECTOR_ADD).read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the module has no public function to analyse"),
        ("module {\n}\n", "the module has no public function to analyse"),
        ("tt.func private @f() {\n  tt.return\n}\n", "no public function"),
        (KERNEL.replace("tt.load", "tt.laod"), "unknown operation 'tt.laod'; did you mean"),
        (KERNEL.replace("1024", "1099511627776"), "integer constant out of range"),
        (KERNEL.replace("1024x", "0x"), "error"),
        (KERNEL.replace("1024", "16777216"), "1048576"),
        (DESIGN.replace("128x", "16777216x").replace("end = 128", "end = 16777216"), "1048576"),
        ("\x00\xff", "error"),
        ("func.func @f() {", "error"),
    ],
)
def test_text_that_is_no_kernel(text, message, tmp_path, capsys):
    file = tmp_path / "kernel.ttir"
    file.write_text(text, encoding="latin-1")
    assert message in failed(capsys, str(file))


def test_two_kernels_and_no_choice(tmp_path, capsys):
    file = tmp_path / "two.ttir"
    kernel = "tt.func public @{}(%p: !tt.ptr<i32>, %n: i32) {{\n  tt.store %p, %n : !tt.ptr<i32>\n  tt.return\n}}\n"
    file.write_text(kernel.format("one") + kernel.format("two"))
    assert "several public functions (one, two)" in failed(capsys, str(file))
    assert main.run(["analyze", str(file), "--function", "@two", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "two"


def test_files_that_are_not_there(tmp_path, capsys):
    assert "cannot read" in failed(capsys, str(tmp_path / "none.ttir"))
    assert "no such file" in failed(capsys, str(tmp_path / "none.py"))
    assert "cannot read" in failed(capsys, str(tmp_path))
    assert "no FILE" in failed(capsys)


# Scripts.


def test_a_launch_of_a_script(script, capsys):
    assert main.run(["analyze", script(), "and", "arguments"]) == 0
    out, err = capsys.readouterr()
    assert err == "the script's own words and arguments\n"
    lines = out.splitlines()
    assert lines[0] == "scale[4, 1, 1](n=100, BLOCK=32)"
    assert [line for line in lines if "PATTERN" in line] == [
        "%x_11 (load): PATTERN(PID_AFFINE, block_size=32, stride=128, coalesced=true)",
        "%3 (store): PATTERN(PID_AFFINE, block_size=32, stride=128, coalesced=true)",
    ]


def test_real_arguments_and_buffers_are_checked(script, capsys):
    # A mask that lets everything through: run would stop at the fault, and so it is told.
    assert main.run(["analyze", "--json", "--check", "bounds", script(bound="n + 28")]) == 1
    out, err = capsys.readouterr()
    assert "TW6101" in err
    assert "the script ended with exit code 1" in err
    load, store = json.loads(out)["findings"]
    assert (load["verdict"], store["verdict"]) == ("proved", "refuted")
    assert store["witness"]["points"][0]["program"] == [3, 0, 0]
    assert store["witness"]["points"][0]["lanes"] == [4]


def test_a_race_of_a_script(script, capsys):
    assert main.run(["analyze", "--check", "race", script("everyone[(2,)](x)")]) == 1
    assert "race: refuted" in capsys.readouterr().out
    assert main.run(["analyze", "--check", "race", script("everyone[(1,)](x)")]) == 0
    assert "race: proved" in capsys.readouterr().out


def test_the_same_launch_is_analysed_once(script, capsys):
    body = f"{LAUNCH}\n{LAUNCH}\nscale[(2,)](x, 60, BLOCK=32)\neveryone[(0,)](x)\n"
    assert main.run(["analyze", "--json", script(body)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [kernel["launch"] for kernel in data["kernels"]] == [
        "scale[4, 1, 1](n=100, BLOCK=32)",
        "scale[2, 1, 1](n=60, BLOCK=32)",
    ]


def test_one_kernel_of_a_script(script, capsys):
    file = script(f"{LAUNCH}\neveryone[(1,)](x)")
    assert main.run(["analyze", "--function", "everyone", "--json", file]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "everyone"
    assert main.run(["analyze", "--function", "nobody", file]) == 2
    assert "no kernel 'nobody' was launched; there were scale, everyone" in capsys.readouterr().err


def test_many_launches_are_cut_and_counted(script, capsys):
    body = f"for n in range(2, {MAX_LAUNCHES + 5}):\n    scale[(1,)](x, n, BLOCK=32)"
    assert main.run(["analyze", "--json", script(body)]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["kernels"]) == MAX_LAUNCHES
    assert "3 further launches of scale with other arguments were not analysed" in err


def test_scripts_that_fail_or_launch_nothing(script, capsys):
    assert main.run(["analyze", script("")]) == 2
    assert "no kernel was launched" in capsys.readouterr().err
    assert main.run(["analyze", script("1 / 0")]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert main.run(["analyze", "--grid", "3", script()]) == 2
    assert "--grid applies to IR text only" in capsys.readouterr().err


def test_the_page_of_a_script_shows_its_source(script, capsys):
    assert main.run(["analyze", "--format", "html", script()]) == 0
    out = capsys.readouterr().out
    assert (
        '<a href="#k0-a0">    x = tl.load(x_ptr + offsets, mask=offsets &lt; n, other=0)</a>' in out
    )
    assert "program (3, 0, 0)" not in out
    assert "program (2, 0, 0): bytes 256 to 383, 32 of 32 lanes" in out
