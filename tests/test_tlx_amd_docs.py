"""What `docs/tlx-amd.md` shows is what kernels do on AMD GPUs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.test_docs import ROOT, blocks
from tilewright.cli import compile as command

PAGE = "docs/tlx-amd.md"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    (source,) = blocks(PAGE, "python")
    file = tmp_path / "ring.py"
    file.write_text(source)
    return file


def test_the_kernel_of_the_page_runs_and_compiles(
    ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("triton", reason="code objects are made by Triton, which is not installed")
    found = runpy.run_path(str(ring))
    np.testing.assert_array_equal(found["y"], 2 * found["x"])
    assert capsys.readouterr().out == "0 8192\n"
    assert "lds" in found["compiled"].text("amdgcn")


def test_the_table_of_the_page(
    ring: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="code objects are made by Triton, which is not installed")
    (shown,) = blocks(PAGE, "console")
    monkeypatch.chdir(ring.parent)
    assert command.run(["ring.py", "--target", "triton:gfx950"], "tilewright compile") == 0
    printed = capsys.readouterr().out.splitlines()
    expected = shown.strip().splitlines()[1:]
    assert printed[0].split() == expected[0].split()
    # Line tables hold the name of the file's directory, so that the size may differ.
    assert printed[1].split()[:-2] == expected[1].split()[:-2]


def test_every_tutorial_of_the_script_is_listed() -> None:
    page = (ROOT / PAGE).read_text()
    script = (ROOT / "scripts" / "run_tlx_tutorials.py").read_text()
    names = [line.split('"')[1] for line in script.splitlines() if '    Case("amd_' in line]
    assert len(names) > 10
    assert all(f"`{name.split('/')[0]}`" in page for name in names)
