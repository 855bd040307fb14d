"""``tilewright compile``: scripts and IR text, what is printed and written, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tilewright.cli import compile as command
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.store import limits

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = ROOT / "tests" / "corpus" / "ttir" / "vector_add.ttir"
RING = ROOT / "examples" / "storage_alias" / "hopper_gemm_ring.mlir"
SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import tl

@tw.jit
def add(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

@tw.jit
def clear(x_ptr):
    tl.store(x_ptr, 0.0)

x = np.ones(100, np.float32)
add[(1,)](x, x, 100, B=128)
add[(1,)](x, x, 100, B=256)
add[(1,)](x, x, 100, B=128)
clear[(1,)](x)
print("what a script prints", x[0])
assert x[0] == 1, "kernels are not run"
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """A script becomes ``__main__``; the tests go on as what they were."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])


def run(*arguments: object) -> int:
    return command.run([str(each) for each in arguments], "tilewright compile")


def test_a_script(script, capsys):
    assert run(script, "--target", "triton:sm_90") == 0
    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split() == [
        "kernel", "target", "registers", "spilled", "shared", "tmem", "threads", "cubin",
    ]  # fmt: skip
    assert [row.split()[:2] for row in rows] == [
        ["add", "sm_90"],
        ["add", "sm_90"],
        ["clear", "sm_90"],
    ]
    assert "128" in rows[0].split()
    assert err == ""


def test_one_kernel_of_a_script(script, capsys):
    assert run(f"{script}:clear", "--target=triton:sm_100", "--remarks") == 0
    out, err = capsys.readouterr()
    assert [row.split()[:2] for row in out.splitlines()[1:]] == [["clear", "sm_100"]]
    assert f"{script}:11:1: remark[TW6206]: clear: " in err
    assert run(f"{script}:clean", "--target=triton:sm_100") == 2
    assert "launched no kernel 'clean'; it launched add, clear" in capsys.readouterr().err


def test_everything_is_written(script, tmp_path, capsys):
    assert run(script, "--target", "triton:sm_90", "-o", tmp_path / "out") == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"add.cubin", "add-2.cubin", "add.ptx", "add.ttir", "add.llir", "clear.json"} <= names
    assert (tmp_path / "out" / "add.cubin").read_bytes().startswith(b"\x7fELF")
    facts = KernelMetadata.from_json((tmp_path / "out" / "add.json").read_text())
    assert facts.parameters[:3] == ("ptr", "ptr", "i32")
    assert json.loads((tmp_path / "out" / "clear.json").read_text())["num_warps"] == 4


def test_a_script_that_fails_afterwards(script, capsys):
    script.write_text(SCRIPT.replace("x[0] == 1", "x[0] == 2"))
    assert run(script, "--target", "triton:sm_90") == 0
    assert (
        "the script ended with AssertionError: its kernels were compiled" in capsys.readouterr().err
    )
    script.write_text("raise KeyError('early')\n")
    with pytest.raises(SystemExit):
        run(script, "--target", "triton:sm_90")
    shown = capsys.readouterr().err
    assert "KeyError: 'early'" in shown
    assert "quiet_script" not in shown


def test_a_kernel_that_does_not_compile(script, capsys):
    script.write_text(SCRIPT.replace("+ 1, mask", "+ None, mask"))
    assert run(script, "--target", "triton:sm_90") == 1
    assert f"{script}:8:" in capsys.readouterr().err


def test_ir_text(capsys, tmp_path):
    assert run(VECTOR_ADD, "--target", "triton:sm_80", "--num-warps", 8, "--stage", "ptx") == 0
    ptx = capsys.readouterr().out
    assert ".target sm_80" in ptx
    assert ".reqntid 256" in ptx


def test_warnings_need_no_flag(capsys):
    assert run(VECTOR_ADD, "--target", "triton:sm_90", "--num-warps", 64) == 0
    said = capsys.readouterr().err
    assert "2048 threads per block, limit 1024" in said
    assert "remark" not in said


def test_instructions(capsys):
    assert run(VECTOR_ADD, "--target", "triton:sm_90", "--stage", "sass") == 0
    text = capsys.readouterr().out
    assert "EXIT" in text
    assert "STG.E" in text
    assert "vector_add" in text  # the source, with lines


def test_ttgir_says_its_own_target(capsys):
    assert run(RING) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:2] == ["gemm", "sm_90"]
    assert run(RING, "--target", "triton:sm_100") == 1
    assert "error[TW6208]: the module is for cuda:90" in capsys.readouterr().err


def test_standard_input(monkeypatch, capsys):
    stream = io.TextIOWrapper(io.BytesIO(VECTOR_ADD.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run("-", "--target", "triton:sm_90", "--stage", "ttgir.final") == 0
    assert "#ttg.blocked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no FILE; try --help"),
        ([VECTOR_ADD, "--target", "cuda:90"], "'cuda:90' has no machine code"),
        ([VECTOR_ADD, "--target", "sm_90"], "'sm_90' names no backend: pass triton:sm_90 for tl and tlx"),
        ([VECTOR_ADD, "--target"], "'--target' needs a value"),
        ([VECTOR_ADD, RING], "two input files"),
        ([VECTOR_ADD, "--stage", "cubin"], "--stage: a cubin is binary and cannot be printed: use --stage sass"),
        ([VECTOR_ADD, "--stage", "hsaco"], "'hsaco' is not one of ttir, ttgir, ttgir.final, llir, ptx"),
        ([VECTOR_ADD, "--remark"], "unknown command line argument '--remark'; did you mean '--remarks'?"),
        ([VECTOR_ADD, "--num-warps", "0"], "--num-warps: '0' is not a positive integer"),
        ([VECTOR_ADD, "--target", "triton:90", "--cluster", "2x2"], "'2x2': expected X, X,Y or X,Y,Z"),
        ([f"{VECTOR_ADD}:adder", "--target", "triton:90"], "no kernel 'adder'"),
        (["absent.ttir", "--target", "triton:90"], "cannot read 'absent.ttir'"),
        (["absent.py", "--target", "triton:90"], "cannot read 'absent.py': no such file"),
        (["x.py", "--target", "triton:sm_90", "--num-warps", "8"], "remove it and set it in the launch: kernel[grid](..., num_warps=8)"),
        (
            ["x.py", "--target", "cuda:sm_90a", "--num-warps", "8"],
            "remove it and set the threads in the kernel: T.Kernel(..., threads=256)",
        ),
        (
            [VECTOR_ADD, "--target", "triton:90", "--stage", "ttgir"],
            "is a plain kernel, its TTGIR is Triton's: use ttgir.final",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, message, capsys):
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_a_warning_of_the_cache_is_shown_while_a_script_runs(script, monkeypatch):
    monkeypatch.setattr(limits, "_warned", set())
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "lots")
    with pytest.warns(RuntimeWarning, match=r"TW6212.*TILEWRIGHT_CACHE_MB='lots' is invalid"):
        run(script, "--target", "triton:sm_90")


def test_help(capsys):
    assert run("--help") == 0
    assert "usage: tilewright compile [flags] FILE.py[:KERNEL]" in capsys.readouterr().out
