"""Kernels with partitions: the base of each access is an argument, and no asynchronous copy is left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.analysis.pid_address.support import parse
from tilewright.analysis.pid_address import analyze
from tilewright.dialects.ttg import WarpSpecializeOp
from tilewright.ir.traversal import walk

ROOT = Path(__file__).parents[3]
TEXTS = [
    *sorted((ROOT / "tests/corpus/ttgir").glob("*specialized*.ttgir")),
    *sorted((ROOT / "examples/storage_alias").glob("fa_forward*.mlir")),
    ROOT / "examples/storage_alias/hopper_gemm_ring.mlir",
]
ACCESSES = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.descriptor_load", "tt.descriptor_store")
COPIES = ("ttg.async_copy_global", "ttng.async_tma_copy", "ttng.async_store", "ttng.async_bulk")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_bases_of_accesses_in_partitions(path: Path) -> None:
    module = parse(path.read_text(), path.name)
    assert any(isinstance(op, WarpSpecializeOp) for op in walk(module))
    report = analyze(module)
    ops = Counter(op.name for op in walk(module))
    expected = sum(
        count for name, count in ops.items() if name in ACCESSES or name.startswith(COPIES)
    )
    function = next(op for op in walk(module) if op.name == "tt.func")
    arguments = {f"%{argument.name_hint}" for argument in function.regions[0].block.args}
    assert len(report.accesses) == expected > 0
    assert {access.base for access in report.accesses} <= arguments
    assert not report.not_analysed
