"""Blocks of a cluster: tiles fetched once for several blocks, barriers of all of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.insert_expect_tx import InsertExpectTx
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.gpu.sync_clusters import SyncClusters
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtFault, SimtOptions, compile_simt


@tw.jit(target="cuda:sm_90a")
def shared_b(A, B, mask=3, dims=(1, 2, 1), announced=True):
    M, N = T.const("M, N")
    A: T.Tensor((M, 64), "float16")
    B: T.Tensor((64, N), "float16")
    C = T.empty((M, N), "float16")
    with T.ClusterKernel(N // 64, M // 64, threads=128, cluster_dims=dims) as (bx, by):
        A_shared = T.alloc_shared((64, 64), "float16")
        B_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        full = T.alloc_barrier(1 if announced else 128)
        if announced:
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive_expect_tx(full, 2 * 64 * 64 * 2)
        else:
            T.barrier_arrive(full)
        T.tma_copy(A[by * 64 : (by + 1) * 64, 0:64], A_shared, barrier=full)
        if T.block_rank_in_cluster() == 0:
            T.tma_copy(B[0:64, bx * 64 : (bx + 1) * 64], B_shared, barrier=full, cluster_mask=mask)
        T.mbarrier_wait_parity(full, 0)
        T.clear(C_local)
        T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 64, bx * 64])
    return C


def body(kernel) -> str:
    source = kernel.get_kernel_source()
    return source[source.index('extern "C"') :]


def test_a_tile_for_two_blocks() -> None:
    kernel = shared_b.compile(M=256, N=128)
    text = body(kernel)
    assert kernel.gpu.program.kernels["shared_b_kernel"].metadata.cluster == (1, 2, 1)
    calls = re.findall(r"tw::(\w+)\(", text)
    order = [
        each
        for each in calls
        if each.startswith(("barrier_", "fence", "cluster_", "tma_")) or "m64n64k16" in each
    ]
    assert list(dict.fromkeys(order[:-2])) == [
        "barrier_init", "fence_barrier_init", "cluster_arrive", "cluster_wait",
        "barrier_arrive_expect", "tma_load", "cluster_rank", "tma_load_multicast", "barrier_wait",
        "wgmma_m64n64k16_f32_f16_f16_tb",
    ]  # fmt: skip
    assert order[-2:] == ["cluster_arrive", "cluster_wait"]
    assert re.search(r"tma_load_multicast\(B_shared, &B_map, full, 3, \w+, 0\)", text)
    assert ".multicast::cluster" in kernel.get_kernel_source()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mask": 5}, "cluster_mask=0x5 selects CTAs outside the cluster"),
        ({"dims": (1, 1, 1), "mask": 3}, "the cluster has 1, so the mask must be in 1 to 0x1"),
        ({"announced": False}, "completes 8192 B on the mbarrier of every destination CTA"),
    ],
)
def test_mistakes(options, message) -> None:
    with pytest.raises(CompileError, match=re.escape(message)):
        shared_b.compile(M=256, N=128, **options)


def test_the_processor_says_that_it_cannot() -> None:
    a = np.zeros((128, 64), np.float16)
    with pytest.raises(CompileError, match="multicast copies are not supported"):
        shared_b(a, np.zeros((64, 64), np.float16))


@tw.jit(target="cuda:sm_90a")
def arriving(A):
    A: T.Tensor((64, 64), "float16")
    B = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((64, 64), "float16")
        full = T.alloc_barrier(128)
        T.tma_copy(A[0:64, 0:64], tile, barrier=full)
        T.barrier_arrive(full)
        T.mbarrier_wait_parity(full, 0)
        T.copy(tile, B)
    return B


def test_a_copy_announces_its_bytes_before_its_thread_arrives() -> None:
    a = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    np.testing.assert_array_equal(arriving(a), a)
    calls = re.findall(r"tw::((?:barrier|tma)_\w+)\(", body(arriving.compile(a)))
    assert calls[:5] == [
        "barrier_init", "barrier_expect", "tma_load", "barrier_arrive", "barrier_wait",
    ]  # fmt: skip


def run_on_threads(passes, a: np.ndarray) -> np.ndarray:
    """What the thread level computes in several orders of events."""
    module, engine = arriving.get_tir(a).module.clone(), DiagnosticEngine()
    for each in passes:
        each.run(module, engine)
    engine.raise_if_errors()
    result = np.zeros_like(a)
    arguments = [Buffer("A", a.copy()), Buffer("B", result)]
    compile_simt(module).launch(arguments, SimtOptions(schedules=4))
    return result


def test_threads_wait_for_bytes_that_were_announced() -> None:
    a = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    passes = GpuPipeline().passes()
    np.testing.assert_array_equal(run_on_threads(passes, a), a)
    # Without the announcement the phase may end before the tile is there.
    silent = [each for each in passes if not isinstance(each, InsertExpectTx | CheckThreadSync)]
    assert len(silent) == len(passes) - 2
    with pytest.raises(SimtFault):
        run_on_threads(silent, a)


def product_on_threads(passes) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((256, 64)).astype(np.float16)
    b = rng.standard_normal((64, 128)).astype(np.float16)
    module, engine = shared_b.get_tir(M=256, N=128).module.clone(), DiagnosticEngine()
    for each in passes:
        each.run(module, engine)
    engine.raise_if_errors()
    c = np.zeros((256, 128), np.float16)
    arguments = [Buffer(name, each) for name, each in (("A", a), ("B", b), ("C", c))]
    compile_simt(module).launch(arguments, SimtOptions(schedules=4))
    return c, a.astype(np.float64) @ b.astype(np.float64)


def test_a_tile_for_two_blocks_on_threads() -> None:
    found, expected = product_on_threads(GpuPipeline().passes())
    np.testing.assert_allclose(found, expected, atol=2e-2)


def test_blocks_begin_together() -> None:
    alone = [each for each in GpuPipeline().passes() if not isinstance(each, SyncClusters)]
    with pytest.raises(CompileError, match=r"full\[0\] is used, but not initialised"):
        product_on_threads(alone)
    unchecked = [each for each in alone if not isinstance(each, CheckThreadSync)]
    with pytest.raises(SimtFault, match="full of CTA 1 has not been initialised"):
        product_on_threads(unchecked)
