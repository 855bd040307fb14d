"""Kernels of the benchmarks with passes left out, and counters as `ncu` prints them."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import tilewright as tw
from benchmarks.workloads.ablation import ablation, outcome
from benchmarks.workloads.switches import Switchboard
from tilewright import T
from tilewright.ir.text import print_module

sys_path = list(sys.path)
from benchmarks import h200_profile  # noqa: E402

sys.path[:] = sys_path  # the script replaces the first entry


def doubled(X, threads=128):
    M = T.const("M")
    X: T.Tensor((M, 256), "float32")
    Y = T.empty((M, 256), "float32")
    with T.Kernel(M, threads=threads) as bx:
        for j in T.Parallel(256):
            Y[bx, j] = X[bx, j] * 2.0
    return Y


@pytest.fixture
def module():
    found = ModuleType("kernels")
    found.doubled = tw.jit(doubled, target="cuda:sm_90a")
    return found


@pytest.fixture
def board(module):
    found = Switchboard()
    found.install(module)
    return found


def test_a_recorded_call_is_traced_and_not_run(module, board):
    with board.recording() as kernels:
        result = module.doubled(np.ones((3, 256), np.float32), threads=64)
        module.doubled(np.ones((3, 256), np.float32), threads=64)
    assert (result.shape, result.dtype) == ((3, 256), np.float32)
    assert not (result == 2).any()
    assert [each.name for each in kernels] == ["doubled"]


def test_a_variant_leaves_a_pass_out(module, board):
    with board.recording() as kernels:
        module.doubled(np.ones((3, 256), np.float32))
    variant = board.variant(kernels[0], "vectorize-loops")
    assert variant.gpu.settings.leave_out == ("vectorize-loops",)
    assert kernels[0].gpu.settings.leave_out == ()
    assert board.variant(kernels[0], "vectorize-loops") is variant
    with board.without("vectorize-loops"):
        assert (module.doubled(np.ones((3, 256), np.float32)) == 2).all()


def test_only_passes_that_change_a_kernel_are_compiled(module, board):
    with board.recording() as kernels:
        module.doubled(np.ones((3, 256), np.float32))
    gpu = kernels[0].gpu
    text = print_module(gpu.module, generic=True, locations=True)
    found = outcome(text, gpu.settings, ["vectorize-loops", "overlap-wgmma", "lower-tile-ops"])
    assert list(found.changed) == ["vectorize-loops"]
    assert "float2" not in found.changed["vectorize-loops"].source
    assert list(found.failed) == ["lower-tile-ops"]


def test_programs_come_from_other_processes(module, board):
    passes = ["vectorize-loops", "overlap-wgmma"]
    with board.recording() as kernels:
        module.doubled(np.ones((3, 256), np.float32))
    with ablation(board, passes, workers=1) as ablated:
        ablated.start(kernels[0])
        found = ablated.finish(kernels)
    programs = [board.variant(kernels[0], name).gpu.program for name in passes]
    assert programs == [found.changed["vectorize-loops"], kernels[0].gpu.program]


PRINTED = """==PROF== Connected
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","spin_kernel(long)","gpu__time_duration.sum","ns","1,000"
"1","softmax_kernel","gpu__time_duration.sum","ns","2,500"
"1","softmax_kernel","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","91.5"
"2","void at::native::fill<int>(int)","gpu__time_duration.sum","ns","10"
"3","spin_kernel(long)","gpu__time_duration.sum","ns","1,000"
"4","gemm_kernel","gpu__time_duration.sum","ms","1.5"
"4","gemm_kernel","lts__t_sectors.avg.pct_of_peak_sustained_elapsed","%","n/a"
"""


def test_counters_belong_to_the_workload_before_which_a_mark_was_left():
    found = h200_profile.read(PRINTED, ["softmax", "gemm"])
    assert [(name, kernel.partition("(")[0]) for name, kernel, _ in found] == [
        ("softmax", "softmax_kernel"),
        ("softmax", "void at::native::fill<int>"),
        ("gemm", "gemm_kernel"),
    ]
    assert found[0][2] == {
        "gpu__time_duration.sum": 2.5,
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": 91.5,
    }
    assert found[2][2] == {"gpu__time_duration.sum": 1500.0}
