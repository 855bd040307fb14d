"""Multicast: one core reads what a rectangle of cores needs; results and traffic, counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import BF16_BOUND, compiled, executed, relative_error
from tests.passes.tenstorrent.test_gemm import check, gemm
from tests.targets.tenstorrent.matrix import KERNELS, SIZES, differences
from tilewright import T
from tilewright.dialects.tensix.plan import Plan
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.report.tenstorrent_text import multicasts
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions


def test_the_first_example_of_the_design() -> None:
    """8 x 8 blocks of one tile, Kt = 8, 64 cores: 1,024 page reads become 128."""
    module = gemm(256, 256, 256)
    _, alone = compiled(module)
    assert alone.traffic.dram_page_reads == 1024
    plan = check(256, 256, 256, module, multicast="on")
    assert plan.traffic.dram_page_reads == 128
    assert plan.traffic.multicast_pages == 128
    assert plan.multicast is not None
    groups = plan.multicast.groups
    a = [each for each in groups if each.operand == "A"]
    b = [each for each in groups if each.operand == "B"]
    assert [(each.axis, each.sender, each.dests) for each in a] == [
        ("x", (0, y), (1, y, 7, y)) for y in range(8)
    ]
    assert [(each.axis, each.sender, each.dests) for each in b] == [
        ("y", (x, 0), (x, 1, x, 7)) for x in range(8)
    ]
    assert {each.num_dests for each in groups} == {7}
    assert [each.name for each in plan.multicast.semaphores] == [
        "A_ready",
        "A_valid",
        "B_ready",
        "B_valid",
    ]
    readers = {each.name: len(plan.cores_of(each)) for each in plan.kernels if each.noc == 1}
    assert readers == {
        "reader_A_sender_B_sender": 1,
        "reader_A_receiver_B_sender": 7,
        "reader_A_sender_B_receiver": 7,
        "reader_A_receiver_B_receiver": 49,
    }


# -- ghost steps -----------------------------------------------------------------------------------


def steps(plan: Plan) -> tuple[int, int]:
    """Ghost steps and all steps of all cores."""
    every = sum(each.steps for each in plan.cores.assignments)
    return every - plan.grid.total_tiles, every


PAGE = Path(__file__).parents[3] / "docs" / "tenstorrent.md"
ROW = re.compile(
    r"^\| GEMM, Kt = (\d+) \| (\d+) x (\d+) \| (\d+x\d+) \| (\d+) \| (\d+) \| (\d+) of (\d+) \|$",
    re.MULTILINE,
)
ROWS = [*ROW.findall(PAGE.read_text()), ("2", "5", "9", "4x2", "180", "90", "9", "54")]
"""The table of the documentation, and a row more."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=" ".join(row), marks=[] if number % 2 else pytest.mark.slow)
        for number, row in enumerate(ROWS[1:])
    ],
)
def test_ragged_grids(row: tuple[str, ...]) -> None:
    """What is counted is what the documentation has."""
    kt, rows, columns = (int(each) for each in row[:3])
    cores = row[3]
    alone, shared, *ghosts = (int(each) for each in row[4:])
    m, n, k = 32 * rows, 32 * columns, 32 * kt
    _, before = compiled(gemm(m, n, k), policy="rect", cores=cores)
    plan = check(m, n, k, gemm(m, n, k), multicast="on", cores=cores)
    assert before.traffic.dram_page_reads == alone
    assert plan.traffic.dram_page_reads == shared
    assert plan.traffic.dram_page_writes == rows * columns
    assert [*steps(plan)] == ghosts


def test_the_first_row_is_the_first_example() -> None:
    assert ROWS[0] == ("8", "8", "8", "8x8", "1024", "128", "0", "64")


def test_ghost_steps_repeat_the_last_row() -> None:
    """9 x 3 blocks on 8 x 8 cores: five rows of cores with two blocks, the last with one."""
    _, plan = compiled(gemm(288, 96, 64), multicast="on")
    assert [(each.count, each.steps) for each in plan.cores.active] == [(2, 2)] * 12 + [(1, 2)] * 3
    assert plan.multicast is not None
    # Reads of all steps: A once a row of cores, B once a column.
    assert plan.traffic.dram_page_reads == 5 * 2 * 2 + 3 * 2 * 2


def remarks(module: ModuleOp, **options: Any) -> list[tuple[str | None, str]]:
    engine = DiagnosticEngine()
    TenstorrentPipeline("tenstorrent:sim", **options).run(module.clone(), engine)
    return [(each.code, each.message) for each in engine.diagnostics]


def test_more_than_a_quarter_of_ghost_steps() -> None:
    """7 x 5 blocks on 4 x 4 cores: rows and columns would need 13 of 48; columns alone stay."""
    assert remarks(gemm(224, 160, 64), multicast="on", cores="4x4") == [
        (
            "TW7090",
            "the cores at the edge of the grid are left out of some multicasts: they would need "
            "13 ghost steps of 48 in all, more than 25%; use a grid of blocks that the core grid "
            "divides",
        )
    ]


# -- other policies and options --------------------------------------------------------------------


def test_the_assignment_decides_and_not_the_policy() -> None:
    """One block for each core of a grid that is as wide as the core grid: as with rectangles."""
    plan = check(128, 128, 64, gemm(128, 128, 64), multicast="auto", cores="4x4")
    assert plan.schedule.policy == "contiguous"
    assert plan.traffic.dram_page_reads == 16


def test_a_row_of_blocks_over_several_rows_of_cores() -> None:
    """16 blocks of one row on 4 x 4 cores: all of them read A, in one group of two dimensions."""
    plan = check(32, 512, 64, gemm(32, 512, 64), multicast="auto", cores="4x4")
    assert plan.multicast is not None
    (group,) = plan.multicast.groups
    assert (group.operand, group.axis, group.dests, group.num_dests) == (
        "A",
        "xy",
        (0, 0, 3, 3),
        15,
    )
    assert plan.traffic.dram_page_reads == 2 + 16 * 2


def test_strided_blocks_share_nothing_on_purpose() -> None:
    assert remarks(gemm(128, 128, 64), multicast="on", policy="strided") == [
        (
            "TW7011",
            "multicast with the policy strided: the cores of a row or column have no common rows "
            "or columns of blocks; use the policy rect",
        )
    ]


def test_an_unknown_option() -> None:
    assert remarks(gemm(32, 32, 32), multicast="maybe") == [
        ("TW7001", "unknown multicast 'maybe': expected one of off, on, auto")
    ]


def test_loads_of_different_lengths_are_not_shared() -> None:
    @T.prim_func
    def triangle(
        A: T.Tensor((128, 128), T.bfloat16),
        B: T.Tensor((128, 128), T.bfloat16),
        C: T.Tensor((128, 128), T.bfloat16),
    ):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.serial(by + 1):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    found = remarks(triangle.module, multicast="on", cores="4x4")
    assert found == [
        (
            "TW7090",
            "'B' is not multicast: a core loads it 1 to 4 times, all cores of a group equally "
            "often",
        )
    ]
    a, b = (bf16(draw, 128, 128) for draw in (1, 2))
    outcome = executed(triangle.module, [a, b, None], multicast="on", cores="4x4", seeds=range(3))
    left, right = (np.asarray(each, np.float64) for each in (a, b))
    expected = np.concatenate(
        [left[row : row + 32, : row + 32] @ right[: row + 32] for row in range(0, 128, 32)]
    )
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND / 2
    # A once a row of cores, B by every core: 1 + 2 + 3 + 4 steps.
    assert outcome.plan.traffic.dram_page_reads == 10 + 4 * 10


# -- batches and attention -------------------------------------------------------------------------


def bf16(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(ml_dtypes.bfloat16)


def test_batches() -> None:
    """Three matrices of 3 x 5 blocks on 2 x 4 cores, with ghost steps in every batch."""

    @T.prim_func
    def batched(
        A: T.Tensor((3, 96, 64), T.bfloat16),
        B: T.Tensor((3, 64, 160), T.bfloat16),
        C: T.Tensor((3, 96, 160), T.bfloat16),
    ):
        with T.Kernel(5, 3, 3, threads=128) as (bx, by, bz):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[bz, by * 32 : by * 32 + 32, k * 32 : k * 32 + 32], a)
                T.copy(B[bz, k * 32 : k * 32 + 32, bx * 32 : bx * 32 + 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * 32 : by * 32 + 32, bx * 32 : bx * 32 + 32])

    a, b = bf16(1, 3, 96, 64), bf16(2, 3, 64, 160)
    outcome = executed(batched.module, [a, b, None], multicast="on", cores="4x2", seeds=range(3))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND / 2
    assert steps(outcome.plan)[0] > 0
    assert outcome.plan.traffic.multicast_pages > 0
    assert outcome.plan.traffic.dram_page_reads < 3 * 15 * 4


def test_attention_reads_keys_and_values_once_a_head() -> None:
    """Four query blocks of each of two heads on 4 x 2 cores: a row of cores is a head."""
    traced = KERNELS["attention"]((0, 128, 0))
    alone = traced.compiled("4x2")
    artefact = traced.compiled("4x2", **{"tt.multicast": "on"})
    plan = artefact.plan
    assert plan.multicast is not None
    assert {(each.operand, each.axis) for each in plan.multicast.groups} == {("K", "x"), ("V", "x")}
    before = alone.run(traced.arrays())
    runs = [artefact.run(traced.arrays(), RunOptions(seed=seed)) for seed in range(2)]
    for run in runs:
        assert all(
            run.arrays[name].tobytes() == before.arrays[name].tobytes() for name in run.arrays
        )
    assert differences(runs[0].arrays, traced.expected()) == []
    # Eight blocks of one page of Q; four pages of K and of V for each of them, or for each head.
    assert before.result.traffic.dram_page_reads == 8 + 8 * 8
    assert runs[0].result.traffic.dram_page_reads == 8 + 2 * 8 == plan.traffic.dram_page_reads


def test_heads_that_share_keys_share_their_loads() -> None:
    """Grouped queries: four heads of two query blocks read one head of K, on all 2 x 4 cores."""

    @T.prim_func
    def scores(
        Q: T.Tensor((4, 64, 32), T.bfloat16),
        K: T.Tensor((1, 96, 32), T.bfloat16),
        S: T.Tensor((4, 64, 96), T.bfloat16),
    ):
        with T.Kernel(2, 4, threads=128) as (bx, by):
            q = T.alloc_shared((32, 32), T.bfloat16)
            k = T.alloc_shared((32, 32), T.bfloat16)
            s = T.alloc_fragment((32, 32), T.float32)
            T.copy(Q[by, bx * 32 : bx * 32 + 32, 0:32], q)
            for step in T.serial(3):
                T.copy(K[by // 4, step * 32 : step * 32 + 32, 0:32], k)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True)
                T.copy(s, S[by, bx * 32 : bx * 32 + 32, step * 32 : step * 32 + 32])

    q, k = bf16(1, 4, 64, 32), bf16(2, 1, 96, 32)
    outcome = executed(scores.module, [q, k, None], multicast="on", cores="2x4", seeds=range(2))
    expected = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND / 2
    assert outcome.plan.multicast is not None
    (group,) = outcome.plan.multicast.groups
    assert (group.operand, group.axis, group.num_dests) == ("K", "xy", 7)
    assert outcome.plan.traffic.dram_page_reads == 8 + 3


# -- with residency --------------------------------------------------------------------------------


def test_panels_that_stay_are_sent_once() -> None:
    """4 x 4 blocks on 2 x 2 cores, Kt = 2: A stays for a row of blocks of a core."""
    module = gemm(128, 128, 64)
    plan = check(128, 128, 64, module, multicast="on", residency="on", cores="2x2", seeds=range(3))
    _, alone = compiled(module, policy="rect", cores="2x2")
    _, shared = compiled(module, multicast="on", cores="2x2")
    _, stays = compiled(module, policy="rect", residency="on", cores="2x2")
    reads = [each.traffic.dram_page_reads for each in (alone, shared, stays, plan)]
    # Of A and B: 16 blocks each; two lines of 4 blocks each; 8 rows of blocks and 16 blocks; both.
    assert reads == [32 + 32, 16 + 16, 16 + 32, 8 + 16]


def test_no_ghost_steps_where_a_ghost_would_read_what_is_stored() -> None:
    """The sum of a split K is loaded and stored: the page of the last block must not be read."""
    traced = KERNELS["split K"](SIZES["past"])
    artefact = traced.compiled("2x2", **{"tt.multicast": "on"})
    assert steps(artefact.plan)[0] == 0
    run = artefact.run(traced.arrays(), RunOptions(seed=2))
    assert differences(run.arrays, traced.expected()) == []


# -- flushes ---------------------------------------------------------------------------------------


def sender_text(module: ModuleOp, **options: Any) -> str:
    lowered, _ = compiled(module, multicast="on", cores="2x2", **options)
    return artefact_of(lowered).sources(comments=False)["reader_A_sender_B_sender.cpp"]


FLUSHED = re.compile(r"write_multicast[^;]*;\s*noc_async_writes_flushed\(\);\s*noc_semaphore_set_m")


def test_the_sender_flushes_where_the_next_block_overwrites_what_is_sent() -> None:
    """One block a core, loaded at once: the circular buffers have its pages only."""

    @T.prim_func
    def whole(
        A: T.Tensor((64, 32), T.bfloat16),
        B: T.Tensor((32, 64), T.bfloat16),
        C: T.Tensor((64, 64), T.bfloat16),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    _, plan = compiled(whole.module, multicast="on", cores="2x2")
    assert [(each.name, each.pages) for each in plan.cbs[:2]] == [("a", 1), ("b", 1)]
    assert len(FLUSHED.findall(sender_text(whole.module))) == 2
    a, b = bf16(1, 64, 32), bf16(2, 32, 64)
    outcome = executed(whole.module, [a, b, None], multicast="on", cores="2x2", seeds=range(3))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND / 2
    assert outcome.plan.traffic.dram_page_reads == 4


@pytest.mark.parametrize(("chip", "count"), [("wormhole", 0), ("sim", 0), ("blackhole", 2)])
def test_the_sender_flushes_where_data_and_flag_are_not_ordered(chip: str, count: int) -> None:
    text = sender_text(gemm(64, 64, 64), target=f"tenstorrent:{chip}")
    assert len(FLUSHED.findall(text)) == count
    assert text.count("noc_async_writes_flushed") == count


def test_the_report_lists_multicasts() -> None:
    _, plan = compiled(gemm(288, 96, 64), multicast="on")
    assert multicasts(plan).splitlines() == [
        "multicast",
        "  A: 5 x 3 cores along x, 1 page a step",
        "  B: 3 x 5 cores along y, 1 page a step",
        "  3 of 30 steps are ghost steps",
    ]
    _, alone = compiled(gemm(64, 64, 64))
    assert multicasts(alone) == ""
