"""Blocks of a cluster run together: one fetches a tile for two, and signals both."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

UNCHECKED = GpuPipeline(leave_out=("check-thread-sync",))


def shared_b(
    rows: int,
    columns: int,
    announced: int = 2 * 64 * 64 * 2,
    pipeline: GpuPipeline | None = None,
) -> ModuleOp:
    """Two blocks below each other share a tile of B, which the first of them fetches."""

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 64), "float16"),
        B: T.Tensor((64, columns), "float16"),
        C: T.Tensor((rows, columns), "float32"),
    ):
        with T.ClusterKernel(columns // 64, rows // 64, threads=128, cluster_dims=(1, 2, 1)) as (
            bx,
            by,
        ):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier(1)
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive_expect_tx(full, announced)
            T.tma_copy(A[by * 64 : (by + 1) * 64, 0:64], A_shared, barrier=full)
            if T.block_rank_in_cluster() == 0:
                T.tma_copy(B[0:64, bx * 64 : (bx + 1) * 64], B_shared, barrier=full, cluster_mask=3)
            T.mbarrier_wait_parity(full, 0)
            T.clear(C_local)
            T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 64, bx * 64])

    return lowered(kernel.module, pipeline)


def run(module: ModuleOp, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(-3, 4, (256, 64)).astype(np.float16)
    b = rng.integers(-3, 4, (64, 128)).astype(np.float16)
    c = np.full((256, 128), np.nan, np.float32)
    buffers = [Buffer("A", a), Buffer("B", b), Buffer("C", c)]
    report = compile_simt(module).launch(buffers, SimtOptions(seed=seed))
    assert report.blocks == 8
    return c, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_a_tile_for_two_blocks(seed: int) -> None:
    found, expected = run(shared_b(256, 128), seed)
    np.testing.assert_array_equal(found, expected)


def test_bytes_of_the_other_tile_are_not_expected() -> None:
    message = "nothing orders it after an? .*copy"
    with pytest.raises(CompileError, match=message):
        shared_b(256, 128, announced=64 * 64 * 2)
    with pytest.raises(SimtFault, match=message):
        run(shared_b(256, 128, 64 * 64 * 2, UNCHECKED), 0)


def test_a_block_that_does_not_wait_for_the_others() -> None:
    """Without the cluster barrier at the start, a tile can arrive before its barrier is initialised."""
    module = shared_b(256, 128)
    meetings = [op for op in walk(module) if op.name in ("nv.cluster.arrive", "nv.cluster.wait")]
    assert len(meetings) == 4
    for op in meetings[:2]:
        op.detach()
        op.erase()
    with pytest.raises(SimtFault, match="has not been initialised"):
        for seed in range(4):
            run(module, seed)
