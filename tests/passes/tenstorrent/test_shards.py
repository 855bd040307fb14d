"""Tensors in L1: values, what is used in place, traffic, L1, and faults that `verify-tt` reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.passes.tenstorrent.test_verify import erase, first, in_plan, with_count
from tests.sampling import every
from tests.targets.tenstorrent.matrix import KERNELS, MANY, SIZES
from tilewright.dialects.tensix import AccessorOp, CBPushOp, CBReserveOp, CBWaitOp
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.tenstorrent.shard_accesses import TileBox
from tilewright.passes.tenstorrent.shard_choice import (
    all_cores,
    even_shards,
    is_in_place,
    shards_for,
)
from tilewright.passes.tenstorrent.verify_tt import VerifyTt
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, Run
from tilewright.targets.tenstorrent.execution import RunOptions

Change = Callable[[ModuleOp], None]
COUNTS = ("dram_page_reads", "dram_page_writes", "l1_page_reads", "l1_page_writes")
GRIDS = ("1x1", "2x2", "4x1", "1x4", "3x2", "8x8")
POLICIES = ("contiguous", "rect", "strided")
MEMORIES = ("height", "width", "block", "dram")


def in_place(plan: Plan) -> list[str]:
    return [cb.tensor for cb in plan.cbs if cb.tensor is not None]


def traffic(plan: Plan) -> tuple[int, ...]:
    return tuple(getattr(plan.traffic, name) for name in COUNTS)


def run(artefact: Artefact, arrays: Any, executor: Executor = Executor.IR) -> Run:
    """A run whose traffic is the predicted one."""
    found = artefact.run(arrays, RunOptions(seed=3), executor)
    counted = tuple(getattr(found.result.traffic, name) for name in COUNTS)
    assert counted == traffic(artefact.plan)
    return found


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", every(60, range(240)))
def test_shards_never_change_a_result(seed: int) -> None:
    """Any kernel, any tensors in L1, any cores: bit for bit what it computes in DRAM."""
    draw = np.random.default_rng(seed)
    kernel = str(draw.choice(list(KERNELS)))
    size = [*SIZES.values(), MANY, (96, 160, 64), (100, 70, 130)][draw.integers(7)]
    cores = str(draw.choice(GRIDS))
    configs = {"tt.schedule.policy": str(draw.choice(POLICIES))}
    traced = KERNELS[kernel](size)
    names = [param.name for param in traced.prim_func.params]
    shard = {name: str(draw.choice(MEMORIES)) for name in names}
    plain = traced.compiled(cores, **configs)
    try:
        sharded = traced.compiled(cores, **configs, **{"tt.shard": shard})
    except CompileError as error:
        assert "TW7050" in str(error)
        return
    executor = Executor.SOURCE if seed % 40 == 7 else Executor.IR
    expected, found = (run(each, traced.arrays(), executor) for each in (plain, sharded))
    for name, array in expected.arrays.items():
        assert found.arrays[name].tobytes() == array.tobytes(), (kernel, shard, name)


@pytest.mark.parametrize(
    ("options", "placed", "pages"),
    [
        # Every core has whole rows of blocks: A and C are where they are used.
        ({"cores": "1x4", "shard": "A:height,C:height"}, ["A", "C"], (96, 0, 0, 0)),
        # Every core has one block: the cores of a row share rows of A.
        ({"cores": "4x4", "shard": "A:height,C:block"}, ["C"], (96, 0, 96, 0)),
        (
            {"cores": "4x1", "policy": "rect", "shard": "B:width,C:width"},
            ["B", "C"],
            (96, 0, 0, 0),
        ),
        ({"cores": "1x1", "shard": "A:block,B:block,C:block"}, ["A", "B", "C"], (0, 0, 0, 0)),
        # Strided blocks are in no rectangle of their own.
        (
            {"cores": "1x4", "policy": "strided", "shard": "A:height,C:height"},
            [],
            (96, 0, 96, 64),
        ),
    ],
)
def test_traffic_of_a_gemm(
    options: dict[str, Any], placed: list[str], pages: tuple[int, ...]
) -> None:
    _, plan = compiled(gemm(256, 256, 96, block=(64, 64, 32)), **options)
    assert (in_place(plan), traffic(plan)) == (placed, pages)


def test_an_operand_in_place_beside_a_retained_one() -> None:
    """B stays in L1 over all blocks of the core; A is where it is used."""
    traced = KERNELS["gemm"]((96, 160, 64))
    configs = {"tt.residency": "auto", "tt.shard": "A:block,C:height"}
    plain, found = traced.compiled("1x1"), traced.compiled("1x1", **configs)
    assert found.plan.residency is not None
    assert [each.tensor for each in found.plan.residency.panels] == ["B"]
    assert "A" in in_place(found.plan)
    expected = run(plain, traced.arrays()).arrays["C"]
    assert run(found, traced.arrays()).arrays["C"].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("cores", "shard", "policy"), [("1x3", "height", "rect"), ("2x3", "block", "rect")]
)
def test_shards_that_are_not_full(cores: str, shard: str, policy: str) -> None:
    """5 x 3 tiles on 3 rows of cores: the last one has half a shard, pushed as a whole."""
    traced = KERNELS["gemm"]((160, 96, 64))
    configs = {"tt.shard": f"C:{shard}", "tt.schedule.policy": policy}
    plain, found = traced.compiled(cores), traced.compiled(cores, **configs)
    assert "C" in in_place(found.plan)
    for executor in Executor:
        expected = run(plain, traced.arrays(), executor).arrays["C"]
        assert run(found, traced.arrays(), executor).arrays["C"].tobytes() == expected.tobytes()


def test_a_transposed_operand_is_read_over_the_noc() -> None:
    _, plan = compiled(gemm(64, 64, 64, transpose=True), cores="1x1", shard="A:height,B:height")
    assert (in_place(plan), traffic(plan)) == (["A"], (0, 4, 8, 0))


# -- L1 --------------------------------------------------------------------------------------------


def test_shards_count_against_l1() -> None:
    module = gemm(256, 256, 96, block=(64, 64, 32))
    _, plan = compiled(module, cores="1x4", shard="A:height,C:height")
    (b,) = [cb for cb in plan.cbs if cb.tensor is None]
    shards = 2 * 3 * 2048 + 2 * 8 * 2048
    assert plan.memory.l1_used == b.total_bytes + shards
    assert plan.memory.dram_bytes == 3 * 8 * 2048
    with pytest.raises(CompileError, match="TW7050") as error:
        compiled(module, cores="1x4", shard="A:height,C:height", l1_budget=shards)
    assert "shard of A 12288 | shard of C 32768" in str(error.value)
    assert "or keep a tensor in DRAM" in str(error.value)


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        ("X:height", "no tensor 'X' to shard: the kernel has A, B, C"),
        ("A:rows", "sharding 'rows' of tensor 'A': expected one of height, width, block, dram"),
    ],
)
def test_unknown_shardings(shard: str, message: str) -> None:
    with pytest.raises(CompileError, match="TW7024") as error:
        compiled(gemm(64, 64, 64), shard=shard)
    assert message in str(error.value)


# -- the choice of shards --------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_chosen_shards_hold_what_cores_access(data: st.DataObject) -> None:
    """Shards are one a core and cover the tensor; the smallest ones in place, by brute force."""
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    grid = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    strategy = data.draw(st.sampled_from(("height", "width", "block")))
    boxes: dict[tuple[int, int], TileBox] = {}
    for core in data.draw(st.lists(st.sampled_from(all_cores(grid)), min_size=1, unique=True)):
        top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
        bottom = data.draw(st.integers(top + 1, rows))
        right = data.draw(st.integers(left + 1, columns))
        boxes[core] = TileBox(top, left, bottom, right)
    even = even_shards(strategy, (rows, columns), grid)
    found = shards_for(strategy, (rows, columns), boxes, grid)
    for shards in (even, found):
        if shards is not None:
            down, across = shards.grid
            assert down * across == len(shards.cores) == len(set(shards.cores))
            assert set(shards.cores) <= set(all_cores(grid))
    heights = [rows] if strategy == "width" else range(1, rows + 1)
    widths = [columns] if strategy == "height" else range(1, columns + 1)
    possible = [
        (high, wide)
        for high in heights
        for wide in widths
        if _is_possible((rows, columns), (high, wide), boxes, grid)
    ]
    assert (found is not None) == bool(possible)
    if found is not None:
        assert is_in_place(found, boxes)
        assert found.shape == min(possible, key=lambda shape: (shape[0] * shape[1], shape))


def _is_possible(
    tensor: tuple[int, int],
    shape: tuple[int, int],
    boxes: dict[tuple[int, int], TileBox],
    grid: tuple[int, int],
) -> bool:
    """Whether each core's tiles are in one shard, different ones, and spare cores hold the rest."""
    count = -(-tensor[0] // shape[0]) * -(-tensor[1] // shape[1])
    owned: list[tuple[int, int]] = []
    for box in boxes.values():
        tiles = {
            (row // shape[0], column // shape[1])
            for row in range(box.top, box.bottom)
            for column in range(box.left, box.right)
        }
        if len(tiles) > 1:
            return False
        owned += tiles
    return len(set(owned)) == len(owned) and count <= grid[0] * grid[1]


def test_owner_of_a_tile() -> None:
    shards = ShardPlan((3, 5), (2, 2), tuple((n, 0) for n in range(6)))
    assert (shards.grid, shards.core_pages, shards.accessor_words) == ((2, 3), 4, 11)
    assert [shards.owner(2, column) for column in range(5)] == [
        (3, 0),
        (3, 0),
        (4, 0),
        (4, 0),
        (5, 0),
    ]


# -- faults ----------------------------------------------------------------------------------------


def tensor_entry(edit: Callable[[dict[str, Any]], None], name: str = "A") -> Change:
    def change(data: dict[str, Any]) -> None:
        edit(next(each for each in data["tensors"] if each["name"] == name))

    return in_plan(change)


def shards_entry(**changes: Any) -> Change:
    return tensor_entry(lambda tensor: tensor["shards"].update(changes))


def cb_entry(**changes: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        next(each for each in data["cbs"] if each.get("tensor") == "A").update(changes)

    return in_plan(change)


def unmark(module: ModuleOp) -> None:
    del first(module, "reader", AccessorOp).properties["sharded"]


def rename_accessor(module: ModuleOp) -> None:
    op = first(module, "reader", AccessorOp)
    op.properties["label"] = type(op.label)("A")


def into_loop(module: ModuleOp) -> None:
    """The push of the shard of A, block after block."""
    op = first(module, "reader", CBPushOp)
    loop = next(each for each in op.parent.ops if each.name == "scf.for")
    op.detach()
    loop.regions[0].block.insert_op_before(op, loop.regions[0].block.first_op)


FAULTS: dict[str, tuple[str, str, Change]] = {
    "empty shards": ("TW7121", "shards of 0 x 3 tiles", shards_entry(shape=[0, 3])),
    "shards of another tensor": ("TW7121", "cut from 8 x 4", shards_entry(tensor=[8, 4])),
    "one core twice": (
        "TW7121",
        "3 different cores of 4",
        shards_entry(cores=[[0, 0]] * 2 + [[0, 2], [0, 3]]),
    ),
    "too few cores": (
        "TW7121",
        "different cores of 3",
        shards_entry(cores=[[0, 0], [0, 1], [0, 2]]),
    ),
    "a core outside": (
        "TW7121",
        "outside the core grid",
        shards_entry(cores=[[0, 0], [0, 1], [0, 2], [5, 5]]),
    ),
    "a buffer on DRAM": ("TW7121", "no sharded tensor", cb_entry(tensor="C")),
    "a buffer of other pages": ("TW7121", "the shards of 'A' have 6 pages", cb_entry(pages=12)),
    "an unmarked accessor": ("TW7121", "the tensor is sharded", unmark),
    "an accessor beside the shard": ("TW7121", "has an accessor too", rename_accessor),
    "a push per block": ("TW7121", "popped once, as a whole", into_loop),
    "a push of a part": ("TW7121", "popped once", with_count("reader", CBPushOp, 3)),
    "no push": ("TW7108", "pages pushed and 6 popped", erase("reader", CBPushOp)),
    "shards beyond L1": (
        "TW7105",
        "circular buffers and shards take",
        tensor_entry(lambda tensor: tensor.update(page_bytes=1 << 20)),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_of_shards_are_reported(fault: str) -> None:
    code, text, change = FAULTS[fault]
    options: dict[str, Any] = {"cores": "1x4", "shard": "A:height,B:width"}
    module, plan = compiled(gemm(256, 256, 96, block=(64, 64, 32)), **options)
    assert in_place(plan) == ["A"]
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    assert engine.error_count == 0
    change(module)
    VerifyTt().run(module, engine)
    messages = [f"{each.code} {each.message}" for each in engine.diagnostics]
    assert any(each.startswith(code) and text in each for each in messages), messages


@pytest.mark.parametrize(
    ("role", "kind", "check"),
    [
        ("compute", CBWaitOp, "unpushed-read"),
        ("reader", CBReserveOp, "push-without-reserve"),
    ],
)
def test_a_dropped_call_is_reported_by_the_run(role: str, kind: Any, check: str) -> None:
    """The first call of these kernels is the one that pushes the shard."""
    traced = KERNELS["gemm"](SIZES["whole"])
    artefact = traced.compiled("1x1", **{"tt.shard": "A:height"})
    kernel = next(each for each in artefact.kernels.values() if each.role.value == role)
    next(op for op in kernel.walk() if isinstance(op, kind)).detach()
    result = artefact.execute(traced.arrays())
    assert check in {finding.check.value for finding in result.findings}
