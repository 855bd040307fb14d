"""What `docs/tile-kernels.md` shows is what kernels do."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.test_docs import ROOT, blocks
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy import NumpyFault

PAGE = "docs/tile-kernels.md"
UNINITIALISED = """
import numpy as np
import tilewright as tw
from tilewright import T
@tw.jit
def kernel(A):
    A: T.Tensor((8,), "float32")
    with T.Kernel(1, threads=32) as bx:
        A_shared, C_local = T.alloc_shared((8,), "float32"), T.alloc_fragment((8,), "float32")
        T.copy(A_shared, C_local)
        T.copy(A, A_shared)
kernel(np.ones(8, np.float32))
"""


def test_the_kernels_of_the_page_run(tmp_path: Path) -> None:
    file = tmp_path / "gemm.py"
    file.write_text("\n".join(blocks(PAGE, "python")))
    found = runpy.run_path(str(file))
    exact = found["a"].astype(np.float64) @ found["b"].astype(np.float64)
    assert np.abs(found["c"] - exact).max() < 2e-2
    np.testing.assert_array_equal(found["y"], np.full(100, 2, np.float32))
    assert (found["first"].tolist(), found["second"].tolist()) == ([1.0] * 4, [6.0] * 4)
    with pytest.raises(CompileError) as wrong:
        found["matmul"](found["a"], np.ascontiguousarray(found["b"][:95]))
    (message,) = [block for block in blocks(PAGE, "") if "dimension 0" in block]
    assert message.strip() in str(wrong.value)


def test_the_fault_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("uninitialised.py").write_text(UNINITIALISED)
    with pytest.raises(NumpyFault) as fault:
        runpy.run_path("uninitialised.py")
    (message,) = [block for block in blocks(PAGE, "") if "uninitialised" in block]
    assert message.strip() in str(fault.value)


def test_every_pass_of_the_page_exists() -> None:
    from tilewright.passes import PASSES

    rows = [line for line in (ROOT / PAGE).read_text().splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in row.split("|")[1].replace("`", "").split(",")]
    passes = [name.strip() for name in names if "-" in name and "(" not in name]
    assert len(passes) == 8
    assert set(passes) <= set(PASSES)
