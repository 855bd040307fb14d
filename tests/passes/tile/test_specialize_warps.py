"""Kernels split into roles leave what the serial kernel leaves, and no barrier is there for show."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.passes.pass_support import apply
from tests.passes.tile.pipelines import (
    GEMM,
    LOAD_A,
    LOAD_B,
    SCALE_A,
    STORE_D,
    module,
    results,
    serial,
)
from tests.passes.tile.test_expand_pipeline import BODIES
from tilewright.dialects.tile import AllocOp, KernelOp, PipelineOp, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.specialize_warps import SpecializeWarps
from tilewright.targets.numpy import NumpyFault

AGAIN = """
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    scf.for %outer = %c0 to %c2 step %c1 {
"""
SPECIALISED = {**BODIES, "separate": LOAD_A + SCALE_A + STORE_D + LOAD_B + GEMM}
del SPECIALISED["indirect"]  # a cell says where to copy from


def specialised(kernel: ModuleOp) -> ModuleOp:
    kernel = apply(kernel, "specialize-warps", "expand-pipeline")
    assert any(isinstance(op, WsOp) for op in walk(kernel))
    return kernel


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", SPECIALISED)
def test_same_as_the_serial_loop(name: str, stages: int) -> None:
    body = SPECIALISED[name]
    split = specialised(module(body, loop=f"%lo to %n num_stages({stages})"))
    plain = serial(module(body, loop="%lo to %n num_stages(0)"))
    for turns in range(2 * stages + 2):
        for found, wanted in zip(
            results(split, turns, lower=2, schedules=5), results(plain, turns, lower=2), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("stages", [2, 3])
def test_turns_are_counted_across_entries_of_the_loop(stages: int, turns: int) -> None:
    def kernel(count: int) -> ModuleOp:
        loop = f"%lo to %n num_stages({count})"
        return module(LOAD_A + LOAD_B + GEMM, before=AGAIN, after="}", loop=loop)

    split, plain = specialised(kernel(stages)), serial(kernel(0))
    assert any(isinstance(op, AllocOp) and op.buffer_name == "turn" for op in walk(split))
    for found, wanted in zip(
        results(split, turns, schedules=5), results(plain, turns), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_consumers_keep_their_number_of_threads() -> None:
    kernel = specialised(module(LOAD_A + LOAD_B + GEMM, loop="0 to %n num_stages(2)"))
    (ws,) = (op for op in walk(kernel) if isinstance(op, WsOp))
    assert [(role.name, role.ranges) for role in ws.roles] == [
        ("producer", ((0, 128),)),
        ("consumer", ((128, 160),)),
    ]
    (block,) = (op for op in walk(kernel) if isinstance(op, KernelOp))
    assert block.num_threads == 160


def test_copies_with_different_users_have_barriers_of_their_own() -> None:
    kernel = specialised(module(SPECIALISED["separate"], loop="0 to %n num_stages(2)"))
    names = [op.buffer_name for op in walk(kernel) if isinstance(op, AllocOp) and op.arrive_counts]
    assert names == ["full_0_0", "empty_0_0", "full_0_1", "empty_0_1"]


def barrier_ops(kernel: ModuleOp) -> list[Operation]:
    return [op for op in walk(kernel) if op.name.startswith("nv.mbarrier.")]


@pytest.mark.parametrize("which", range(4))
def test_without_one_of_its_barrier_ops_the_kernel_is_refused(which: int) -> None:
    kernel = specialised(module(LOAD_A + LOAD_B + GEMM, loop="0 to %n num_stages(2)"))
    ops = barrier_ops(kernel)
    assert len(ops) == 4
    Rewriter().erase(ops[which])
    with pytest.raises(NumpyFault):
        results(kernel, 7, schedules=30)


REFUSED = {
    "no copies": (SCALE_A, "num_stages(2)", "no copy from global to shared memory"),
    "cell": (
        BODIES["indirect"].replace(LOAD_B, ""),
        "num_stages(2)",
        "which the consumer warps compute",
    ),
    "lists": (
        LOAD_A + LOAD_B + GEMM,
        "num_stages(2) stage(0, 0, 1) order(0, 1, 2)",
        "user-specified",
    ),
    "barrier": (LOAD_A + "tile.sync\n" + GEMM, "num_stages(2)", "uses explicit synchronisation"),
    "written": (LOAD_A + STORE_D.replace("%D", "%A"), "num_stages(2)", "writes the source tensor"),
}


BOUND = """
    memref.store %c0_i32, %cell[%c0] : memref<1xi32, #var>
    %turns_i32 = memref.load %cell[%c0] : memref<1xi32, #var>
    %turns = arith.index_cast %turns_i32 : i32 to index
"""


def test_the_producer_must_know_how_often_the_loop_runs() -> None:
    before = "    %c0_i32 = arith.constant 4 : i32\n" + BOUND
    kernel = module(LOAD_A + LOAD_B + GEMM, before=before, loop="0 to %turns num_stages(2)")
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    SpecializeWarps().run(kernel, engine)
    (found,) = engine.diagnostics
    assert "the trip count depends on 'cell', which the consumer warps compute" in found.message
    assert "help: this costs time only; a producer warp can use" in found.notes[0].message


@pytest.mark.parametrize("name", REFUSED)
def test_a_remark_says_why_not(name: str) -> None:
    body, options, message = REFUSED[name]
    kernel = module(body, loop=f"0 to %n {options}")
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    SpecializeWarps().run(kernel, engine)
    (found,) = engine.diagnostics
    assert (found.severity, found.code) == (Severity.REMARK, "TW4020")
    assert found.message.startswith("warp specialisation not applied: ")
    assert message in found.message
    assert any(isinstance(op, PipelineOp) for op in walk(kernel))


def test_the_producer_reads_the_bound_of_the_loop_itself() -> None:
    """What the body computes in front of the loop becomes the consumers' own."""
    bound = """
    %id = memref.load %ids[%c3] : memref<?xi32, #global>
    %hi = arith.index_cast %id : i32 to index
"""
    body = LOAD_A + LOAD_B + GEMM
    split = specialised(module(body, before=bound, loop="0 to %hi num_stages(2)"))
    plain = serial(module(body, before=bound, loop="0 to %hi num_stages(0)"))
    for turns in range(4):
        for found, wanted in zip(
            results(split, turns, schedules=5), results(plain, turns), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)
