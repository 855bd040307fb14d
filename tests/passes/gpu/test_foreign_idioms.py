"""Idioms of TileLang's kernels: values at both levels, and cubins."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.tile.pass_configs import PassConfigKey, checked_configs, gpu_settings
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

F32 = "float32"


@tw.jit
def by_range(A, B):
    A: T.Tensor((128, 64), F32)
    B: T.Tensor((128, 64), F32)
    C = T.empty((128, 64), F32)
    with T.Kernel(2, threads=256) as b:
        tx = T.get_thread_binding()
        s = T.alloc_shared((64, 64), F32)
        r = T.alloc_shared((64, 64), F32)
        f = T.alloc_fragment((64, 64), F32)
        g = T.alloc_fragment((64, 64), F32)
        if tx < 96:
            T.copy(A[b * 64, 0], f)
            for i, j in T.Parallel(64, 64):
                f[i, j] = f[i, j] * 2
            T.copy(f, s)
        elif tx < 128:
            T.fill(r, 1)
        elif tx >= 128 and tx < 256:
            T.copy(B[b * 64, 0], g)
        for i, j in T.Parallel(64, 64):
            C[b * 64 + i, j] = s[i, j] + r[i, j] + B[b * 64 + i, j]
    return C


def test_a_branch_of_whole_warps_shares_tile_operations() -> None:
    a, b = whole(1, 128, 64, dtype=F32), whole(2, 128, 64, dtype=F32)
    check(by_range, a, b, expected=2 * a + 1 + b)


@tw.jit
def by_half_a_warp(A):
    A: T.Tensor((64,), F32)
    C = T.empty((64,), F32)
    with T.Kernel(1, threads=128):
        s = T.alloc_shared((64,), F32)
        if T.get_thread_binding() < 16:
            T.copy(A, s)
        T.copy(s, C)
    return C


@tw.jit
def counted(A, N):
    A: T.Tensor((4, 64), F32)
    N: T.Tensor((1,), "int32")
    C = T.empty((64,), F32)
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((64,), F32)
        f = T.alloc_fragment((64,), F32)
        count = T.alloc_var("int32")
        count = N[0]
        tx = T.get_thread_binding()
        if tx >= 128:
            T.fill(s, 1)
        else:
            T.clear(f)
            for k in T.serial(count):
                for i in T.Parallel(64):
                    f[i] += A[k, i]
            T.copy(f, C)
    return C


def test_roles_read_variables_of_the_block() -> None:
    a = whole(1, 4, 64, dtype=F32)
    check(counted, a, np.array([3], np.int32), expected=a[:3].sum(0))


def test_a_branch_of_half_a_warp_does_not() -> None:
    with pytest.raises(CompileError, match=r"TW4073.*T\.copy in a divergent branch"):
        lowered(by_half_a_warp, whole(1, 64, dtype=F32))


@tw.jit
def by_mask(A, M, W):
    A: T.Tensor((37, 96), F32)
    M: T.Tensor((37,), "bool")
    W: T.Tensor((37, 2), F32)
    C = T.empty((96,), F32)
    with T.Kernel(1, threads=128):
        m = T.alloc_fragment((37,), "bool")
        w = T.alloc_fragment((37, 2), F32)
        f = T.alloc_fragment((96,), F32)
        s = T.alloc_shared((96,), F32)
        T.copy(M, m)
        T.copy(W, w)
        T.clear(f)
        for r in T.Pipelined(37, num_stages=2):
            if m[r]:
                T.copy(A[r, 0], s)
                for j in T.Parallel(96):
                    f[j] += s[j] * w[r, 1]
        T.copy(f, C)
    return C


def test_a_fragment_that_all_threads_index_is_a_table_in_shared_memory() -> None:
    rng = np.random.default_rng(3)
    a, w = whole(1, 37, 96, dtype=F32), whole(2, 37, 2, dtype=F32)
    mask = rng.random(37) > 0.5
    engine = check(by_mask, a, mask, w, expected=(a * mask[:, None] * w[:, 1:]).sum(0))
    found = [each.message for each in engine.diagnostics if each.code == "TW2023"]
    assert found[0].startswith("'m' is allocated in shared memory (37 B), not in registers")


@tw.jit
def past_the_end(A):
    A: T.Tensor((64,), F32)
    C = T.empty((64,), F32)
    with T.Kernel(1, threads=128):
        f = T.alloc_fragment((8,), F32)
        for i in T.Parallel(64):
            f[i] = A[i] * 2
        for i in T.Parallel(64):
            C[i] = f[i] + 1
    return C


def test_a_fragment_accessed_past_its_end_is_widened_on_gpus() -> None:
    a = whole(1, 64, dtype=F32)
    module, engine = lowered(past_the_end, a)
    assert [each.severity for each in engine.diagnostics if each.code == "TW2024"] == [
        Severity.WARNING
    ]
    out = np.full(64, -1, np.float32)
    compile_simt(module).launch([Buffer("A", a), Buffer("C", out)])
    np.testing.assert_array_equal(out, 2 * a + 1)
    with pytest.raises(Exception, match="out of bounds"):
        past_the_end(a)


@tw.jit
def bound_threads(A):
    A: T.Tensor((4, 64), F32)
    C = T.empty((64,), F32)
    with T.Kernel(1, threads=(16, 4)):
        x = T.thread_binding(0, 16, thread="threadIdx.x")
        y = T.thread_binding(0, 4, thread="threadIdx.y")
        C[y * 16 + x] = A[y, x]
    return C


def test_thread_binding_assigned_to_a_name_is_the_index() -> None:
    a = whole(1, 4, 64, dtype=F32)
    check(bound_threads, a, expected=a[:, :16].reshape(-1))


def test_a_thread_binding_is_checked_against_the_block() -> None:
    @tw.jit
    def too_many(A):
        A: T.Tensor((64,), F32)
        with T.Kernel(1, threads=32):
            x = T.thread_binding(0, 64, thread="threadIdx.x")
            A[x] = 0

    with pytest.raises(CompileError, match="the block has 32 threads along this axis"):
        too_many(np.zeros(64, np.float32))


@tw.jit(out_idx=-1)
def workspace(M):
    @T.prim_func
    def main(A: T.Tensor((M,), F32), C: T.Tensor((M,), F32)):
        W = T.alloc_buffer([M], F32)
        with T.Kernel(1, threads=128):
            for i in T.Parallel(M):
                W[i] = A[i] + 1
            T.sync_threads()
            for i in T.Parallel(M):
                C[i] = W[i] * 2

    return main


def test_a_buffer_outside_of_the_kernel_is_global_memory() -> None:
    a = whole(1, 128, dtype=F32)
    np.testing.assert_array_equal(workspace(128)(a), (a + 1) * 2)


@tw.jit
def flattened(A, B):
    m, n = T.dynamic("m"), T.const("n")
    A: T.Tensor((m * n,), F32)
    B: T.Tensor((m, n), F32)
    C = T.empty((m, n), F32)
    with T.Kernel(m, threads=32) as b:
        for j in T.Parallel(n):
            C[b, j] = A[b * n + j] + B[b, j]
    return C


def test_sizes_that_a_later_argument_determines() -> None:
    a, b = whole(1, 35, dtype=F32), whole(2, 5, 7, dtype=F32)
    np.testing.assert_array_equal(flattened(a, b), a.reshape(5, 7) + b)
    kernel = flattened.compile(a, b)
    np.testing.assert_array_equal(kernel(a, b), a.reshape(5, 7) + b)
    with pytest.raises(
        ValueError, match=r"A has shape\[0\] = 36, but no such size = m \* n is expected"
    ):
        kernel(whole(1, 36, dtype=F32), b)


@tw.jit
def halves(A, B):
    A: T.Tensor((32, 64), "float16")
    B: T.Tensor((64, 64), "float16")
    C = T.empty((32, 64), F32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((32, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((32, 64), F32)
        s = T.alloc_shared((16, 64), F32)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullCol, clear_accum=True)
        for half in range(2):
            for i, j in T.Parallel(32, 64):
                if i < 16:
                    s[i, j] = c[i + half * 16, j]
            for i, j in T.Parallel(16, 64):
                C[half * 16 + i, j] = s[i, j] * 2
    return C


def test_parts_of_a_fragment_by_the_index_of_a_loop_stay_in_registers() -> None:
    a, b = whole(1, 32, 64), whole(2, 64, 64)
    engine = check(halves, a, b, expected=2 * (a.astype(F32) @ b.astype(F32)))
    assert not [each.message for each in engine.diagnostics if each.code == "TW2023"]


@tw.jit
def racing(A):
    A: T.Tensor((128,), F32)
    C = T.empty((128,), F32)
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((128,), F32)
        tx = T.get_thread_binding()
        if tx < 128:
            for i in T.Parallel(128):
                s[i] = A[i]
        else:
            for i in T.Parallel(128):
                C[i] = s[i]
    return C


def test_a_race_of_roles_is_an_error_unless_it_is_tolerated() -> None:
    a = whole(1, 128, dtype=F32)
    with pytest.raises(CompileError, match="TW4052"):
        lowered(racing, a)
    engine = DiagnosticEngine()
    module = racing.get_tir(a).module.clone()
    GpuPipeline(tolerate_races=True).run(module, engine)
    assert not engine.has_errors
    found = {each.code: each.severity for each in engine.diagnostics}
    assert found["TW4052"] == found["TW4081"] == Severity.WARNING
    configs = {PassConfigKey.TL_DISABLE_DATA_RACE_CHECK: True}
    assert gpu_settings(checked_configs(configs), "sm_90a").tolerate_races
    assert not gpu_settings({}, "sm_90a").tolerate_races


@tw.jit
def arriving_copies(A):
    A: T.Tensor((128, 8), "float16")
    C = T.empty((128, 8), "float16")
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((128, 8), "float16")
        ready = T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx < 128:
            T.ptx_cp_async(T.access_ptr(s[tx, 0], "w", 8), T.access_ptr(A[tx, 0], "r", 8), 8)
            T.cp_async_barrier_noinc(ready)
        else:
            T.barrier_wait(ready, 0)
            for i, j in T.Parallel(128, 8):
                C[i, j] = s[127 - i, j]
    return C


def test_copies_that_arrive_at_a_barrier_compile() -> None:
    a = whole(1, 128, 8)
    check(arriving_copies, a, expected=a[::-1])
    assert "cp.async.mbarrier.arrive.noinc" in source_of(lowered(arriving_copies, a)[0])


@tw.jit
def two_roles(A, B):
    A: T.Tensor((32768, 64), "float16")
    B: T.Tensor((64, 64), "float16")
    C = T.empty((32768, 64), F32)
    with T.Kernel(512, threads=256) as b:
        s = T.alloc_shared((64, 64), "float16")
        w = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), F32)
        ready = T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx >= 128:
            T.copy(A[b * 64, 0], s)
            T.copy(B, w)
            T.fence_proxy_async()
            T.barrier_arrive(ready)
        else:
            T.barrier_wait(ready, 0)
            T.gemm(s, w, c, clear_accum=True)
            T.copy(c, C[b * 64, 0])
    return C


def test_user_written_roles_do_not_request_more_registers_than_a_block_has() -> None:
    """With two blocks a multiprocessor, 240 registers for each of both roles never come."""
    module, _ = lowered(two_roles, whole(1, 32768, 64), whole(2, 64, 64))
    assert "nv.setmaxnreg" not in print_module(module)


@tw.jit
def by_element_loops(A, B):
    A: T.Tensor((100, 128), "float16")
    B: T.Tensor((128, 64), "float16")
    C = T.empty((100, 64), F32)
    with T.Kernel(2, threads=128) as b:
        s = T.alloc_shared((64, 64), "float16")
        w = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), F32)
        T.clear(c)
        for k in T.Pipelined(2, num_stages=2):
            for i, j in T.Parallel(64, 64):
                s[i, j] = A[b * 64 + i, k * 64 + j]
            for i, j in T.Parallel(64, 64):
                w[i, j] = B[k * 64 + i, j]
            T.gemm(s, w, c)
        T.copy(c, C[b * 64, 0])
    return C


def test_element_loops_that_copy_a_tile_are_copies_by_tma() -> None:
    a, b = whole(1, 100, 128), whole(2, 128, 64)
    check(by_element_loops, a, b, expected=a.astype(F32) @ b.astype(F32))
    text = print_module(lowered(by_element_loops, a, b)[0])
    assert text.count("nv.tma_load") >= 2 and "simt.move" not in text.partition("nv.wgmma ")[0]
