"""`verify-tt` reports planted faults, each with its code, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, f32
from xdsl.ir import Operation

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tensix import (
    CBOp,
    CBPopOp,
    CBPushOp,
    CBReserveOp,
    CBType,
    CBWaitOp,
    DstCommitOp,
    HostPlanOp,
    InitOp,
    KernelOp,
    McastOp,
    NocBarrierOp,
    RasterOp,
    SemIncOp,
    SemMcastOp,
    SemOp,
)
from tilewright.dialects.tensix.chips import SIM
from tilewright.dialects.tensix.json_attr import dictionary_of, json_of
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.verify_multicast import multicast_op_problems
from tilewright.passes.tenstorrent.verify_tt import VerifyTt

Change = Callable[[ModuleOp], None]


def first(module: ModuleOp, role: str, kind: type[Operation]) -> Any:
    kernel = next(op for op in module.ops if isinstance(op, KernelOp) and op.role.value == role)
    return next(op for op in walk(kernel) if isinstance(op, kind))


def erase(role: str, kind: type[Operation]) -> Change:
    def change(module: ModuleOp) -> None:
        op = first(module, role, kind)
        op.detach()
        op.erase()

    return change


def in_plan(edit: Callable[[dict[str, Any]], None]) -> Change:
    def change(module: ModuleOp) -> None:
        op = next(op for op in module.ops if isinstance(op, HostPlanOp))
        data: Any = json_of(op.plan)
        edit(data)
        op.plan = dictionary_of(data)

    return change


def with_count(role: str, kind: type[Operation], count: int) -> Change:
    def change(module: ModuleOp) -> None:
        op = first(module, role, kind)
        constant = ConstantOp.of(count, IndexType())
        op.parent.insert_op_before(constant, op)
        op.operands[1] = constant.results[0]

    return change


def without_cbs(data: dict[str, Any]) -> None:
    del data["cbs"]


def no_blocks(data: dict[str, Any]) -> None:
    data["grid"]["x"] = 0


def assigned_twice(data: dict[str, Any]) -> None:
    data["cores"]["assignments"][1]["start_tile"] = 0


def outside(data: dict[str, Any]) -> None:
    data["core_ranges"][0][:4] = [9, 0, 9, 0]


def other_pages(data: dict[str, Any]) -> None:
    data["cbs"][0]["pages"] = 4


def too_much(data: dict[str, Any]) -> None:
    data["cbs"][0]["pages"] = 4096


def half_pages(data: dict[str, Any]) -> None:
    data["cbs"][0]["page_bytes"] = 1024


def other_producer(data: dict[str, Any]) -> None:
    data["cbs"][0]["producer"] = "writer"


def other_names(data: dict[str, Any]) -> None:
    data["kernels"][0]["runtime_args"].reverse()


def three_pages(module: ModuleOp) -> None:
    """A buffer of three pages in all kernels, pushed two by two."""
    for kernel in module.ops:
        for op in walk(kernel):
            if isinstance(op, CBOp) and op.index == 0:
                type = CBType(3, "bf16")
                made = CBOp(0, type)
                assert op.parent is not None
                op.parent.insert_op_before(made, op)
                op.result.replace_all_uses_with(made.result)
                op.detach()
                op.erase()
    in_plan(lambda data: data["cbs"][0].update(pages=3))(module)
    with_count("reader", CBPushOp, 2)(module)


def other_raster(module: ModuleOp) -> None:
    op = first(module, "writer", RasterOp)
    op.policy = StringAttr("column_major")


def raw_memory(module: ModuleOp) -> None:
    op = first(module, "compute", CBWaitOp)
    op.parent.insert_op_before(AllocOp(buffer_type(f32, (32, 32), "shared")), op)


FAULTS: dict[str, tuple[str, Change]] = {
    "no circular buffers": ("TW7100", in_plan(without_cbs)),
    "no blocks": ("TW7101", in_plan(no_blocks)),
    "assigned twice": ("TW7102", in_plan(assigned_twice)),
    "core outside": ("TW7103", in_plan(outside)),
    "other page count": ("TW7104", in_plan(other_pages)),
    "L1": ("TW7105", in_plan(too_much)),
    "half pages": ("TW7106", in_plan(half_pages)),
    "other producer": ("TW7107", in_plan(other_producer)),
    "missing pop": ("TW7108", erase("compute", CBPopOp)),
    "missing push": ("TW7108", erase("reader", CBPushOp)),
    "block size": ("TW7109", three_pages),
    "missing commit": ("TW7111", erase("compute", DstCommitOp)),
    "missing init": ("TW7112", erase("compute", InitOp)),
    "missing read barrier": ("TW7113", erase("reader", NocBarrierOp)),
    "missing write barrier": ("TW7113", erase("writer", NocBarrierOp)),
    "other raster": ("TW7114", other_raster),
    "other arguments": ("TW7115", in_plan(other_names)),
    "raw memory": ("TW7117", raw_memory),
    "missing reserve": ("TW7113", erase("reader", CBReserveOp)),
    "missing wait": ("TW7113", erase("writer", CBWaitOp)),
    "wait for pages of the next block": ("TW7119", with_count("writer", CBWaitOp, 2)),
    "too many pages": ("TW7119", with_count("compute", CBWaitOp, 3)),
}


def codes(module: ModuleOp) -> list[str]:
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    return [str(each.code) for each in engine.diagnostics]


@pytest.fixture(scope="module")
def program() -> ModuleOp:
    return compiled(gemm(64, 64, 64))[0]


def test_a_compiled_program_is_clean(program: ModuleOp) -> None:
    assert codes(program) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults(program: ModuleOp, fault: str) -> None:
    code, change = FAULTS[fault]
    module = program.clone()
    change(module)
    assert code in codes(module)


def test_missing_plan(program: ModuleOp) -> None:
    module = program.clone()
    plan = next(op for op in module.ops if isinstance(op, HostPlanOp))
    plan.detach()
    plan.erase()
    assert codes(module) == ["TW7100"]


def test_a_circular_wait_names_the_kernels_and_their_pages(program: ModuleOp) -> None:
    module = program.clone()
    with_count("writer", CBWaitOp, 2)(module)
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    (found,) = engine.diagnostics
    assert found.message == (
        "circular wait on core (0, 0): the writer waits for 2 pushed pages of circular buffer 16 "
        "(1 of 2 ready)"
    )


# -- multicast -------------------------------------------------------------------------------------


def constants(op: Operation, *values: int) -> Any:
    """Constants before an op."""
    made = [ConstantOp.of(value, IndexType()) for value in values]
    block = op.parent
    assert block is not None
    block.insert_ops_before(made, op)
    return tuple(each.results[0] for each in made)


def send(module: ModuleOp, corners: tuple[int, int, int, int], dests: int, sem: int) -> None:
    """Multicast of a page and of a flag to logical cores, in the reader."""
    push = first(module, "reader", CBPushOp)
    x0, y0, x1, y1 = corners
    noc = (*SIM.noc_coordinate(x0, y0), *SIM.noc_coordinate(x1, y1))
    l1, size, count, *rectangle = constants(push, 0, 2048, dests, *noc)
    flag = SemOp(sem)
    copy = McastOp(l1, tuple(rectangle), size, count)
    push.parent.insert_ops_before(
        [flag, copy, SemMcastOp(flag.result, tuple(rectangle), count)], push
    )


@pytest.fixture(scope="module")
def multicasting() -> ModuleOp:
    """A from (0, 0) and (0, 1) along two rows of four cores, B down four columns of two."""
    module, _ = compiled(gemm(64, 128, 64), multicast="on")
    return module


def in_group(**fields: Any) -> Change:
    return in_plan(lambda data: data["multicast"]["groups"][0].update(fields))


def in_semaphore(**fields: Any) -> Change:
    return in_plan(lambda data: data["multicast"]["semaphores"][3].update(fields))


def sends(corners: tuple[int, int, int, int], dests: int, sem: int) -> Change:
    return lambda module: send(module, corners, dests, sem)


def sends_to_as_many(dests: int) -> Change:
    """Corners that are not constant: only the count is compared."""

    def change(module: ModuleOp) -> None:
        op = first(module, "reader", McastOp)
        (count,) = constants(op, dests)
        start = op.operands[1]
        for position in range(1, 5):
            op.operands[position] = start
        op.operands[6] = count

    return change


FROM = "multicast of A from core (0, 0): "
MULTICAST_FAULTS: dict[str, tuple[str, Change]] = {
    "sender outside": (
        "multicast of A from core (8, 0): the sender is outside the core grid of 8 x 8",
        in_group(sender=[8, 0]),
    ),
    "corners exchanged": (
        FROM + "the rectangle (3, 0) to (1, 0) is empty; its first corner has the smaller "
        "coordinates",
        in_group(dests=[3, 0, 1, 0]),
    ),
    "rectangle outside": (
        FROM + "the rectangle (1, 0) to (8, 0) is outside the core grid of 8 x 8",
        in_group(dests=[1, 0, 8, 0], num_dests=8),
    ),
    "negative corner": (
        FROM + "the rectangle (1, -1) to (3, 0) is outside the core grid of 8 x 8",
        in_group(dests=[1, -1, 3, 0], num_dests=6),
    ),
    "no receiver": (
        FROM + "the rectangle has no core but the sender; a group has a receiver",
        in_group(dests=[0, 0, 0, 0], num_dests=0),
    ),
    "sender counted": (
        FROM + "num_dests is 4, the rectangle (0, 0) to (3, 0) has 3 cores without the sender",
        in_group(dests=[0, 0, 3, 0], num_dests=4),
    ),
    "other block count": (
        FROM + "the sender has block count 1 and core (4, 0) has 0; all members of a group process "
        "the same number of blocks",
        in_group(dests=[1, 0, 4, 0], num_dests=4),
    ),
    "semaphore that the chip does not have": (
        "semaphore 16 does not exist: sim has the ids 0 to 15",
        in_semaphore(id=16),
    ),
    "semaphore declared twice": (
        "semaphore 2 is declared 2 times: every id is declared once",
        in_semaphore(id=2),
    ),
    "ready semaphore not declared": (
        FROM + "ready_sem is 7, which the plan does not declare",
        in_group(ready_sem=7),
    ),
    "valid semaphore not declared": (
        FROM + "valid_sem is 7, which the plan does not declare",
        in_group(valid_sem=7),
    ),
    "one semaphore for ready and valid": (
        FROM + "semaphore 0 is valid_sem of A and ready_sem of A; use an id for each",
        in_group(valid_sem=0),
    ),
    "one semaphore for two operands": (
        "multicast of B from core (0, 0): semaphore 2 is ready_sem of B and ready_sem of A; use an "
        "id for each",
        in_group(ready_sem=2),
    ),
    "op with a semaphore not declared": (
        "semaphore 9 in the reader kernel is not declared by the plan",
        sends((1, 0, 3, 0), 3, 9),
    ),
    "op to another rectangle": (
        "'tensix.mcast' to the NoC rectangle (19, 18) to (20, 18), which is not the rectangle of a "
        "group of the plan",
        sends((1, 0, 2, 0), 2, 1),
    ),
    "op with another count": (
        "'tensix.sem_mcast' to 2 cores; num_dests of the groups of the plan is 3",
        sends((1, 0, 3, 0), 2, 1),
    ),
    "op with computed corners and another count": (
        "'tensix.mcast' to 5 cores; num_dests of the groups of the plan is 1, 3",
        sends_to_as_many(5),
    ),
    "op without a group": (
        "'tensix.mcast' in a program whose plan has no multicast group",
        in_plan(lambda data: data.update(multicast=None)),
    ),
}


def test_a_valid_multicast_is_clean(multicasting: ModuleOp) -> None:
    assert codes(multicasting) == []


def test_corners_of_an_op_may_be_exchanged(multicasting: ModuleOp) -> None:
    module = multicasting.clone()
    send(module, (3, 0, 1, 0), 3, 1)
    op = next(op for op in module.ops if isinstance(op, HostPlanOp))
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    assert list(multicast_op_problems(Plan.from_attr(op.plan), SIM, kernels)) == []


@pytest.mark.parametrize("fault", MULTICAST_FAULTS)
def test_planted_multicast_faults(multicasting: ModuleOp, fault: str) -> None:
    message, change = MULTICAST_FAULTS[fault]
    module = multicasting.clone()
    change(module)
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    assert {str(each.code) for each in engine.diagnostics} == {"TW7116"}
    assert message in [each.message for each in engine.diagnostics]


def test_a_plan_keeps_its_multicast(multicasting: ModuleOp) -> None:
    op = next(op for op in multicasting.ops if isinstance(op, HostPlanOp))
    plan = Plan.from_attr(op.plan)
    assert plan.multicast is not None
    first_row, _, *columns = (each.receivers for each in plan.multicast.groups)
    assert first_row == ((1, 0), (2, 0), (3, 0))
    assert columns == [((x, 1),) for x in range(4)]
    assert plan.to_attr() == op.plan
    assert Plan.from_data(plan.to_data()) == plan


def kernel(module: ModuleOp, name: str) -> KernelOp:
    return next(op for op in module.ops if isinstance(op, KernelOp) and op.sym_name.data == name)


def test_a_receiver_that_skips_a_multicast(multicasting: ModuleOp) -> None:
    module = multicasting.clone()
    reader = kernel(module, "reader_A_receiver_B_sender")
    op = next(op for op in walk(reader) if isinstance(op, SemIncOp))
    op.detach()
    op.erase()
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    assert [(each.code, each.message) for each in engine.diagnostics] == [
        (
            "TW7116",
            FROM + "the sender sends 2 times and core (1, 0) is ready 0 times; one of them would "
            "wait forever",
        )
    ]


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([[1, 0, 2, 0]], "core (3, 0) runs 0 reader kernels: every active core runs one"),
        ([[0, 0, 3, 0]], "core (0, 0) runs 2 reader kernels: every active core runs one"),
    ],
)
def test_every_core_has_one_reader(
    multicasting: ModuleOp, ranges: list[list[int]], message: str
) -> None:
    module = multicasting.clone()

    def change(data: dict[str, Any]) -> None:
        reader = next(each for each in data["kernels"] if "A_receiver_B_sender" in each["file"])
        reader["cores"] = ranges

    in_plan(change)(module)
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    assert ("TW7103", message) in [(each.code, each.message) for each in engine.diagnostics]


def test_a_sender_on_a_core_that_receives(multicasting: ModuleOp) -> None:
    module = multicasting.clone()

    def change(data: dict[str, Any]) -> None:
        one, two = (
            next(each for each in data["kernels"] if name in each["file"])
            for name in ("A_receiver_B_sender", "A_sender_B_receiver")
        )
        one["cores"], two["cores"] = two["cores"], one["cores"]

    in_plan(change)(module)
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    assert [(each.code, each.message) for each in engine.diagnostics] == [
        (
            "TW7115",
            "the plan has no value for the argument 'A_sender_x' of reader_A_receiver_B_sender on "
            "core (0, 1)",
        ),
        (
            "TW7115",
            "the plan has no value for the argument 'A_x_start' of reader_A_sender_B_receiver on "
            "core (1, 0)",
        ),
    ]
