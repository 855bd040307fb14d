"""What `docs/tenstorrent-sources.md` shows is what happens."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.test_docs import blocks
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
    tmp_path: Path,
) -> None:
    kernel = blocks("docs/tenstorrent.md", "python")[0]
    (tmp_path / "gemm_relu.py").write_text(kernel)
    (tmp_path / "edited.py").write_text(blocks(PAGE, "python")[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    arguments = ("compile", "gemm_relu.py", "--target", "tenstorrent:wormhole", "-o", "build")
    subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments], cwd=tmp_path, env=environment, check=True
    )
    assert _edited(tmp_path, environment) == "relative error 0.0017\nstatus 0\n"
    result = np.fromfile(tmp_path / "build" / "C.bin", bfloat16)
    assert result.size == 250 * 240 and np.isfinite(result.astype(np.float32)).all()
    reader = tmp_path / "build" / "reader.cpp"
    reader.write_text(reader.read_text().replace("noc_async_read_barrier();", "", 1))
    found = re.sub(r"core \(\d,\d\)", "core (3,6)", _edited(tmp_path, environment))
    assert found == blocks(PAGE, "")[1]


def _edited(directory: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "edited.py"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "SourceExecutorUnavailable" in done.stderr:
        pytest.skip(f"the example was NOT run: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout
