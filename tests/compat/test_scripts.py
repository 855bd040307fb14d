"""``python -m tilewright.compat FILE``: whole scripts for Triton, none of them changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"


def compat(*arguments: str, cwd: Path | None = None, **environment: str):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-m", "tilewright.compat", *arguments],
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_runs_as_python_runs_it(tmp_path):
    link = tmp_path / "linked.py"
    link.symlink_to(SCRIPTS / "vector.py")
    run = compat("linked.py", "1000", "7", cwd=tmp_path)
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "argv ['1000', '7'] name __main__ sibling sibling",
        f"file {link}",
        "version 3.9.0 kernel kernel __main__",
    ]
    assert run.returncode == 7


def test_autotune_heuristics_and_compiled_kernels():
    run = compat(str(SCRIPTS / "tuned_matmul.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr == (
        "tilewright: registers and shared memory of a kernel are unknown on the CPU: reporting "
        "32 registers and 1024 bytes\n"
    )
    assert run.returncode == 0


def test_descriptors_small_floats_and_compile_errors():
    run = compat(str(SCRIPTS / "descriptors.py"))
    assert (run.stdout, run.stderr, run.returncode) == ("all good\n", "", 0)


def test_memory_reinterpreted_as_unsigned_has_no_sign():
    run = compat(str(SCRIPTS / "unsigned.py"))
    assert (run.stdout, run.stderr, run.returncode) == ("all good\n", "", 0)


def test_ctas_per_cga_makes_clusters():
    run = compat(str(SCRIPTS / "clusters.py"))
    assert (run.stdout, run.stderr, run.returncode) == ("all good\n", "", 0)


def test_reports_need_no_pandas(tmp_path):
    run = compat(str(SCRIPTS / "reports.py"), str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == "products:"
    assert [line.split() for line in lines[2:4]] == [
        ["0", "2", "2", "15.000000", "2.000000"],
        ["1", "3", "5", "26.000000", "7.500000"],
    ]
    assert lines[-1] == "all good"
    assert (tmp_path / "out" / "products.csv").read_text().split() == [
        "M,N,Ours", "(units),Theirs", "(units)", "2,2,15.000000,2.000000", "3,5,26.000000,7.500000",
    ]  # fmt: skip
    assert "times are measured on the CPU" in run.stderr


def test_a_report_stops_when_its_time_is_up(tmp_path):
    run = compat(str(SCRIPTS / "reports.py"), str(tmp_path), TILEWRIGHT_BENCH_SECONDS="0")
    assert "products: stopped after 1 of 2 rows, 0 seconds are up" in run.stderr
    assert len((tmp_path / "products.csv").read_text().splitlines()) == 2


def test_a_traceback_begins_at_the_script(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("def f():\n    raise ValueError('no')\n\n\nf()\n")
    run = compat(str(script))
    plain = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert run.stderr == plain.stderr
    assert (run.returncode, plain.returncode) == (1, 1)


def test_a_syntax_error_is_shown_as_python_shows_it(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text("x = (1,\n")
    run = compat(str(script))
    plain = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert "'(' was never closed" in run.stderr
    assert run.stderr == plain.stderr
    assert run.returncode == 1


@pytest.mark.parametrize(
    ("statement", "code", "stderr"),
    [
        ("raise SystemExit", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('went wrong')", 1, "went wrong\n"),
    ],
)
def test_exit_codes(tmp_path, statement, code, stderr):
    script = tmp_path / "leaves.py"
    script.write_text(statement)
    run = compat(str(script))
    assert (run.returncode, run.stderr) == (code, stderr)


def test_a_fault_ends_the_script_with_its_text(tmp_path):
    script = tmp_path / "overruns.py"
    script.write_text(
        "import numpy as np, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def k(p):\n"
        "    tl.store(p + tl.arange(0, 16), 1.0)\n"
        "k[(1,)](np.zeros(10, np.float32))\n"
    )
    run = compat(str(script))
    assert run.returncode == 1
    assert "overruns.py:4:5: error[TW6101]: store out of bounds: p[10]" in run.stderr


def test_a_module_runs_as_python_m_runs_it(tmp_path):
    (tmp_path / "guest.py").write_text(
        "import sys, triton\nprint(__name__, sys.argv[1:], triton.cdiv(5, 2))\n"
    )
    run = compat("-m", "guest", "a", cwd=tmp_path)
    assert (run.stdout, run.stderr, run.returncode) == ("__main__ ['a'] 3\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--help"], 0, "usage: python -m tilewright.compat [--target TARGET] FILE"),
        ([], 2, "usage: python -m tilewright.compat [--target TARGET] FILE"),
        (["absent.py"], 2, "cannot open 'absent.py': no such file"),
        (["."], 2, "cannot open '.': is a directory"),
        (["--fast", "x.py"], 2, "unknown flag '--fast'"),
        (["-m"], 2, "'-m' needs the name of a module"),
    ],
)
def test_command_lines(arguments, code, text, capsys):
    from tilewright.compat.__main__ import main

    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert text in (out if arguments == ["--help"] else err)


def test_what_tritons_own_tests_import():
    run = compat(str(SCRIPTS / "own_surface.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr.count("triton.profiler measures nothing here") == 1
    assert run.returncode == 0
