"""A pipelined loop leaves what the serial loop leaves, for every number of turns and stages."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.passes.tile.pipelines import (
    GEMM,
    LOAD_A,
    LOAD_B,
    SCALE_A,
    STORE_D,
    expanded,
    module,
    results,
    serial,
)
from tests.sampling import every
from tilewright.analysis.pipelining import automatic, versions_of
from tilewright.dialects.nv import CpAsyncWaitOp
from tilewright.dialects.tile import AsyncCopyOp, GemmOp, PipelineOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.targets.numpy import NumpyFault

GUARDED = (
    """
%odd = arith.remui %k, %c3 : index
%some = arith.cmpi ne, %odd, %c0 : index
scf.if %some {
"""
    + LOAD_A
    + "}\nscf.if %some {\n"
    + LOAD_B
    + "}\nscf.if %some {\n"
    + GEMM
    + "}\n"
)
INDIRECT = (
    """
%id = memref.load %ids[%k] : memref<?xi32, #global>
memref.store %id, %cell[%c0] : memref<1xi32, #var>
%again = memref.load %cell[%c0] : memref<1xi32, #var>
%where = arith.index_cast %again : i32 to index
%row = arith.muli %where, %c8 : index
%ra = tile.region %A[%row, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
tile.copy %ra -> %as : !tile.region<8x8xf32, #global> -> memref<8x8xf32, #shared>
"""
    + LOAD_B
    + GEMM
)
BODIES = {
    "gemm": LOAD_A + LOAD_B + GEMM,
    "late copy": LOAD_A + SCALE_A + STORE_D + LOAD_B + GEMM,
    "two users": LOAD_A + SCALE_A + STORE_D + LOAD_B + GEMM.replace("%as", "%bs"),
    "in place": LOAD_A + SCALE_A + STORE_D,
    "guarded": GUARDED,
    "indirect": INDIRECT,
}


@pytest.mark.parametrize(
    ("name", "stages", "predicate_epilogue"),
    every(3, product(BODIES, [1, 2, 3, 4], [False, True])),
)
def test_same_as_the_serial_loop(name: str, stages: int, predicate_epilogue: bool) -> None:
    body = BODIES[name]
    fast = expanded(
        module(body, loop=f"%lo to %n num_stages({stages})"), predicate_epilogue=predicate_epilogue
    )
    plain = serial(module(body, loop="%lo to %n num_stages(0)"))
    assert any(isinstance(op, AsyncCopyOp) for op in walk(fast)) or name == "guarded"
    for turns in range(2 * stages + 2):
        for found, wanted in zip(
            results(fast, turns, lower=2, schedules=4), results(plain, turns, lower=2), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("turns", range(7))
@pytest.mark.parametrize("stages", [2, 3])
def test_a_known_number_of_turns(stages: int, turns: int) -> None:
    body = BODIES["late copy"]
    fast = expanded(module(body, loop=f"0 to {turns} num_stages({stages})"))
    plain = serial(module(body, loop=f"0 to {turns} num_stages(0)"))
    assert not any(op.name == "scf.if" for op in walk(fast))
    for found, wanted in zip(results(fast, turns, schedules=4), results(plain, turns), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("turns", range(7))
@pytest.mark.parametrize("stages", [2, 3])
def test_a_known_number_of_turns_in_one_loop(stages: int, turns: int) -> None:
    body = BODIES["late copy"]
    fast = expanded(
        module(body, loop=f"0 to {turns} num_stages({stages})"), predicate_epilogue=True
    )
    plain = serial(module(body, loop=f"0 to {turns} num_stages(0)"))
    assert sum(isinstance(op, GemmOp) for op in walk(fast)) == (turns > 0)
    for found, wanted in zip(results(fast, turns, schedules=4), results(plain, turns), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_wait_of_one_loop_that_leaves_one_more_in_flight_is_noticed() -> None:
    kernel = expanded(module(BODIES["gemm"], loop="0 to 9 num_stages(3)"), predicate_epilogue=True)
    (wait,) = (op for op in walk(kernel) if isinstance(op, CpAsyncWaitOp))
    assert wait.count == 2
    Rewriter().replace_op(wait, CpAsyncWaitOp(3))
    with pytest.raises(NumpyFault, match="still writes it"):
        results(kernel, 9, schedules=20)


def test_waits_leave_what_runs_ahead_in_flight() -> None:
    kernel = expanded(module(BODIES["gemm"], loop="0 to 9 num_stages(3)"))
    assert [op.count for op in walk(kernel) if isinstance(op, CpAsyncWaitOp)] == [2, 1, 0]


def test_a_loop_without_stages_becomes_serial() -> None:
    kernel = serial(module(BODIES["gemm"], loop="0 to %n num_stages(0)"))
    assert not any(isinstance(op, PipelineOp) for op in walk(kernel))


@pytest.mark.parametrize("which", range(3))
def test_a_wait_that_leaves_one_more_in_flight_is_noticed(which: int) -> None:
    kernel = expanded(module(BODIES["gemm"], loop="0 to 9 num_stages(3)"))
    wait = [op for op in walk(kernel) if isinstance(op, CpAsyncWaitOp)][which]
    Rewriter().replace_op(wait, CpAsyncWaitOp(wait.count + 1))
    with pytest.raises(NumpyFault, match="still writes it"):
        results(kernel, 9, schedules=20)


def test_a_version_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_less(*arguments: Any) -> dict[Any, int]:
        return {buffer: count - 1 for buffer, count in versions_of(*arguments).items()}

    monkeypatch.setattr(automatic, "versions_of", one_less)
    kernel = expanded(module(BODIES["gemm"], loop="0 to 9 num_stages(3)"))
    with pytest.raises(NumpyFault, match="still writes it"):
        results(kernel, 9, schedules=20)


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_planned_loop_in_a_planned_loop() -> None:
    """To the outer plan the inner loop is one statement; it used to be expanded first."""
    inner = f"tile.pipeline %j = 0 to 3 num_stages(2) {{\n{LOAD_B}{GEMM}\n}}"
    kernel = module(LOAD_A + inner, loop="0 to %n num_stages(2)")
    for turns in range(5):
        wanted = results(serial(kernel.clone()), turns)
        same(results(expanded(kernel.clone()), turns, schedules=4), wanted)


def test_two_planned_loops_with_the_same_buffers() -> None:
    """Loops that are expanded already are no other users of a buffer; versions were lost."""
    second = f"""
    tile.pipeline %l = 0 to 4 num_stages(3) {{
      %i = arith.muli %l, %c8 : index
      {LOAD_B}{LOAD_A}{GEMM}
    }}"""
    kernel = module(LOAD_A + LOAD_B + GEMM, after=second, loop="0 to 5 num_stages(3)")
    wanted = results(serial(kernel.clone()), 5)
    same(results(expanded(kernel.clone()), 5, schedules=8), wanted)


def test_a_copy_that_nobody_reads_is_not_left_running() -> None:
    kernel = module(LOAD_A + LOAD_B + SCALE_A, loop="0 to 5 num_stages(2)")
    wanted = results(serial(kernel.clone()), 5)
    same(results(expanded(kernel.clone()), 5, schedules=8), wanted)
