"""Panels that stay in L1 while consecutive blocks of a core need them: results, traffic, plan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced
from tilewright import T
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.rasters import Raster
from tilewright.passes.tenstorrent.assignments import POLICIES, assign, blocks_of
from tilewright.targets.tenstorrent.artefact import Artefact, Executor
from tilewright.targets.tenstorrent.execution import RunOptions

ORDERS = ("row_major", "column_major", "block_linear:2x3", "z_order", "hilbert")
CORES = ("1x1", "2x1", "3x2", "5x3", "8x8")
GRIDS = ((1, 1), (1, 5), (4, 1), (3, 5), (5, 7), (4, 4))
"""Rows and columns of blocks."""


def values(*shape: int, dtype: Any = ml_dtypes.bfloat16) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def gemm(rows: int, columns: int, steps: int, block: tuple[int, int] = (32, 32)) -> Traced:
    """A GEMM of so many blocks, with K steps of one tile."""
    m, n, k = rows * block[0], columns * block[1], steps * 32

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor((k, n), T.bfloat16),
        C: T.Tensor((m, n), T.bfloat16),
    ):
        with T.Kernel(columns, rows) as (bx, by):
            a = T.alloc_shared((block[0], 32), T.bfloat16)
            b = T.alloc_shared((32, block[1]), T.bfloat16)
            c = T.alloc_fragment(block, T.float32)
            T.clear(c)
            for s in T.Pipelined(steps, num_stages=2):
                T.copy(A[by * block[0], s * 32], a)
                T.copy(B[s * 32, bx * block[1]], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block[0], bx * block[1]])

    return Traced(kernel, (values(m, k), values(k, n)))


def programs(traced: Traced, cores: str, residency: str = "on", **options: Any) -> list[Artefact]:
    """The program without and with residency."""
    return [
        traced.compiled(cores, **options, **{"tt.residency": each}) for each in ("off", residency)
    ]


def schedule(policy: str, order: str) -> dict[str, Any]:
    return {"tt.schedule.policy": policy, "tt.schedule.order": order}


def agree(
    traced: Traced,
    cores: str,
    *,
    seeds: range = range(1),
    executors: tuple[Executor, ...] = (Executor.IR,),
    residency: str = "on",
    **options: Any,
) -> Plan:
    """The plan with residency, after runs that give the same bits and the predicted traffic."""
    off, on = programs(traced, cores, residency, **options)
    panels = () if on.plan.residency is None else on.plan.residency.panels
    saved = sum(panel.saved_page_reads for panel in panels)
    assert on.plan.traffic.dram_page_reads == off.plan.traffic.dram_page_reads - saved
    for executor in executors:
        expected = off.run(traced.arrays(), RunOptions(seed=0), executor).arrays
        for seed in seeds:
            run = on.run(traced.arrays(), RunOptions(seed=seed), executor)
            counted = run.result.traffic
            assert counted.dram_page_reads == on.plan.traffic.dram_page_reads
            assert counted.dram_page_writes == on.plan.traffic.dram_page_writes
            for name, array in run.arrays.items():
                assert array.tobytes() == expected[name].tobytes(), (name, executor, seed)
    return on.plan


def panel_loads(policy: str, order: str, grid: tuple[int, int], cores: str) -> dict[str, int]:
    """Loads of A and B panels by the definition: changes of a core's row or column."""
    rows, columns = grid
    width, height = (int(each) for each in cores.split("x"))
    name, _, block = order.partition(":")
    raster = Raster(name, (2, 3) if block else None)
    found = {"A": 0, "B": 0}
    for core in assign(policy, (columns, rows, 1), (width, height)):
        before: tuple[int, int] | None = None
        ids: Sequence[int] = range(core.count)
        extents = (rows, columns)
        if core.rect is not None:
            extents = core.rect[2:]
        else:
            ids = blocks_of(core, policy, (columns, rows, 1), width * height)
        for each in ids:
            at = raster.at(each, *extents)
            found["A"] += before is None or before[0] != at[0]
            found["B"] += before is None or before[1] != at[1]
            before = at
    return found


CASES = [
    (policy, order, grid, cores)
    for policy in POLICIES
    for order in ORDERS
    for grid in GRIDS
    for cores in CORES
]


def check(policy: str, order: str, grid: tuple[int, int], cores: str, **options: Any) -> None:
    """A GEMM of one schedule: loads as by the definition, results and traffic as predicted."""
    plan = agree(gemm(*grid, 3), cores, **schedule(policy, order), **options)
    assert plan.residency is not None
    expected = panel_loads(policy, order, grid, cores)
    retained = {panel.tensor: panel.loads for panel in plan.residency.panels}
    blocks = grid[0] * grid[1]
    assert retained == {name: loads for name, loads in expected.items() if loads < blocks}


@pytest.mark.parametrize("case", random.Random(20).sample(range(len(CASES)), 10))
def test_orders_policies_and_grids(case: int) -> None:
    check(*CASES[case])


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cores", CORES)
def test_all_orders_policies_and_grids(policy: str, order: str, cores: str) -> None:
    for grid in GRIDS:
        check(policy, order, grid, cores, seeds=range(20))
        check(policy, order, grid, cores, executors=(Executor.SOURCE,))


@pytest.mark.parametrize(
    ("block", "strategy", "options"),
    [
        ((32, 32), "whole", {}),
        ((64, 96), "resident", {}),
        ((96, 64), "spill", {"tt.l1_budget": 70 * 2048}),
    ],
)
def test_strategies_of_the_k_loop(
    block: tuple[int, int], strategy: str, options: dict[str, int]
) -> None:
    traced = gemm(3, 4, 16 if strategy == "spill" else 3, block)
    plan = agree(traced, "2x1", executors=(Executor.IR, Executor.SOURCE), seeds=range(2), **options)
    assert plan.compute.strategy == strategy
    assert plan.residency is not None
    assert [panel.tensor for panel in plan.residency.panels] == ["A"]


def test_the_panel_that_saves_more_is_retained_where_both_do_not_fit() -> None:
    traced = gemm(4, 4, 8)
    order = schedule("contiguous", "hilbert")
    both = agree(traced, "1x1", **order)
    assert both.residency is not None
    assert {panel.tensor for panel in both.residency.panels} == {"A", "B"}
    one = agree(traced, "1x1", **order, **{"tt.l1_budget": 16 * 2048})
    assert one.residency is not None
    (panel,) = one.residency.panels
    (other,) = one.residency.streamed
    assert panel.saved_page_reads >= other.saved_page_reads > 0
    assert other.reason == "a panel takes 16384 B of L1, 8192 B are free"


def test_auto_leaves_the_depth_of_other_buffers() -> None:
    traced = gemm(2, 2, 4, (64, 64))
    pages = {"tt.l1_budget": (4 * 2 + 2 * 2 + 2 * 4) * 2048}
    auto = agree(traced, "1x1", residency="auto", **pages)
    on = agree(traced, "1x1", residency="on", **pages)
    assert auto.residency is not None and on.residency is not None
    assert auto.traffic.dram_page_reads >= on.traffic.dram_page_reads


def test_nothing_is_retained_where_every_core_has_one_block() -> None:
    plan = agree(gemm(2, 2, 2), "2x2")
    assert plan.residency is not None and not plan.residency.panels
    assert {each.reason for each in plan.residency.streamed} == {
        "no two consecutive blocks of a core read the same"
    }


def test_residency_is_off_by_default() -> None:
    assert gemm(2, 2, 2).compiled("1x1").plan.residency is None


# -- with multicast --------------------------------------------------------------------------------


def with_multicast(
    grid: tuple[int, int], steps: int, cores: str, seeds: range, executor: Executor, **options: Any
) -> tuple[Plan, Plan]:
    """The plans with multicast, without and with residency, after runs of the second."""
    traced = gemm(*grid, steps)
    alone = traced.compiled(cores, **options, **{"tt.multicast": "off"})
    without = traced.compiled(cores, **options, **{"tt.multicast": "on"})
    both = traced.compiled(cores, **options, **{"tt.multicast": "on", "tt.residency": "on"})
    expected = alone.run(traced.arrays(), RunOptions(), executor).arrays
    for seed in seeds:
        run = both.run(traced.arrays(), RunOptions(seed=seed), executor)
        counted, planned = run.result.traffic, both.plan.traffic
        assert counted.dram_page_reads == planned.dram_page_reads
        assert counted.multicast_pages == planned.multicast_pages
        assert run.arrays["C"].tobytes() == expected["C"].tobytes()
    return without.plan, both.plan


def test_a_retained_panel_is_sent_only_when_it_changes() -> None:
    # 4 x 4 blocks on 2 x 2 cores: each has 2 x 2, and 2 pages of each operand in every block.
    without, both = with_multicast((4, 4), 2, "2x2", range(3), Executor.IR)
    assert without.traffic.dram_page_reads == 2 * 4 * 2 + 2 * 4 * 2
    a, b = 2 * 2 * 2, 2 * 4 * 2
    assert both.traffic.dram_page_reads == a + b
    assert both.traffic.multicast_pages == a + b


@pytest.mark.parametrize("case", random.Random(7).sample(range(60), 4))
def test_ragged_grids_with_multicast(case: int) -> None:
    rng = random.Random(case)
    grid = rng.choice(((7, 5), (9, 3), (3, 8), (6, 6)))
    cores, order = rng.choice(("2x2", "3x2", "2x4")), rng.choice(ORDERS)
    without, both = with_multicast(
        grid, 2, cores, range(2), Executor.IR, **{"tt.schedule.order": order}
    )
    assert both.traffic.dram_page_reads <= without.traffic.dram_page_reads


@pytest.mark.slow
@pytest.mark.parametrize("case", range(60))
def test_many_ragged_grids_with_multicast(case: int) -> None:
    rng = random.Random(case)
    grid = rng.randint(1, 9), rng.randint(1, 9)
    cores, order = f"{rng.randint(1, 5)}x{rng.randint(1, 5)}", rng.choice(ORDERS)
    for executor, seeds in ((Executor.IR, range(20)), (Executor.SOURCE, range(1))):
        with_multicast(
            grid, rng.randint(1, 4), cores, seeds, executor, **{"tt.schedule.order": order}
        )


# -- other kernels ---------------------------------------------------------------------------------


def panels_of(plan: Plan) -> dict[str, tuple[tuple[str, ...], int, int, int]]:
    """Axes, pages, loads and blocks of the panels by tensor."""
    assert plan.residency is not None
    return {
        each.tensor: (each.axes, each.pages, each.loads, each.blocks)
        for each in plan.residency.panels
    }


BOTH = (Executor.IR, Executor.SOURCE)


def test_a_row_of_weights_is_loaded_once() -> None:
    @T.prim_func
    def kernel(
        X: T.Tensor((160, 64), T.float32),
        W: T.Tensor((64,), T.float32),
        Y: T.Tensor((160, 64), T.float32),
    ):
        with T.Kernel(5) as by:
            x = T.alloc_shared((32, 64), T.float32)
            w = T.alloc_shared((64,), T.float32)
            y = T.alloc_fragment((32, 64), T.float32)
            T.copy(X[by * 32, 0], x)
            T.copy(W, w)
            for i, j in T.Parallel(32, 64):
                y[i, j] = x[i, j] * w[j] + 1.0
            T.copy(y, Y[by * 32, 0])

    traced = Traced(kernel, (values(160, 64, dtype=np.float32), values(64, dtype=np.float32)))
    plan = agree(traced, "2x1")
    assert panels_of(plan) == {"W": ((), 2, 2, 5)}


def test_a_vector_per_column_of_blocks() -> None:
    @T.prim_func
    def kernel(
        X: T.Tensor((128, 96), T.float32),
        W: T.Tensor((96,), T.float32),
        Y: T.Tensor((128, 96), T.float32),
    ):
        with T.Kernel(3, 4) as (bx, by):
            x = T.alloc_shared((32, 32), T.float32)
            w = T.alloc_shared((32,), T.float32)
            y = T.alloc_fragment((32, 32), T.float32)
            T.copy(X[by * 32, bx * 32], x)
            T.copy(W[bx * 32], w)
            for i, j in T.Parallel(32, 32):
                y[i, j] = x[i, j] + w[j]
            T.copy(y, Y[by * 32, bx * 32])

    traced = Traced(kernel, (values(128, 96, dtype=np.float32), values(96, dtype=np.float32)))
    plan = agree(traced, "1x1", **schedule("contiguous", "column_major"))
    assert panels_of(plan) == {"W": (("x",), 1, 3, 12)}
    assert panels_of(agree(traced, "1x1")) == {}


def grouped_heads(heads: int, group: int, length: int) -> Traced:
    """Scores of queries against the keys of a head that `group` heads share."""
    shared = heads // group

    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, 32, 64), T.bfloat16),
        K: T.Tensor((shared, length, 64), T.bfloat16),
        S: T.Tensor((heads, 32, 32), T.float32),
    ):
        with T.Kernel(heads) as head:
            q = T.alloc_shared((32, 64), T.bfloat16)
            k = T.alloc_shared((32, 64), T.bfloat16)
            s = T.alloc_fragment((32, 32), T.float32)
            total = T.alloc_fragment((32, 32), T.float32)
            T.clear(total)
            T.copy(Q[head, 0, 0], q)
            for step in T.Pipelined(length // 32, num_stages=2):
                T.copy(K[head // group, step * 32, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(32, 32):
                    total[i, j] += T.exp(s[i, j] * 0.05)
            T.copy(total, S[head, 0, 0])

    return Traced(kernel, (values(heads, 32, 64), values(shared, length, 64)))


def test_keys_that_several_heads_share() -> None:
    plan = agree(grouped_heads(8, 4, 96), "1x1", executors=BOTH, seeds=range(3))
    assert panels_of(plan) == {"K": (("x",), 6, 2, 8)}
    assert panels_of(agree(grouped_heads(8, 4, 96), "2x2"))["K"][1:] == (6, 4, 8)


def test_loads_in_two_loops() -> None:
    """A panel of loops in loops is addressed by all their indices."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 192), T.float32), B: T.Tensor((64, 160), T.float32)):
        with T.Kernel(5, 2) as (bx, by):
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            for u in T.serial(2):
                for v in T.serial(3):
                    T.copy(A[by * 32, (u * 3 + v) * 32], a)
                    for i, j in T.Parallel(32, 32):
                        b[i, j] = b[i, j] * 0.5 + a[i, j]
            T.copy(b, B[by * 32, bx * 32])

    traced = Traced(kernel, (values(64, 192, dtype=np.float32),))
    plan = agree(traced, "2x1")
    assert panels_of(plan) == {"A": (("y",), 6, 2, 10)}


def test_tensors_that_the_kernel_writes_are_loaded_again() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), T.float32), B: T.Tensor((32, 160), T.float32)):
        with T.Kernel(4) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((32, 32), T.float32)
            T.copy(A, a)
            T.copy(B[0, 0], b)
            for i, j in T.Parallel(32, 32):
                b[i, j] = b[i, j] + a[i, j]
            T.copy(b, B[0, (bx + 1) * 32])

    inputs = values(32, 32, dtype=np.float32), values(32, 160, dtype=np.float32)
    plan = agree(Traced(kernel, inputs), "1x1")
    assert panels_of(plan) == {"A": ((), 1, 1, 4)}


def test_loads_under_a_condition_are_not_retained() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), T.float32), B: T.Tensor((32, 128), T.float32)):
        with T.Kernel(4) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            if bx > 1:
                T.copy(A, a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = a[i, j] + 1.0
            T.copy(b, B[0, bx * 32])

    plan = agree(Traced(kernel, (values(32, 32, dtype=np.float32),)), "1x1")
    assert panels_of(plan) == {}


def test_loops_whose_size_depends_on_the_block_are_not_retained() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 128), T.float32), B: T.Tensor((32, 128), T.float32)):
        with T.Kernel(4) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            for k in T.serial(bx + 1):
                T.copy(A[0, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] += a[i, j]
            T.copy(b, B[0, bx * 32])

    plan = agree(Traced(kernel, (values(32, 128, dtype=np.float32),)), "2x1")
    assert panels_of(plan) == {}


def test_the_plan_file_has_what_stays() -> None:
    plan = gemm(2, 3, 4).compiled("1x1", **{"tt.residency": "auto"}).plan
    assert Plan.from_attr(plan.to_attr()) == plan
    entry: Any = plan.to_data()["residency"]
    assert entry["mode"] == "auto"
    assert entry["panels"] == [
        {
            "tensor": "A",
            "buffer": "a",
            "cb": 0,
            "axes": ["y"],
            "pages": 4,
            "copies": 1,
            "loads": 2,
            "blocks": 6,
            "saved_page_reads": 16,
        }
    ]
    assert [each["tensor"] for each in entry["streamed"]] == ["B"]
