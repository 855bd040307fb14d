"""Raster orders in programs: which blocks each core processes, and that results do not change."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tests.passes.tenstorrent.execution import compiled, executed
from tests.passes.tenstorrent.test_gemm import gemm
from tests.sampling import only
from tilewright import T
from tilewright.dialects.tensix import HostPlanOp, KernelOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.json_attr import dictionary_of, json_of
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.rasters import Raster
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.tenstorrent.assignments import blocks_of
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of, words_of
from tilewright.passes.tenstorrent.verify_tt import VerifyTt
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable

ORDERS = ("row_major", "column_major", "block_linear:2x3", "z_order", "hilbert")
POLICIES = ("contiguous", "strided", "rect")
BOTH = only(
    [(POLICIES[number % 3], order) for number, order in enumerate(ORDERS)],
    itertools.product(POLICIES, ORDERS),
)
"""Each policy and each order; `make fuzz` has each pair."""


def elementwise(rows: int, columns: int, batches: int = 1, swizzle: tuple[int, str] | None = None):
    """One tile per block; all elements differ."""

    @T.prim_func
    def kernel(
        x: T.Tensor((batches, rows * 32, columns * 32), T.float32),
        y: T.Tensor((batches, rows * 32, columns * 32), T.float32),
    ):
        with T.Kernel(columns, rows, batches, threads=128) as (bx, by, bz):
            if swizzle is not None:
                T.use_swizzle(swizzle[0], order=swizzle[1])
            tile = T.alloc_fragment((32, 32), T.float32)
            T.copy(x[bz, by * 32 : by * 32 + 32, bx * 32 : bx * 32 + 32], tile)
            for i, j in T.Parallel(32, 32):
                tile[i, j] = tile[i, j] + 1.0
            T.copy(tile, y[bz, by * 32 : by * 32 + 32, bx * 32 : bx * 32 + 32])

    return kernel.module


def checked(module: ModuleOp, rows: int, columns: int, batches: int, **options: object) -> Plan:
    """Run: results right, traffic as predicted; gives the plan."""
    shape = (batches, rows * 32, columns * 32)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    outcome = executed(module, [x, None], **options)
    np.testing.assert_array_equal(outcome.outputs[0], x + 1)
    return outcome.plan


def walked(module: ModuleOp, plan: Plan, role: str = "reader") -> dict[tuple[int, int], list[int]]:
    """The pages that the kernel of a role moves, core by core, as its own arithmetic gives them."""
    kernel = next(op for op in module.ops if op.name == "tensix.kernel" and _role(op) == role)
    name = {"reader": "tensix.noc_read_tile", "writer": "tensix.noc_write_tile"}[role]
    found: dict[tuple[int, int], list[int]] = {}
    for core in plan.cores.active:
        words = words_of(core)
        pages: list[int] = []
        values = {
            op.results[0]: words[op.label.data]
            for op in kernel.walk()
            if op.name == "tensix.arg" and op.label.data in words
        }

        def visit(op, times, pages=pages):
            if op.name == name:
                pages.append(flow.value(op.operands[0]))  # noqa: B023

        loop = next(op for op in kernel.walk() if op.name == "scf.for")
        for step in range(core.count):
            flow = ControlFlow(visit, {**values, loop.body.block.args[0]: step}, lists_of(core))
            flow.block(loop.body.block, 1)
        found[core.x, core.y] = pages
    return found


def _role(op) -> str:
    return op.role.value


def expected_pages(plan: Plan, order: str) -> dict[tuple[int, int], list[int]]:
    """The pages of each core, from the definition of the order."""
    policy, _, block = order.partition(":")
    raster = Raster(policy, (2, 3) if block else None)
    grid = (plan.grid.x, plan.grid.y, plan.grid.z)
    plane = plan.grid.x * plan.grid.y
    found: dict[tuple[int, int], list[int]] = {}
    for core in plan.cores.active:
        pages: list[int] = []
        if core.rect is not None:
            row0, col0, rows, columns = core.rect
            for batch, tile in itertools.product(range(plan.grid.z), range(rows * columns)):
                row, column = raster.at(tile, rows, columns)
                pages.append(batch * plane + (row0 + row) * plan.grid.x + col0 + column)
        else:
            for tile in blocks_of(core, plan.schedule.policy, grid, plan.cores.num_cores):
                row, column = raster.at(tile % plane, plan.grid.y, plan.grid.x)
                pages.append(tile // plane * plane + row * plan.grid.x + column)
        found[core.x, core.y] = pages
    return found


@pytest.mark.parametrize(("policy", "order"), BOTH)
def test_every_policy_walks_in_every_order(policy: str, order: str) -> None:
    rows, columns, batches = 5, 7, 2
    module, plan = compiled(
        elementwise(rows, columns, batches), cores="2x2", policy=policy, order=order
    )
    pages = expected_pages(plan, order)
    assert sorted(itertools.chain(*pages.values())) == list(range(rows * columns * batches))
    assert walked(module, plan, "reader") == pages
    assert walked(module, plan, "writer") == pages


@pytest.mark.parametrize(("policy", "order"), BOTH)
def test_results_in_every_order(policy: str, order: str) -> None:
    checked(elementwise(3, 5, 2), 3, 5, 2, cores="2x2", policy=policy, order=order)


@pytest.mark.parametrize("policy", only(["rect"], POLICIES))
def test_more_than_256_blocks_of_a_core_are_a_table(policy: str) -> None:
    """On 2 x 2 cores the rectangles of 33 x 35 blocks have four shapes."""
    rows, columns = 33, 35
    module, plan = compiled(elementwise(rows, columns), cores="2x2", policy=policy, order="hilbert")
    assert all(core.blocks is None for core in plan.cores.active)
    assert walked(module, plan, "reader") == expected_pages(plan, "hilbert")
    assert walked(module, plan, "writer") == expected_pages(plan, "hilbert")


@pytest.mark.parametrize("count", [256, 257])
def test_lists_have_at_most_256_blocks(count: int) -> None:
    _, plan = compiled(elementwise(1, count), cores="1x1", order="z_order")
    names = [each.runtime_args for each in plan.kernels if each.role != "compute"]
    core = plan.cores.active[0]
    assert (core.blocks is not None) == (count == 256)
    assert all((each[-1] == "block_ids") == (count == 256) for each in names)
    words = plan.runtime_words(plan.kernel_named("writer"), core)
    assert len(words) == (258 if count == 256 else 3)


def test_large_tables_are_refused() -> None:
    with pytest.raises(CompileError, match=r"TW7082.*table of 12540 blocks does not fit") as raised:
        compiled(elementwise(114, 110), cores="1x1", order="hilbert")
    assert "or more cores" in str(raised.value)
    compiled(elementwise(114, 110), cores="8x8", order="hilbert")


def test_block_linear_of_16_x_16_blocks_on_64_cores() -> None:
    """Four blocks a core; the same bits as in row-major order."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((512, 32)).astype(ml_dtypes.bfloat16) for _ in range(2))
    outputs = []
    for order in ("row_major", "block_linear:4x4", "hilbert"):
        outcome = executed(gemm(512, 512, 32), [a, b.T, None], cores="8x8", order=order)
        outputs.append(outcome.outputs[0].tobytes())
        cores = outcome.plan.cores.assignments
        assert [each.count for each in cores] == [4] * 64
        assert cores[63].start_tile == 252
        if order == "block_linear:4x4":
            assert outcome.plan.schedule.rect == (4, 4)
            raster = Raster("block_linear", (4, 4))
            at = [raster.at(tile, 16, 16) for tile in (0, 1, 2, 3, 16, 17, 18, 19)]
            assert at == [(0, x) for x in range(8)]
    assert len(set(outputs)) == 1


@pytest.mark.parametrize(
    ("swizzle", "rect", "first"),
    [
        ((2, "row"), (2, 1), [(0, 0), (1, 0), (0, 1), (1, 1)]),
        ((3, "column"), (5, 3), [(0, 0), (0, 1), (0, 2), (1, 0)]),
        ((9, "row"), (9, 1), [(0, 0), (1, 0), (2, 0), (3, 0)]),
    ],
)
def test_panels_of_the_kernel(swizzle, rect, first) -> None:
    module = elementwise(5, 7, swizzle=swizzle)
    plan = checked(module, 5, 7, 1, cores="2x2")
    assert (plan.schedule.order, plan.schedule.rect) == ("block_linear", rect)
    found = [Raster("block_linear", rect).at(tile, 5, 7) for tile in range(4)]
    assert found == first


def test_the_order_of_the_caller_precedes() -> None:
    module = elementwise(5, 7, swizzle=(2, "row"))
    _, plan = compiled(module, cores="2x2", order="column_major")
    assert (plan.schedule.order, plan.schedule.rect) == ("column_major", None)


def _verified(module: ModuleOp) -> list[str]:
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    return [str(each.code) for each in engine.diagnostics]


def test_a_list_in_another_order_is_reported() -> None:
    module, _ = compiled(elementwise(3, 3), cores="2x1", order="hilbert")
    op = next(op for op in module.ops if isinstance(op, HostPlanOp))
    data: Any = json_of(op.plan)
    blocks = data["cores"]["assignments"][1]["blocks"]
    blocks[0], blocks[1] = blocks[1], blocks[0]
    op.plan = dictionary_of(data)
    assert "TW7102" in _verified(module)


def test_a_writer_that_does_not_read_the_list_is_reported() -> None:
    module, _ = compiled(elementwise(3, 3), cores="2x1", order="hilbert")
    writer = next(op for op in module.ops if isinstance(op, KernelOp) and _role(op) == "writer")
    raster = next(op for op in writer.walk() if isinstance(op, RasterOp))
    raster.operands[0] = block_argument(raster)
    assert "TW7114" in _verified(module)


def block_argument(op: RasterOp) -> SSAValue:
    """The number of the iteration around an op."""
    block = op.parent
    assert block is not None
    return block.args[0]


_SOURCES = [
    pytest.param(order, cores, policy, marks=() if policy == default else pytest.mark.slow)
    for order, cores, default in (("hilbert", "2x2", "strided"), ("z_order", "1x1", "contiguous"))
    for policy in POLICIES
]


@pytest.mark.parametrize(("order", "cores", "policy"), _SOURCES)
def test_emitted_sources_walk_alike(order: str, cores: str, policy: str) -> None:
    """A list of a core with few blocks, a table of one with many."""
    rows, columns = (3, 5) if cores == "2x2" else (17, 16)
    module, plan = compiled(elementwise(rows, columns), cores=cores, policy=policy, order=order)
    x = np.arange(rows * columns * 1024, dtype=np.float32).reshape(1, rows * 32, columns * 32)
    artefact = artefact_of(module)
    reader = artefact.sources()["reader.cpp"]
    assert ("constexpr uint16_t block_ids" in reader) == (cores == "1x1")
    assert ("get_arg_val<uint32_t>(2 + i)" in reader) == (cores == "2x2" and policy != "rect")
    try:
        run = artefact.run({"x": x}, RunOptions(seed=1), Executor.SOURCE)
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the sources were NOT run: {reason}")
    np.testing.assert_array_equal(run.arrays["y"], x + 1)
    assert run.result.traffic.dram_page_reads == plan.traffic.dram_page_reads


@pytest.mark.parametrize(
    ("order", "code", "text"),
    [
        ("spiral", "TW7001", "unknown raster order 'spiral'"),
        ("block_linear:4", "TW7001", "rows x columns of its blocks"),
        ("block_linear:axb", "TW7001", "rows x columns of its blocks"),
        ("hilbert:4x4", "TW7001", "block_linear, and no other order"),
        ("block_linear:0x4", "TW7081", "0x4: use extents >= 1"),
    ],
)
def test_orders_that_do_not_exist(order: str, code: str, text: str) -> None:
    with pytest.raises(CompileError, match=code) as raised:
        compiled(elementwise(2, 2), cores="2x2", order=order)
    assert text in str(raised.value)
