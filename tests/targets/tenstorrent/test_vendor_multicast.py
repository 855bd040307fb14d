"""The vendor's multicast GEMM and ours: equal results, and equally many reads of every operand.

Both run on the source executor. The elements are small integers, so that the vendor's partial sums
in bfloat16 are exact and the results are equal bit by bit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.targets.tenstorrent.vendor_programs import (
    EXAMPLES,
    Blocking,
    matmul_multicore_reuse_mcast,
    result,
    tilize,
    untilize,
)
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.source import run

VARIABLE = "TILEWRIGHT_TT_METAL"
BLOCKINGS = {
    "3x3 cores": Blocking(),
    "2x4 cores": Blocking(
        per_core_m=2, per_core_n=4, block_k=3, sub_h=2, sub_w=4, kt=9, rows=2, columns=4
    ),
}


@pytest.fixture(scope="module")
def checkout() -> Path:
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} is not set: the vendor's multicast GEMM was NOT run")
    if not (Path(root) / EXAMPLES).is_dir():
        pytest.fail(f"{VARIABLE}={root} has no {EXAMPLES}")
    return Path(root)


def operands(s: Blocking) -> tuple[Any, Any]:
    draw = np.random.default_rng(11)
    shapes = ((s.mt * 32, s.kt * 32), (s.kt * 32, s.nt * 32))
    a, b = (draw.integers(-1, 2, shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    return a, b


@pytest.mark.parametrize("name", BLOCKINGS)
def test_our_gemm_and_the_vendors_agree(name: str, checkout: Path) -> None:
    s = BLOCKINGS[name]
    a, b = operands(s)
    case = matmul_multicore_reuse_mcast(checkout, s)
    block = (s.per_core_m * 32, s.per_core_n * 32, s.block_k * 32)
    module, plan = compiled(
        gemm(s.mt * 32, s.nt * 32, s.kt * 32, block),
        cores=f"{s.columns}x{s.rows}",
        multicast="on",
    )
    ours = artefact_of(module)
    assert plan.multicast is not None
    for seed in (1, 2, 3):
        vendor = run(
            case.program, {"a": tilize(a), "b": tilize(b)}, RunOptions(seed=seed)
        ).raise_for_findings()
        own = ours.run({"A": a, "B": b}, RunOptions(seed=seed), Executor.SOURCE)
        result_array = untilize(result(vendor, "c").reshape(-1, 1024), (s.mt * 32, s.nt * 32))
        assert own.arrays["C"].tobytes() == result_array.astype(ml_dtypes.bfloat16).tobytes()
        np.testing.assert_array_equal(
            result_array.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32)
        )
        reads = own.result.page_reads
        assert (reads["A"], reads["B"]) == (vendor.page_reads["a"], vendor.page_reads["b"])
        assert (reads["A"], reads["B"]) == (s.mt * s.kt, s.kt * s.nt)
        own_counts, vendor_counts = own.result.traffic, vendor.traffic
        assert own_counts.multicast_pages == vendor_counts.multicast_pages
        assert own_counts.noc_bytes == vendor_counts.noc_bytes
