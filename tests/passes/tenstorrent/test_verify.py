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
    NocBarrierOp,
    RasterOp,
)
from tilewright.dialects.tensix.json_attr import dictionary_of, json_of
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
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
