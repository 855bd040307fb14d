"""What `docs/tlx.md` shows is what kernels do."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.examples.tlx_examples import NAMES
from tests.test_docs import ROOT, blocks
from tilewright.targets.numpy import NumpyFault

PAGE = "docs/tlx.md"
WAIT = "                tlx.barrier_wait(full[slot], (block // 2) & 1)\n"


def test_the_kernel_of_the_page_runs(tmp_path: Path) -> None:
    (source,) = blocks(PAGE, "python")
    file = tmp_path / "double.py"
    file.write_text(source)
    found = runpy.run_path(str(file))
    np.testing.assert_array_equal(found["y"], 2 * found["x"])


def test_without_the_wait_the_run_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = blocks(PAGE, "python")
    assert source.count(WAIT) == 1
    Path("double.py").write_text(source.replace(WAIT, ""))
    with pytest.raises(NumpyFault) as fault:
        runpy.run_path("double.py")
    (message,) = blocks(PAGE, "")
    assert message.strip() in str(fault.value)


def test_every_example_is_listed() -> None:
    page = (ROOT / PAGE).read_text()
    assert all(f"`{name}.py`" in page for name in NAMES)
