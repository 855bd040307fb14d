"""GEMMs on the simulated chip: values, plans and traffic of the examples of the target's design."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import BF16_BOUND, compiled, executed, relative_error
from tilewright import T


def gemm(
    m: int,
    n: int,
    k: int,
    block: tuple[int, int, int] = (32, 32, 32),
    *,
    accumulator: str = "float32",
    stages: int = 2,
    transpose: bool = False,
) -> ModuleOp:
    bm, bn, bk = block
    b_shape, b_block = ((n, k), (bn, bk)) if transpose else ((k, n), (bk, bn))

    @T.prim_func
    def gemm(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor(b_shape, T.bfloat16),
        C: T.Tensor((m, n), T.bfloat16),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), T.bfloat16)
            b = T.alloc_shared(b_block, T.bfloat16)
            c = T.alloc_fragment((bm, bn), accumulator)
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[by * bm, step * bk], a)
                if transpose:
                    T.copy(B[bx * bn, step * bk], b)
                else:
                    T.copy(B[step * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_B=transpose)
            T.copy(c, C[by * bm, bx * bn])

    return gemm.module


def check(m: int, n: int, k: int, module: ModuleOp, *, transpose: bool = False, **options: object):
    rng = np.random.default_rng(m + n + k)
    a = rng.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((n, k) if transpose else (k, n)).astype(ml_dtypes.bfloat16)
    outcome = executed(module, [a, b, None], **options)
    right = b.T if transpose else b
    expected = a.astype(np.float64) @ right.astype(np.float64)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND / 2
    return outcome.plan


def test_one_tile_per_block() -> None:
    plan = check(256, 256, 256, gemm(256, 256, 256), seeds=(0, 1))
    assert [(each.index, each.pages) for each in plan.cbs] == [(0, 2), (1, 2), (16, 2)]
    assert plan.memory.l1_used == 12288
    assert plan.compute.strategy == "whole"
    assert (plan.traffic.dram_page_reads, plan.traffic.dram_page_writes) == (1024, 64)
    assert [(each.start_tile, each.count) for each in plan.cores.assignments] == [
        (core, 1) for core in range(64)
    ]
    assert (plan.cores.assignments[9].x, plan.cores.assignments[9].y) == (1, 1)
    assert plan.core_ranges[9] == (1, 1, 1, 1, 9, 1)


def test_more_blocks_than_cores() -> None:
    plan = check(320, 320, 64, gemm(320, 320, 64))
    counts = [each.count for each in plan.cores.assignments]
    assert counts == [2] * 36 + [1] * 28
    starts = [plan.cores.assignments[core].start_tile for core in (35, 36, 63)]
    assert starts == [70, 72, 99]


def test_fewer_blocks_than_cores() -> None:
    _, plan = compiled(gemm(128, 128, 32))
    assert [each.count for each in plan.cores.assignments] == [1] * 16 + [0] * 48
    _, plan = compiled(gemm(512, 512, 32))
    assert {each.count for each in plan.cores.assignments} == {4}
    assert plan.cores.assignments[63].start_tile == 252
    _, plan = compiled(gemm(512, 512, 32), target="tenstorrent:blackhole", cores="14x10")
    counts = [each.count for each in plan.cores.assignments]
    assert counts == [2] * 116 + [1] * 24
    assert plan.cores.assignments[116].start_tile == 232


def test_ragged_sizes() -> None:
    plan = check(130, 70, 50, gemm(130, 70, 50))
    assert [each.padded for each in plan.tensors] == [(160, 64), (64, 96), (160, 96)]
    assert [each.pages for each in plan.tensors] == [10, 6, 15]
    assert len(plan.cores.active) == 15
    assert (plan.problem.mt, plan.problem.nt, plan.problem.kt) == (5, 3, 2)


@pytest.mark.parametrize("size", [1, 37])
def test_sizes_around_a_tile(size: int) -> None:
    check(size, size + 3, size, gemm(size, size + 3, size))


@pytest.mark.parametrize("budget", [0, 256 * 1024])
def test_blocks_of_many_tiles(budget: int) -> None:
    """1024 x 1024 with panels in L1, and with partial sums in L1."""
    module = gemm(1024, 1024, 1024, (128, 128, 32), accumulator="bfloat16")
    _, plan = compiled(module, l1_budget=budget)
    assert plan.compute.subblock == (2, 4)
    assert plan.compute.dst_tiles == 8
    sizes = {each.index: each.pages for each in plan.cbs}
    if budget:
        assert plan.compute.strategy == "spill"
        assert sizes == {0: 8, 1: 8, 16: 32, 24: 16}
    else:
        assert plan.compute.strategy == "resident"
        assert sizes == {0: 128, 1: 128, 16: 32}
        assert plan.memory.l1_used == 589824
        assert plan.traffic.dram_page_reads == 16384


@pytest.mark.parametrize(
    ("block", "strategy"),
    [((64, 64, 32), "whole"), ((128, 64, 64), "resident"), ((64, 160, 32), "resident")],
)
def test_strategies(block: tuple[int, int, int], strategy: str) -> None:
    assert check(200, 200, 160, gemm(200, 200, 160, block)).compute.strategy == strategy


@pytest.mark.parametrize("block", [(128, 96, 32), (96, 96, 32)])
@pytest.mark.parametrize("accumulator", ["float32", "bfloat16"])
def test_partial_sums_in_l1(block: tuple[int, int, int], accumulator: str) -> None:
    rows, columns, depth = (extent // 32 for extent in block)
    tile = 4096 if accumulator == "float32" else 2048
    budget = 2048 * (2 * (rows + columns) * depth + 16) + tile * rows * columns
    module = gemm(100, 130, 640, block, accumulator=accumulator)
    assert check(100, 130, 640, module, l1_budget=budget).compute.strategy == "spill"


def test_transposed_operand() -> None:
    check(96, 64, 80, gemm(96, 64, 80, (32, 64, 32), transpose=True), transpose=True)


@pytest.mark.parametrize("stages", [0, 3])
def test_depth_follows_the_stages(stages: int) -> None:
    plan = check(64, 64, 128, gemm(64, 64, 128, stages=stages))
    assert plan.cbs[0].pages == max(2, stages)


@pytest.mark.parametrize(
    ("cores", "policy"),
    [
        ("1x1", "contiguous"),
        ("4x1", "strided"),
        ("2x2", "strided"),
        ("2x2", "rect"),
        ("4x1", "rect"),
    ],
)
def test_policies_and_core_grids(cores: str, policy: str) -> None:
    check(96, 160, 64, gemm(96, 160, 64), cores=cores, policy=policy)


@pytest.mark.parametrize("order", ["block_linear:2x2", "hilbert"])
def test_raster_orders_do_not_change_results(order: str) -> None:
    check(160, 96, 32, gemm(160, 96, 32), cores="2x2", order=order)


def test_the_plan_is_the_same_in_every_run() -> None:
    one = compiled(gemm(64, 96, 64))[1].to_json()
    assert one == compiled(gemm(64, 96, 64))[1].to_json()
    assert one.startswith('{\n  "version": "2.0",\n  "target": "tenstorrent",\n  "arch": "sim",')


def test_an_epilogue_with_a_bias() -> None:
    """The accumulator is in DST, so the row of `bias` is broadcast to a slot of its own."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), T.bfloat16),
        bias: T.Tensor((64,), T.float32),
        C: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), T.bfloat16)
            b = T.alloc_shared((64, 64), T.bfloat16)
            row = T.alloc_fragment((64,), T.float32)
            c = T.alloc_fragment((32, 64), T.float32)
            T.copy(bias, row)
            T.copy(A[bx * 32, 0], a)
            T.copy(A, b)
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 64):
                c[i, j] = T.max(c[i, j] + row[j], 0.0) * T.sigmoid(c[i, j])
            T.copy(c, C[bx * 32, 0])

    rng = np.random.default_rng(7)
    a = rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16)
    bias = rng.standard_normal(64).astype(np.float32)
    product = a.astype(np.float64) @ a.astype(np.float64)
    expected = np.maximum(product + bias, 0) / (1 + np.exp(-product))
    outcome = executed(kernel.module, [a, bias, None])
    assert relative_error(outcome.outputs[0], expected) < 1e-5
