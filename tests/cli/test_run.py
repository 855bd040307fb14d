"""``tilewright run`` and ``tilewright check``: scripts and IR text, command line to exit code."""

import io
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tilewright.cli import main

ROOT = Path(__file__).parents[2]
VECTOR_ADD = ROOT / "tests" / "corpus" / "ttir" / "vector_add.ttir"

TWO_KERNELS = """\
module {
  tt.func public @fill(%p: !tt.ptr<i32>, %v: i32) {
    %four = arith.constant 4 : i32
    %pid = tt.get_program_id x : i32
    %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %first = arith.muli %pid, %four : i32
    %firsts = tt.splat %first : i32 -> tensor<4xi32>
    %offsets = arith.addi %firsts, %lanes : tensor<4xi32>
    %base = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %where = tt.addptr %base, %offsets : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %values = tt.splat %v : i32 -> tensor<4xi32>
    tt.store %where, %values : tensor<4x!tt.ptr<i32>>
    tt.return
  }
  tt.func public @copy(%p: !tt.ptr<bf16>, %q: !tt.ptr<bf16>) {
    %x = tt.load %p : !tt.ptr<bf16>
    tt.store %q, %x : !tt.ptr<bf16>
    tt.return
  }
}
"""

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
    tl.store(x_ptr, tl.program_id(0))


@tw.jit
def chain(x_ptr):
    here = x_ptr + tl.program_id(0)
    tl.store(here + 1, tl.load(here) + 1)


x = np.arange(100, dtype=np.int32)
{body}
print(x[:3], sys.argv[1:])
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs `tilewright ...` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main.run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def script(tmp_path):
    def write(body: str, bound: str = "n") -> Path:
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(body=body, bound=bound))
        return path

    return write


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.ttir"
    path.write_text(TWO_KERNELS)
    return path


# -- scripts ---------------------------------------------------------------------------------------


def test_a_script_gets_its_arguments(command, script):
    path = script("scale[(4,)](x, 100, BLOCK=32)")
    code, out, err = command("run", path, "--stats", "-h")
    assert (code, out) == (0, "[0 2 4] ['--stats', '-h']\n")
    assert err.startswith(f"note: '--stats' follows {path}, so it is an argument of the script")
    assert command("run", path, "--", "--stats") == (0, "[0 2 4] ['--stats']\n", "")


def test_stats_say_what_ran_and_what_ran_one_by_one(command, script):
    path = script("scale[(4,)](x, 100, BLOCK=32); scale[(4,)](x, 100, BLOCK=32); "
                  "chain[(5,)](x)")  # fmt: skip
    code, out, err = command("run", "--stats", path)
    assert (code, out) == (0, "[0 1 2] []\n")
    lines = err.splitlines()
    assert lines[0] == "tilewright run: 3 launches of 2 kernels, 13 programs"
    assert re.fullmatch(r"  scale +2 launches +8 programs +2 batches +0\.\d{3} s", lines[1])
    assert re.fullmatch(r"  chain +1 launch +5 programs +6 batches +0\.\d{3} s", lines[2])
    assert re.fullmatch(r"    5 programs not batched: .+", lines[3])


def test_batch_one_runs_programs_alone(command, script):
    code, _, err = command("run", "--batch=1", "--stats", script("scale[(4,)](x, 100, BLOCK=32)"))
    assert code == 0
    assert " 4 batches" in err


def test_exit_codes_are_the_scripts(command, script):
    assert command("run", script("scale[(4,)](x, 100, BLOCK=32); sys.exit(5)"))[0] == 5
    assert command("check", script("scale[(4,)](x, 100, BLOCK=32); sys.exit(5)"))[0] == 5


def test_a_fault_is_shown_without_traceback(command, script):
    path = script("scale[(4,)](x, 100, BLOCK=32)", bound="n + 1")
    code, out, err = command("run", path)
    assert (code, out) == (1, "")
    assert f"{path}:11:5: error[TW6101]: store out of bounds: x_ptr[100]" in err
    assert "Traceback" not in err
    code, _, err = command("run", "--traceback", path)
    assert code == 1
    assert err.startswith("Traceback (most recent call last):\n")
    assert f'File "{path}", line 26, in <module>' in err
    assert "tilewright/cli/execution" not in err


def test_a_compile_error_is_shown_without_traceback(command, script):
    path = script("scale[(4,)](x, 100, BLOCK=33)")
    code, _, err = command("run", path)
    assert code == 1
    assert f"{path}:9:" in err
    assert "Traceback" not in err


def test_any_other_exception_is_pythons(command, script):
    code, _, err = command("run", script("raise ValueError('mine')"))
    assert code == 1
    assert err.startswith("Traceback (most recent call last):\n  File ")
    assert err.endswith("ValueError: mine\n")


def test_check_counts_what_it_checked(command, script):
    code, out, err = command("check", script("for _ in range(3): scale[(4,)](x, 100, BLOCK=32)"))
    assert (code, out) == (0, "[ 0  8 16] []\n")
    assert err == "tilewright check: 3 launches of 1 kernel, 12 programs: no fault\n"


def test_check_finds_a_race_that_run_lets_pass(command, script):
    path = script("scale[(4,)](x, 100, BLOCK=32); everyone[(3,)](x)")
    assert command("run", path) == (0, "[2 2 4] []\n", "")
    code, _, err = command("check", path)
    assert code == 1
    assert f"{path}:16:5: error[TW6108]: data race on x_ptr[0]" in err
    assert err.endswith("tilewright check: fault in everyone after 1 launch without one\n")


def test_check_fails_on_a_fault_the_script_swallowed(command, script):
    path = script("try: everyone[(3,)](x)\nexcept Exception: pass")
    code, out, err = command("check", path)
    assert (code, out) == (1, "[0 1 2] []\n")
    assert err == "tilewright check: fault in everyone\n"


def test_check_of_nothing_is_no_success(command, script):
    code, _, err = command("check", script("pass"))
    assert code == 1
    assert err == "tilewright check: no kernel was launched, so nothing was checked\n"


def test_check_of_an_empty_grid_is_no_success(command, script):
    code, _, err = command("check", script("everyone[(0,)](x)"))
    assert code == 1
    assert err == (
        "tilewright check: 1 launch of 1 kernel, 0 programs: every grid is empty, so nothing was "
        "checked\n"
    )


def test_a_binary_script_is_named(command, tmp_path):
    path = tmp_path / "binary.py"
    path.write_bytes(b"\x00\x01")
    code, out, err = command("run", path)
    assert (code, out) == (1, "")
    assert err.endswith("null bytes (binary.py)\n")


def test_options_end_with_the_run(command, script):
    path = script("everyone[(3,)](x)")
    assert command("check", path)[0] == 1
    assert command("run", path)[0] == 0


def test_a_script_for_triton_runs_with_compat():
    path = ROOT / "tests" / "compat" / "scripts" / "vector.py"
    run = subprocess.run(
        [sys.executable, "-m", "tilewright", "check", "--compat", path, "300", "0"],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert run.stderr == "tilewright check: 1 launch of 1 kernel, 3 programs: no fault\n"
    assert "argv ['300', '0'] name __main__" in run.stdout
    assert run.returncode == 0


def test_an_example_passes_its_check(command):
    code, out, err = command("check", ROOT / "examples" / "tl" / "vector_add.py")
    assert code == 0, err
    assert out.startswith("largest error:")
    assert err.endswith(": no fault\n")


# -- IR text ---------------------------------------------------------------------------------------


def test_ir_text_with_arguments_and_output(command, tmp_path):
    code, out, err = command(
        "run", VECTOR_ADD, "--grid", "2", "--arg", "x_ptr=f32[1500]:arange",
        "--arg", "y_ptr=f32[1500]:0.5", "--arg", "out_ptr=f32[1500]:empty",
        "--arg", "n_elements=i32:1500", "--out", "result.npz",
    )  # fmt: skip
    assert (code, out, err) == (0, "", "")
    with np.load(tmp_path / "result.npz") as result:
        assert set(result.files) == {"x_ptr", "y_ptr", "out_ptr"}
        assert (result["out_ptr"] == np.arange(1500) + np.float32(0.5)).all()


def test_without_output_file_changes_are_summed_up(command, two):
    code, out, err = command(
        "run", two, "--kernel=fill", "--arg=p=i32[3,4]", "--arg", "v=-7", "--grid=3"
    )
    assert (code, out, err) == (0, "p  i32[3,4]  12 of 12 changed; -7 to -7\n", "")


def test_standard_input(command, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TWO_KERNELS.encode())))
    code, out, _ = command(
        "run", "-", "--kernel", "fill", "--arg", "p=i32[4]:ones", "--arg", "v=1", "--grid=1"
    )
    assert (code, out) == (0, "p  i32[4]  unchanged\n")


def test_missing_arguments_come_with_the_flags_to_add(command):
    code, _, err = command("run", VECTOR_ADD, "--arg", "x_ptr=f32[8]", "--grid", "1")
    assert code == 2
    assert err == (
        "tilewright run: @vector_add has 4 arguments, 3 of them without a value; add, with sizes "
        "and values of your own:\n"
        "  --arg 'y_ptr=f32[1024]' \\\n"
        "  --arg 'out_ptr=f32[1024]' \\\n"
        "  --arg n_elements=i32:1024\n"
    )


def test_the_flags_it_asks_for_are_enough(command):
    _, _, err = command("run", VECTOR_ADD)
    flags = [word.strip("'\\") for word in err.partition(":\n")[2].split() if word != "\\"]
    code, out, _ = command("run", VECTOR_ADD, *flags)
    assert code == 0
    assert "out_ptr  f32[1024]  1024 of 1024 changed" in out


def test_one_program_without_a_grid_is_said(command, two):
    code, _, err = command("run", two, "--kernel=fill", "--arg=p=i32[4]", "--arg=v=1")
    assert (code, err) == (0, "no --grid: one program of @fill is run\n")


def test_small_floats_go_through_files(command, two, tmp_path):
    np.savez(
        tmp_path / "in.npz",
        p=np.array([1.5, 2], ml_dtypes.bfloat16),
        q=np.zeros(1, ml_dtypes.bfloat16),
    )
    code, _, err = command("run", two, "--kernel=copy", "--args=in.npz", "--out=out.npz")
    assert (code, err) == (0, "")
    assert np.load(tmp_path / "out.npz")["q"].view(ml_dtypes.bfloat16)[0] == 1.5


def test_check_of_ir_text(command, two):
    code, _, err = command(
        "check", two, "--kernel=copy", "--arg=p=bf16[2]:empty", "--arg=q=bf16[1]"
    )
    assert code == 1
    assert f"{two}:16:10: error[TW6107]: uninitialised load: p[0] has not been written" in err
    assert err.endswith("tilewright check: fault in copy\n")
    code, _, err = command(
        "check", two, "--kernel=copy", "--arg=p=bf16[2]", "--arg=q=bf16[1]", "--grid=2"
    )
    assert code == 1
    assert f"{two}:17:5: error[TW6108]: data race on q[0]" in err
    code, _, err = command(
        "check", two, "--kernel=copy", "--arg=p=bf16[2]", "--arg=q=bf16[1]:zeros"
    )
    assert (code, err) == (0, "tilewright check: 1 launch of 1 kernel, 1 program: no fault\n")


def test_the_same_seed_gives_the_same_arguments(command, tmp_path):
    flags = [
        "--arg=x_ptr=f32[9]",
        "--arg=y_ptr=f32[9]",
        "--arg=out_ptr=f32[9]",
        "--arg=n_elements=9",
        "--grid=1",
    ]
    for seed in ("1", "1", "2"):
        assert command("run", VECTOR_ADD, *flags, f"--seed={seed}", f"--out={seed}.npz")[0] == 0
        if seed == "1":
            first = np.load(tmp_path / "1.npz")["out_ptr"]
    assert (np.load(tmp_path / "1.npz")["out_ptr"] == first).all()
    assert (np.load(tmp_path / "2.npz")["out_ptr"] != first).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no FILE; try --help"),
        (["absent.ttir"], "cannot read 'absent.ttir': No such file or directory"),
        (["absent.py"], "cannot read 'absent.py': no such file"),
        (["directory.py"], "cannot read 'directory.py': Is a directory"),
        (["two.ttir", "other.ttir"], "two input files, 'two.ttir' and 'other.ttir'"),
        (["two.ttir", "--gird=1"], "unknown command line argument '--gird=1'; did you mean '--grid'?"),
        (["two.ttir", "--grid"], "'--grid' needs a value"),
        (["two.ttir", "--grid=a"], "--grid: 'a': expected X, X,Y or X,Y,Z"),
        (["two.ttir", "--batch=0"], "--batch: '0' is not an integer >= 1"),
        (["two.ttir", "--arg=p"], "'--arg p': expected NAME=SPEC, for example x_ptr=f32[1024]"),
        (["two.ttir", "--compat"], "--compat applies to Python files only"),
        (["--grid=1", "x.py"], "--grid applies to IR text only, not to a Python script: remove it"),
        (["two.ttir"], "several kernels: fill, copy; pass --kernel NAME"),
        (["two.ttir", "--kernel=fil"], "no kernel 'fil'; did you mean 'fill'?"),
        (["two.ttir", "--kernel=fill", "--arg=x=1"], "@fill has no argument 'x'; it has p, v"),
        (["two.ttir", "--kernel=fill", "--args=no.npz"], "cannot read 'no.npz': No such file or directory"),
        (["two.ttir", "--kernel=fill", "--args=two.ttir"], "'two.ttir' is not an .npz file of plain arrays: write one with numpy.savez\n"),
        (["two.ttir", "--kernel=fill", "--arg=p=i32[99999999999999]", "--arg=v=1"],
         "p: an array of shape [99999999999999] takes 399999999999996 bytes, more than available"),
        (["two.ttir", "--kernel=fill", "--arg=p=i32[9223372036854775807,8]", "--arg=v=1"],
         "p: an array of shape [9223372036854775807,8] takes"),
        (["two.ttir", "--kernel=copy", "--arg=p=bf16[1]", "--arg=q=bf16[1]", "--out=no/x.npz"],
         "cannot write 'no/x.npz': No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_command_lines(command, two, arguments, message, tmp_path):
    (tmp_path / "directory.py").mkdir()
    code, out, err = command("run", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"tilewright run: {message}")
    assert err.count("\n") == 1


def test_a_batch_in_the_environment_that_is_no_number(command, two, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BATCH", "abc")
    code, out, err = command("run", "two.ttir", "--kernel=fill", "--arg=p=i32[4]", "--arg=v=1")
    assert (code, out) == (2, "")
    assert err == (
        "tilewright run: TILEWRIGHT_BATCH is 'abc', expected the number of programs to run "
        "concurrently, 1 or more\n"
    )


def test_text_that_is_no_ir(command, tmp_path):
    (tmp_path / "bad.ttir").write_text("module { nonsense }\n")
    code, _, err = command("check", "bad.ttir")
    assert code == 2
    assert "bad.ttir:1:10: error" in err
    (tmp_path / "empty.ttir").write_text("module {\n}\n")
    code, _, err = command("run", "empty.ttir")
    assert (code, err) == (
        2,
        "tilewright run: no public function (tt.func) with a body, and none with a tile.kernel\n",
    )


@pytest.mark.parametrize("name", ["run", "check"])
def test_help_shows_examples(command, name):
    code, out, err = command(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: tilewright {name} [flags] FILE.py")
    assert "examples:\n" in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_script_that_fails_with_triton_is_told_of_compat(tmp_path):
    pytest.importorskip("triton", reason="the script imports Triton, which is not installed")
    file = tmp_path / "tri.py"
    file.write_text("import triton\nraise RuntimeError('0 active drivers')\n")
    command = [sys.executable, "-m", "tilewright", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this script imports triton: --compat" in done.stderr
