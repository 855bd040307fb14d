"""Buffer accesses instead of guards, and scheduling hints: kernels compute the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd.hint_schedule import HintSchedule
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt


def gemm(m: int, n: int, k: int) -> PrimFunc:
    """With tiles that none of the extents is a multiple of."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=2):
                T.copy(A[by * 64, step * 64], A_shared)
                T.copy(B[bx * 64, step * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * 64, bx * 64])

    return kernel


def run(pipeline: AmdPipeline, m: int, n: int, k: int, seed: int = 0) -> list[str]:
    """Multiply and compare; the names of the ops that did it."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, (side, k)).astype(np.float16) for side in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    module = lowered(gemm(m, n, k).module, pipeline)
    given: list[tuple[str, Any]] = [("A", a), ("B", b), ("C", c)]
    buffers = [Buffer(name, each) for name, each in given]
    compile_simt(module).launch(buffers, SimtOptions(seed=seed))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    return [op.name for op in walk(module)]


def test_no_branch_guards_a_tile():
    plain = amd_pipeline()
    guarded = lowered(gemm(100, 72, 96).module, plain)
    assert any(op.name == "scf.if" for op in walk(guarded))
    found = run(replace(plain, buffer_accesses=True), 100, 72, 96)
    assert found.count("scf.if") == 0
    assert found.count("amd.buffer_load") > 0
    assert found.count("amd.buffer_store") > 0


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 8, 8), (65, 72, 40), (63, 64, 200), (130, 136, 64), (7, 5, 3), (64, 64, 65)]
)  # fmt: skip
def test_odd_sizes(chip: str, m: int, n: int, k: int):
    for seed in range(2):
        run(replace(amd_pipeline(chip), buffer_accesses=True), m, n, k, seed)


def test_sizes_that_are_run_time_values_are_reported():
    @T.prim_func
    def copy(A: T.Tensor((T.dynamic("rows"), 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_fragment((64, 64), "float32")
            T.copy(A[0, 0], tile)
            T.copy(tile, B)

    engine = DiagnosticEngine()
    replace(amd_pipeline(), buffer_accesses=True).run(copy.module, engine)
    engine.raise_if_errors()
    found = [str(each.message) for each in engine.diagnostics if each.code == "TW7540"]
    assert found
    assert found[0].endswith("the size of 'A' is a run-time value")


@pytest.mark.parametrize(
    "mode",
    [*(pytest.param(each, marks=pytest.mark.slow) for each in ("priority", "iglp")), "groups"],
)
def test_hints_change_no_result(mode: str):
    found = run(replace(amd_pipeline(), schedule=mode), 64, 64, 192)
    kind = {"priority": "amd.setprio", "groups": "amd.sched_group", "iglp": "amd.iglp"}[mode]
    assert kind in found


def test_groups_have_every_access_of_an_iteration():
    """Of the loop: as many MMAs, LDS reads and writes, and loads as it executes."""
    module = lowered(gemm(64, 64, 256).module, replace(amd_pipeline(), schedule="groups"))
    totals: dict[str, int] = {}
    for op in walk(module):
        if op.name == "amd.sched_group":
            kind, count = op.properties["kind"], op.properties["count"]
            name = kind.data  # pyright: ignore[reportAttributeAccessIssue]
            times = count.value.data  # pyright: ignore[reportAttributeAccessIssue]
            totals[name] = totals.get(name, 0) + times
    # 64 x 64 x 64 by two waves: 2 of 32 x 32 with 8 steps of 8; tiles of 8 KiB by 128 threads.
    assert totals["mfma"] == 64 * 64 * 64 // (2 * matrix_work(module))
    assert totals["vmem_read"] == totals["lds_write"] == 2 * 64 * 64 * 2 // (128 * 16)
    assert totals["lds_read"] > 0


def matrix_work(module: Any) -> int:
    (shape,) = {op.mnk for op in walk(module) if op.name == "amd.mfma"}
    return shape[0] * shape[1] * shape[2]


def test_a_mode_that_does_not_exist():
    with pytest.raises(ValueError, match="mode is 'fast', expected one of none, priority"):
        HintSchedule("fast")
