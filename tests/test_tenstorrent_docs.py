"""What `docs/tenstorrent-sources.md` shows is what happens."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.test_docs import blocks
from tilewright.cli import main
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable

PAGE = "docs/tenstorrent-sources.md"


def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, _ = blocks(PAGE, "python")
    expected, _ = blocks(PAGE, "")
    file = tmp_path / source.splitlines()[0].removeprefix("# ")
    file.write_text(source)
    try:
        runpy.run_path(str(file))
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the example was NOT run: {reason}")
    assert capsys.readouterr().out == expected


def test_the_emitted_files_run_after_they_were_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    kernel = blocks("docs/tenstorrent.md", "python")[0]
    (tmp_path / "gemm_relu.py").write_text(kernel)
    (tmp_path / "edited.py").write_text(blocks(PAGE, "python")[1])
    arguments = ("compile", "gemm_relu.py", "--target", "tenstorrent:wormhole", "-o", "build")
    assert main.run(arguments) == 0
    capsys.readouterr()
    assert _edited(capsys) == "relative error 0.0017\nstatus 0\n"
    result = np.fromfile(tmp_path / "build" / "C.bin", bfloat16)
    assert result.size == 250 * 240 and np.isfinite(result.astype(np.float32)).all()
    reader = tmp_path / "build" / "reader.cpp"
    reader.write_text(reader.read_text().replace("noc_async_read_barrier();", "", 1))
    found = re.sub(r"core \(\d,\d\)", "core (3,6)", _edited(capsys))
    assert found == blocks(PAGE, "")[1]


def _edited(capsys: pytest.CaptureFixture[str]) -> str:
    sys.modules.pop("gemm_relu", None)
    try:
        runpy.run_path("edited.py")
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the example was NOT run: {reason}")
    finally:
        sys.modules.pop("gemm_relu", None)
    return capsys.readouterr().out
