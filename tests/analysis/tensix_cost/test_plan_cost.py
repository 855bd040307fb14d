"""The cost of a program from its plan: counts, bills and consequences."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.analysis.tensix_cost.programs import add, gemm, softmax
from tilewright.analysis.tensix_cost.op_cost import op_cycles
from tilewright.analysis.tensix_cost.parameters import WORMHOLE, cost_table
from tilewright.analysis.tensix_cost.plan_cost import tt_cost
from tilewright.dialects.tensix import Tensix
from tilewright.dialects.tensix.chips import BLACKHOLE
from tilewright.dialects.tensix.op_work import RULES as COUNTED
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.work import OpWork


def _counted(plan: Plan, role: str, kind: str) -> int:
    return sum(len(work.cores) * work.count(role, kind) for work in plan.work)


@pytest.mark.parametrize(
    ("sizes", "blocks", "cores"),
    [
        ((256, 256, 256), (32, 32, 32), "8x8"),
        ((100, 200, 130), (64, 32, 64), "3x2"),
        ((256, 320, 512), (128, 64, 32), "2x2"),
    ],
)
def test_counts_are_those_of_the_problem(
    sizes: tuple[int, int, int], blocks: tuple[int, int, int], cores: str
) -> None:
    plan = gemm(sizes, blocks, cores).plan
    tiles = [-(-size // block) * (block // 32) for size, block in zip(sizes, blocks, strict=True)]
    done = sum(
        len(work.cores)
        * each.count
        * (int(each.detail[0]) * int(each.detail[2]) if each.detail else 1)
        for work in plan.work
        for each in work.compute
        if each.kind in ("matmul_block", "matmul_tile")
    )
    assert done == tiles[0] * tiles[1] * tiles[2]
    assert _counted(plan, "reader", "noc_read") == plan.traffic.dram_page_reads
    assert _counted(plan, "writer", "noc_write") == plan.traffic.dram_page_writes
    assert sorted(core for work in plan.work for core in work.cores) == [
        core.core_id for core in plan.cores.active
    ]


def test_bill_of_a_small_gemm() -> None:
    """One block of one tile, one step of K: every line by hand."""
    cost = tt_cost(gemm((32, 32, 32), (32, 32, 32), "1x1").plan)
    (core,) = cost.cores
    reader, compute, writer = core.kernels
    page = Fraction(2048)
    assert reader.busy == 2 * 460 + 2 * page / Fraction("31.3") + 4 * 10
    # both operands of matmul_tiles are loaded; then two waits, two pops, reserve and push
    assert dict(compute.parts)["matrix"] == max(69, 2 * page / 48)
    assert dict(compute.parts)["CB calls"] == 6 * 10
    assert dict(compute.parts)["pack"] == page / 48
    assert writer.busy == 470 + page / 29 + 2 * 10
    assert cost.dram == 3 * page / 120
    assert (
        core.fill + core.drain == reader.busy + writer.busy
    )  # one block: all of it is fill and drain
    assert cost.total == compute.busy + 6000
    assert cost.limit == "compute"


def test_cost_needs_the_plan_file_only() -> None:
    plan = gemm((256, 320, 512), (128, 64, 32), "2x2").plan
    read = Plan.from_data(json.loads(plan.to_json()))
    assert read == plan
    assert tt_cost(read) == tt_cost(plan)
    assert isinstance(tt_cost(read).total, Fraction)
    assert "model, not measured" in str(tt_cost(plan))


def test_plan_without_counts_is_refused() -> None:
    plan = replace(gemm((32, 32, 32), (32, 32, 32), "1x1").plan, work=())
    with pytest.raises(ValueError, match="has no counted work"):
        tt_cost(plan)


def test_kind_without_a_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="no cost for operations of kind 'teleport'"):
        op_cycles(WORMHOLE, "HiFi4", OpWork("teleport", "", 1))


def test_another_target_has_other_rates() -> None:
    plan = add((512, 512), "2x2").plan
    assert tt_cost(plan, BLACKHOLE).dm < tt_cost(plan).dm
    assert cost_table("sim") is WORMHOLE


def test_sixteen_pages_per_barrier_beat_one() -> None:
    short, long = (gemm((256, 256, 1024), (64, 64, k), "1x1").plan for k in (32, 256))
    assert tt_cost(long).dm < Fraction(7, 10) * tt_cost(short).dm


def test_many_cores_without_multicast_are_limited_by_dram() -> None:
    assert tt_cost(gemm((512, 512, 512), (64, 64, 64), "8x8").plan).limit == "DRAM"
    assert tt_cost(gemm((512, 512, 512), (64, 64, 64), "2x2").plan).limit != "DRAM"


def test_hifi4_costs_forty_percent_over_hifi2() -> None:
    work = OpWork("matmul_block", "1x8", 1, (2048, 2048))
    four, two = (op_cycles(WORMHOLE, each, work).issue for each in ("HiFi4", "HiFi2"))
    assert Fraction(13, 10) < four / two < Fraction(3, 2)


def test_softmax_is_billed_to_the_sfpu() -> None:
    cost = tt_cost(softmax((64, 256), "2x2").plan)
    parts = dict(cost.slowest.kernels[1].parts)
    assert parts["SFPU"] > parts["vector FPU"] > 0
    assert "matrix" not in parts


def test_single_blocks_do_not_overlap() -> None:
    """Panels that fill their circular buffers are read while the compute kernel waits."""
    plan = gemm((256, 256, 512), (128, 128, 32), "1x2").plan
    assert plan.compute.strategy == "resident"
    core = tt_cost(plan).slowest
    assert core.serial > Fraction(9, 10) * core.busy("reader")
    assert core.elapsed > core.serial + core.busy("compute")


def test_tensors_in_l1_do_not_contend_for_dram() -> None:
    dram, sharded = (
        gemm((256, 256, 256), (64, 64, 64), "4x4", settings=settings).plan
        for settings in ((), (("tt.shard", "A:height"),))
    )
    assert sharded.traffic.dram_page_reads < dram.traffic.dram_page_reads
    assert tt_cost(sharded).dram < tt_cost(dram).dram


UNCOUNTED = {
    *("arg", "arg_at", "ct_arg", "raster", "accessor", "cb", "sem", "cb_write_ptr", "cb_read_ptr"),
    *("dst_acquire", "dst_commit", "dst_wait", "dst_release", "kernel", "end", "host_plan"),
    *("table", "shard_tile"),
}
"""Ops of kernels that are free, or no ops of kernels; ops before the split are not listed."""
BEFORE_THE_SPLIT = {
    *("core_program", "matmul_k_loop", "elementwise", "yield", "constant_tile", "release"),
}


def test_every_op_of_a_kernel_is_counted() -> None:
    ops = {op.name.removeprefix("tensix.") for op in Tensix.operations}
    counted = {name.removeprefix("tensix.") for name in COUNTED}
    assert counted <= ops
    assert ops - counted <= UNCOUNTED | BEFORE_THE_SPLIT
