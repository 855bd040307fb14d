"""Descriptors of operands are computed in uniform registers, once for a warp.

An MMA takes its descriptors from there. What an assembler does not know to be equal in a warp is
computed by every lane and moved, two instructions for each descriptor (R2UR).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.targets.cuda.test_accumulators_in_flight import disassembled
from tilewright import T
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.gpu.use_warp_index import UseWarpIndex
from tilewright.targets.cuda.compile import compile_module


def gemm(threads: int) -> T.PrimFunc:
    @T.prim_func
    def main(
        A: T.Tensor((1024, 1024), "float16"),
        B: T.Tensor((1024, 1024), "float16"),
        C: T.Tensor((1024, 1024), "float16"),
    ):
        with T.Kernel(8, 8, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((128, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(16, num_stages=2):
                T.copy(A[by * 128, k * 64], A_shared)
                T.copy(B[k * 64, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    return main


def moved(threads: int, directory: Path, *left_out: str) -> tuple[int, int]:
    """Values that are moved to uniform registers, and MMAs."""
    pipeline = GpuPipeline(leave_out=left_out)
    program = compile_module(gemm(threads).module, "sm_90a", pipeline=pipeline)
    (kernel,) = program.kernels.values()
    assembly = disassembled(kernel.cubin, directory)
    return len(re.findall(r"\bR2UR\b", assembly)), len(re.findall(r"\bHGMMA\b", assembly))


@pytest.mark.parametrize("threads", [128, 256])
def test_descriptors_are_not_moved_from_the_registers_of_lanes(
    threads: int, tmp_path: Path
) -> None:
    count, mmas = moved(threads, tmp_path)
    assert mmas and count <= 4
    before, _ = moved(threads, tmp_path, UseWarpIndex.name)
    assert before >= mmas


def test_descriptors_of_a_tile_differ_by_a_constant() -> None:
    """Each was computed from its address: mask, shift and combine."""
    (kernel,) = compile_module(gemm(256).module, "sm_90a").kernels.values()
    calls = re.findall(r"tw::(matrix_descriptor<[^>]*>\([^()]*\))( \+ \d+)?", kernel.source)
    assert len({call for call, _ in calls}) == 2  # of A and of B
    added = [int(each[3:] or "0") for _, each in calls]  # in units of 16 bytes
    assert added == [0, 0, 2, 128, 4, 256, 6, 384]


def test_roles_are_branches_on_the_index_of_the_warp() -> None:
    (kernel,) = compile_module(gemm(256).module, "sm_90a").kernels.values()
    assert "const int warp = tw::warp_index();" in kernel.source
    assert "if (warp < 4) {  // producer" in kernel.source
    assert "} else if (warp >= 4 && warp < 12) {  // consumer" in kernel.source
