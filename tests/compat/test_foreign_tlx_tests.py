"""`scripts/run_foreign_tlx_tests.py` on a file of our own: what is mapped, and the exit code."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_foreign_tlx_tests.py"
CLASSES = (
    "TestStorageKind",
    "TestStorageAliasSpecType",
    "TestStorageAliasSpecClass",
    "TestLocalAllocWithStorageAliasSpec",
    "TestReuseGroupType",
    "TestReuseGroup",
)
HEAD = """\
import torch
import triton
import triton.language.extra.tlx as tlx
from triton._internal_testing import is_hopper_or_newer

"""


def written(folder: Path, wanted: str) -> Path:
    """A file with the classes that the script runs; the first looks at a value of `tlx`."""
    bodies = [f"assert tlx.storage_kind.smem.value == {wanted!r}"]
    bodies += ["assert tlx.__name__ == 'triton.language.extra.tlx'"] * (len(CLASSES) - 1)
    path = folder / "test_theirs.py"
    classes = (
        f"class {name}:\n    def test_it(self):\n        {body}\n"
        for name, body in zip(CLASSES, bodies, strict=True)
    )
    path.write_text(HEAD + "\n\n".join(classes))
    return path


@pytest.mark.parametrize(
    ("wanted", "code", "said"),
    [
        pytest.param("smem", 0, "6 passed", marks=pytest.mark.slow),
        ("tmem", 1, "1 failed, 5 passed"),
    ],
)
def test_the_exit_code_is_that_of_their_tests(
    tmp_path: Path, wanted: str, code: int, said: str
) -> None:
    path = written(tmp_path, wanted)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout


def test_a_missing_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    assert main([str(tmp_path / "no.py")]) == 2
    assert capsys.readouterr().err == f"no file {tmp_path / 'no.py'}\n"
