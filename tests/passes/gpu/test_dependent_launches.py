"""Kernels that begin before the one launched before them ends: `T.pdl_trigger`, `T.pdl_sync`."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tests.passes.amd.amd_support import amd_pipeline
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.runtime.tile.pass_configs import gpu_settings
from tilewright.targets.cuda.compile import compile_as

M = 128


@tw.jit
def product(A, B, waits=True, late=False):
    A: T.Tensor((M, 256), "float16")
    B: T.Tensor((256, M), "float16")
    C = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        left = T.alloc_shared((M, 64), "float16")
        right = T.alloc_shared((64, M), "float16")
        total = T.alloc_fragment((M, M), "float32")
        if not late:
            T.pdl_trigger()
        if waits:
            T.pdl_sync()
        T.clear(total)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[0, k * 64], left)
            T.copy(B[k * 64, 0], right)
            T.gemm(left, right, total)
        if late:
            T.pdl_trigger()
        T.copy(total, C)
    return C


def _compiled(arch="sm_90a", **options):
    module = product.get_tir(**options).module
    return compile_as(module, gpu_settings(product.pass_configs, arch))


def test_results_are_the_same():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((M, 256), (256, M)))
    expected = a.astype(np.float32) @ b.astype(np.float32)
    for options in ({}, {"waits": False}, {"late": True}):
        np.testing.assert_allclose(product(a, b, **options), expected, rtol=1e-2, atol=1e-2)


def test_all_roles_wait_for_earlier_kernels():
    """The producer copies what they wrote."""
    program = _compiled()
    text = program.source
    assert text.index("tw::grid_wait();") < text.index("// producer")
    assert "griddepcontrol.wait;" in text
    (kernel,) = program.kernels.values()
    assert kernel.metadata.pdl


def test_memory_that_others_may_write_is_not_constant():
    """The compiler moves loads of constant memory, also before the wait."""

    @tw.jit
    def doubled(X, waits=True):
        X: T.Tensor((1024,), "float32")
        Y = T.empty((1024,), "float32")
        with T.Kernel(1, threads=128):
            if waits:
                T.pdl_sync()
            for i in T.Parallel(1024):
                Y[i] = X[i] * 2.0
        return Y

    for waits in (True, False):
        program = compile_as(doubled.get_tir(waits=waits).module, gpu_settings({}, "sm_90a"))
        signature = re.search(r"doubled_kernel\((.*)\)", program.source)[1]
        assert ("__restrict__" in signature) == (not waits)
        sass = next(iter(program.kernels.values())).metadata
        assert sass.pdl == waits
    np.testing.assert_array_equal(doubled(np.ones(1024, np.float32)), np.full(1024, 2, np.float32))


@pytest.mark.parametrize("late", [False, True])
def test_a_trigger_stays_where_it_is(late):
    text = _compiled(waits=False, late=late).source
    trigger, loop = text.index("tw::grid_trigger();"), text.index("wgmma_m64")
    assert (trigger > text.rindex("tw::wgmma_wait")) == late
    assert late or trigger < text.rindex("tw::wgmma_commit")
    assert loop


def test_a_kernel_that_only_triggers_begins_as_usual():
    (kernel,) = _compiled(waits=False).kernels.values()
    assert not kernel.metadata.pdl


def test_older_gpus_run_kernels_one_after_another():
    (kernel,) = _compiled("sm_80").kernels.values()
    assert not kernel.metadata.pdl
    assert "__restrict__" in kernel.source


def test_amd_gpus_have_neither():
    module = product.get_tir().module
    amd_pipeline("gfx942").run(module, DiagnosticEngine())
    assert not any(op.name.startswith("nv.grid") for op in module.walk())


def test_a_wait_inside_of_a_loop_leaves_the_copies_with_all_warps():
    @tw.jit
    def waiting(A):
        A: T.Tensor((4 * M, 64), "float16")
        C = T.empty((M, 64), "float32")
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((M, 64), "float16")
            total = T.alloc_fragment((M, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                if k == 2:
                    T.pdl_sync()
                T.copy(A[k * M, 0], tile)
                for i, j in T.Parallel(M, 64):
                    total[i, j] += tile[i, j]
            T.copy(total, C)
        return C

    program = compile_as(waiting.get_tir().module, gpu_settings({}, "sm_90a"))
    assert "// producer" not in program.source
    assert program.source.count("tw::grid_wait();") >= 1
    a = np.arange(4 * M * 64, dtype=np.float16).reshape(4, M, 64) % 16
    np.testing.assert_array_equal(waiting(a.reshape(-1, 64)), a.sum(0, dtype=np.float32))
