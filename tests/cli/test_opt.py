"""The command line of ``tilewright-opt``: flags, streams, exit codes, files."""

import io
import sys

import pytest

from tilewright.cli import opt

GOOD = "module {\n  %c1_i32 = arith.constant 1 : i32\n}\n"
DEAD = "module {\n  %x = arith.constant 1 : i32\n  %y = arith.addi %x, %x : i32\n}\n"
BAD = "module {\n  %0 = arith.addi %nope, %nope : i32\n}\n"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run with `text` as file (None: as standard input); returns (code, stdout, stderr)."""

    def go(*arguments, text=GOOD, stdin=False):
        file = tmp_path / "in.mlir"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        if stdin:
            data = io.TextIOWrapper(io.BytesIO(file.read_bytes()))
            monkeypatch.setattr(sys, "stdin", data)
        arguments = [str(file) if a == "FILE" else a for a in arguments]
        code = opt.run(arguments)
        out, err = capsys.readouterr()
        return code, out, err.replace(str(file), "in.mlir")

    return go


def test_file_in_text_out(run):
    assert run("FILE") == (0, GOOD, "")


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_standard_input(run, arguments):
    assert run(*arguments, stdin=True) == (0, GOOD, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-dce", "FILE"],
        ["--dce", "FILE"],
        ["FILE", "-dce"],
        ["-pass-pipeline=builtin.module(dce)", "FILE"],
        ["-pass-pipeline", "builtin.module(dce)", "FILE"],
    ],
)
def test_pass_flags_stand_anywhere(run, arguments):
    assert run(*arguments, text=DEAD) == (0, "module {\n}\n", "")


def test_error_goes_to_stderr_with_position_and_excerpt(run):
    code, out, err = run("FILE", text=BAD)
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == ("in.mlir:2:19: error: use of undeclared SSA value name '%nope'")
    assert "%0 = arith.addi %nope, %nope : i32" in err
    assert "^" in err


def test_one_line_form(run):
    assert run("-one-line", "FILE", text=BAD)[2] == (
        "in.mlir:2:19: error: use of undeclared SSA value name '%nope'\n"
    )


def test_split_input_goes_on_after_an_error(run):
    text = f"{GOOD}// -----\n{BAD}// -----\n{GOOD}"
    code, out, err = run("-split-input-file", "-one-line", "FILE", text=text)
    assert code == 1
    assert out == f"{GOOD}// -----\n{GOOD}"
    assert err == "in.mlir:6:19: error: use of undeclared SSA value name '%nope'\n"


def test_verify_diagnostics_met(run):
    text = BAD.replace("  %0", "  // expected-error @+1 {{undeclared SSA value}}\n  %0")
    assert run("-verify-diagnostics", "FILE", text=text) == (0, "", "")


def test_verify_diagnostics_missing_and_unexpected(run):
    missing = GOOD.replace("  %c1", "  // expected-error @+1 {{nothing}}\n  %c1")
    code, out, err = run("-verify-diagnostics", "FILE", text=missing)
    assert (code, out) == (1, "")
    assert 'expected error "nothing" was not produced' in err
    code, out, err = run("-verify-diagnostics", "FILE", text=BAD)
    assert (code, out) == (1, "")
    assert "unexpected error: use of undeclared SSA value name '%nope'" in err


def test_names_are_dropped_or_kept(run):
    text = DEAD.replace("%y", "%sum")
    assert "%0 = arith.addi %c1_i32" in run("FILE", text=text)[1]
    assert "%sum = arith.addi %x" in run("-keep-names", "FILE", text=text)[1]


def test_names_from_locations(run):
    text = 'module {\n  %0 = arith.constant 1 : i32 loc("one"("k.py":1:2))\n}\n'
    assert "%one =" in run("-mlir-use-nameloc-as-prefix", "FILE", text=text)[1]
    assert "%c1_i32 =" in run("FILE", text=text)[1]


def test_locations(run):
    assert "loc(#loc" in run("-mlir-print-debuginfo", "FILE")[1]
    assert "loc" not in run("FILE")[1]


def test_generic_form(run):
    assert (
        '"arith.constant"() <{value = 1 : i32}> : () -> i32'
        in run("-mlir-print-op-generic", "FILE")[1]
    )


def test_output_file_is_written_only_on_success(run, tmp_path):
    target = tmp_path / "out.mlir"
    assert run("-o", str(target), "FILE") == (0, "", "")
    assert target.read_text() == GOOD
    assert run("-o", str(target), "FILE", text=BAD)[0] == 1
    assert target.read_text() == GOOD
    code, _, err = run("-o", str(tmp_path / "no" / "where"), "FILE")
    assert code == 1
    assert "cannot write" in err


def test_dump_after_every_pass(run, tmp_path):
    folder = tmp_path / "dump"
    assert run("-dump-ir", str(folder), "-canonicalize", "-dce", "FILE", text=DEAD)[0] == 0
    assert sorted(f.name for f in folder.iterdir()) == [
        "00-input.mlir",
        "01-canonicalize.mlir",
        "02-dce.mlir",
    ]
    assert "arith.addi" in (folder / "00-input.mlir").read_text()
    assert "arith.addi" not in (folder / "02-dce.mlir").read_text()


def test_dump_folder_never_mixes_two_runs(run, tmp_path):
    folder = tmp_path / "dump"
    run("-dump-ir", str(folder), "-canonicalize", "-dce", "FILE")
    (folder / "notes.txt").write_text("mine")
    run("-dump-ir", str(folder), "-cse", "FILE")
    assert sorted(f.name for f in folder.iterdir()) == [
        "00-input.mlir",
        "01-cse.mlir",
        "notes.txt",
    ]


def test_print_before_all(run):
    err = run("-mlir-print-ir-before-all", "-dce", "FILE", text=DEAD)[2]
    assert err.startswith("// -----// IR Dump Before dce //----- //\nmodule {")
    assert "arith.addi" in err


def test_print_after_all(run):
    err = run("-mlir-print-ir-after-all", "-dce", "FILE", text=DEAD)[2]
    assert err.startswith("// -----// IR Dump After dce //----- //\nmodule {")


def test_timing(run):
    err = run("-mlir-timing", "-dce", "FILE")[2]
    assert [line.split()[0] for line in err.splitlines()] == [
        "parse",
        "verify",
        "dce",
        "print",
        "total",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-nonsense"], "unknown command line argument '-nonsense'; try --help"),
        (
            ["--canonicalise"],
            "unknown command line argument '--canonicalise'; did you mean '--canonicalize'?",
        ),
        (["-split-input-fil"], "did you mean '-split-input-file'?"),
        (["-dump-ir", "--cse"], "'-dump-ir' needs a value"),
        (["a", "b"], "two input files, 'a' and 'b'"),
        (["-o"], "'-o' needs a value"),
        (["-pass-pipeline=cannonicalize"], "did you mean 'canonicalize'?"),
        (["-flavour=x"], "unknown flavour 'x'; known: triton-3.6"),
        (["-split-input-file=perhaps"], "expected true or false"),
        (["/does/not/exist.mlir"], "cannot read '/does/not/exist.mlir': No such file"),
        (["/"], "cannot read '/': Is a directory"),
    ],
)
def test_bad_command_lines(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("flag", ["-h", "--help", "-help"])
def test_help(run, flag):
    code, out, err = run(flag)
    assert (code, err) == (0, "")
    assert "-split-input-file" in out


def test_list_passes_names_options(run):
    out = run("--list-passes")[1]
    assert "canonicalize" in out
    assert "triton-tlx-fixup" in out
    assert "num-warps=INT" in out


def test_bytes_that_are_not_text(run):
    code, out, err = run("FILE", text=b"\xff\xfe\x00module {}")
    assert (code, out) == (1, "")
    assert err.startswith("in.mlir:1:1: error: ")


def test_unregistered_ops_only_when_allowed(run):
    text = 'module {\n  "foo.bar"() : () -> ()\n}\n'
    code, _, err = run("FILE", text=text)
    assert code == 1
    assert "unknown operation 'foo.bar'" in err
    assert run("-allow-unregistered-dialect", "FILE", text=text) == (0, text, "")
