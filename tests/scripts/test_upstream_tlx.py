"""The suites of TLX, on a checkout that is made here."""

from __future__ import annotations

from pathlib import Path

from scripts.upstream import tlx_lit, tlx_tutorials
from scripts.upstream_lit import NEEDS

PASSES = """// RUN: triton-opt %s | FileCheck %s
// CHECK: tt.func @kernel
tt.func @kernel() {
  tt.return
}
"""


def _checkout(root: Path) -> Path:
    folder = root / "test" / "TLX"
    folder.mkdir(parents=True)
    (folder / "ops.mlir").write_text(PASSES)
    (folder / "ops-more.mlir").write_text(PASSES.replace("CHECK:", "CHECK: other"))
    return root


def test_lit_files_are_counted_by_topic(tmp_path: Path) -> None:
    result = tlx_lit.run(_checkout(tmp_path))
    assert result.rows == (("ops", {"passed": 1, "failed": 1}),)
    assert dict(result.reasons) == {"ops-more.mlir: not looked into": 1}


def test_a_sample_of_lit_files(tmp_path: Path) -> None:
    found = tlx_lit.endings(_checkout(tmp_path), only=["more"], count=1, seed=3)
    assert found == {"ops-more.mlir": "failed"}


def test_a_directory_that_is_no_checkout(tmp_path: Path) -> None:
    assert tlx_lit.main([str(tmp_path)]) == 2


def test_needs_name_passes() -> None:
    assert all(name.endswith(".mlir") and ": " in need for name, need in NEEDS.items())


def test_tutorials_are_counted_by_gpu(tmp_path: Path) -> None:
    found = (
        tlx_tutorials.Ending("hopper_gemm_ws", "right"),
        tlx_tutorials.Ending("blackwell_gemm_ws", "reported", "TW6107"),
    )
    result = tlx_tutorials.summary(tmp_path, found)
    assert result.rows == (("cuda:100", {"reported": 1}), ("cuda:90", {"right": 1}))
    assert dict(result.reasons) == {"blackwell_gemm_ws: reported: TW6107": 1}


def test_a_tutorial_that_is_not_there(tmp_path: Path) -> None:
    found = tlx_tutorials.endings(tmp_path, jobs=1, only=["vector-add2"], limit=60)
    assert [(each.case, each.ending) for each in found] == [("vector-add2", "refused")]
