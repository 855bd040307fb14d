"""Schedules, and why some loops get none."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import parse
from tests.passes.tile.pipelines import GEMM, LOAD_A, LOAD_B, SCALE_A, STORE_D, module
from tilewright.analysis.pipelining import Dependences
from tilewright.dialects.tile import PipelineOp, names
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.passes.tile.bind_target import BindTarget
from tilewright.passes.tile.check_plans import CheckPlans
from tilewright.passes.tile.plan_pipeline import PlanPipeline


def loop_of(kernel: ModuleOp) -> PipelineOp:
    (loop,) = (op for op in walk(kernel) if isinstance(op, PipelineOp))
    return loop


def planned(kernel: ModuleOp) -> str:
    engine = DiagnosticEngine()
    PlanPipeline().run(kernel, engine)
    assert not engine.diagnostics, engine.diagnostics
    plan = loop_of(kernel).plan
    assert plan is not None
    return str(plan.data)


def refused(kernel: ModuleOp) -> tuple[Severity, str | None, str]:
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    PlanPipeline().run(kernel, engine)
    assert loop_of(kernel).plan is None
    (found,) = engine.diagnostics
    return found.severity, found.code, found.message


@pytest.mark.parametrize(
    ("stages", "plan"),
    [
        (1, "stage = [0, 0, 1], order = [1, 2, 0], async = [0, 0, -1], versions = [1, 1, 1]"),
        (2, "stage = [0, 0, 1], order = [0, 1, 2], async = [0, 0, -1], versions = [2, 2, 1]"),
        (3, "stage = [0, 0, 2], order = [0, 1, 2], async = [0, 0, -1], versions = [3, 3, 1]"),
    ],
)
def test_copies_run_ahead(stages: int, plan: str) -> None:
    assert planned(module(LOAD_A + LOAD_B + GEMM, loop=f"0 to %n num_stages({stages})")) == plan


@pytest.mark.parametrize(
    ("arch", "stages", "plan"),
    [
        ("sm_90a", 2, "stage = [0, 0, 1], order = [0, 1, 2], async = [0, 0, -1], versions = [2, 2, 1]"),
        ("sm_90a", 3, "stage = [0, 0, 2], order = [1, 2, 0], async = [0, 0, -1], versions = [3, 3, 1]"),
        ("sm_90a", 4, "stage = [0, 0, 3], order = [1, 2, 0], async = [0, 0, -1], versions = [4, 4, 1]"),
        ("sm_80", 3, "stage = [0, 0, 2], order = [0, 1, 2], async = [0, 0, -1], versions = [3, 3, 1]"),
    ],
)  # fmt: skip
def test_copies_follow_gemms_that_go_on(arch: str, stages: int, plan: str) -> None:
    """As many versions as before; one of them is that of the GEMM before."""
    kernel, engine = _planned_for(arch, stages), DiagnosticEngine()
    found = loop_of(kernel).plan
    assert found is not None
    assert str(found.data) == plan
    CheckPlans().run(kernel, engine)
    assert not engine.diagnostics
    rotating = [op for op in walk(kernel) if names.ROTATING in op.attributes]
    assert len(rotating) == (2 if "order = [1, 2, 0]" in plan else 0)


def test_a_gemm_whose_result_the_loop_reads_does_not_go_on() -> None:
    kernel = _planned_for("sm_90a", 3, "tile.copy %c -> %s : {c} -> {s}")
    found = loop_of(kernel).plan
    assert found is not None
    assert str(found.data) == (
        "stage = [0, 0, 3, 3], order = [1, 2, 0, 3], async = [0, 0, -1, -1], "
        "versions = [3, 3, 1, 1]"
    )
    assert not any(names.ROTATING in op.attributes for op in walk(kernel))


def _planned_for(arch: str, stages: int, more: str = "") -> ModuleOp:
    a, c, s = (
        f"memref<{shape}, #tile.space<{space}>>"
        for shape, space in (
            ("64x64xf16", "shared"),
            ("64x64xf32", "fragment"),
            ("64x64xf32", "shared"),
        )
    )
    box, tensor = "!tile.region<64x64xf16, #tile.space<global>>", "?x64xf16, #tile.space<global>"
    kernel = parse(f"""
func.func @kernel(%A: memref<{tensor}>, %B: memref<{tensor}>, %n: index) attributes {{tile.entry}} {{
  tile.kernel (%bx) in (1) threads(128) {{
    %a = tile.alloc : {a}
    %b = tile.alloc : {a}
    %c = tile.alloc : {c}
    %s = tile.alloc : {s}
    %rows = arith.constant 64 : index
    tile.pipeline %k = 0 to %n num_stages({stages}) {{
      %i = arith.muli %k, %rows : index
      %ra = tile.region %A[%i, 0] [64, 64] : memref<{tensor}> to {box}
      tile.copy %ra -> %a : {box} -> {a}
      %rb = tile.region %B[%i, 0] [64, 64] : memref<{tensor}> to {box}
      tile.copy %rb -> %b : {box} -> {a}
      tile.gemm %a, %b -> %c : {a}, {a} -> {c}
      {more.format(c=c, s=s)}
    }}
  }}
  func.return
}}
""")
    engine = DiagnosticEngine()
    BindTarget(f"cuda:{arch}").run(kernel, engine)
    PlanPipeline(async_gemms=True).run(kernel, engine)
    assert not engine.diagnostics
    return kernel


def test_a_copy_follows_the_last_user_of_its_buffer() -> None:
    body = LOAD_A + SCALE_A + STORE_D + LOAD_B + GEMM.replace("%as", "%bs")
    assert planned(module(body, loop="0 to %n num_stages(2)")) == (
        "stage = [0, 2, 2, 0, 2], order = [2, 0, 1, 4, 3], async = [0, -1, -1, 0, -1], "
        "versions = [2, 1, 2, 1]"
    )


def test_the_author_s_lists() -> None:
    loop = "0 to %n stage(0, 0, 1) order(0, 1, 2)"
    found = planned(module(LOAD_A + LOAD_B + GEMM, loop=loop))
    assert found == "stage = [0, 0, 1], order = [0, 1, 2], versions = [2, 2, 1]"


BROKEN = {
    "length": (
        "stage(0, 1) order(0, 1)",
        "TW4040",
        "stage has 2 entries, expected 3: one for each op of the loop body that reads or writes "
        "memory (T.copy, T.copy, T.gemm)",
    ),
    "backwards": ("stage(1, 0, 0) order(0, 1, 2)", "TW4042", "depends on through"),
    "order": ("stage(0, 0, 0) order(2, 1, 0)", "TW4042", "before one that it depends on"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_lists_that_cannot_be(name: str) -> None:
    lists, code, message = BROKEN[name]
    found = refused(module(LOAD_A + LOAD_B + GEMM, loop=f"0 to %n {lists}"))
    assert found[:2] == (Severity.ERROR, code)
    assert message in found[2]


READ_FIRST = """
tile.gemm %as, %as -> %acc
    : memref<8x8xf32, #shared>, memref<8x8xf32, #shared> -> memref<8x8xf32, #fragment>
"""
WRITE_A = """
%back = tile.region %A[%i, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
tile.copy %acc -> %back : memref<8x8xf32, #fragment> -> !tile.region<8x8xf32, #global>
"""
HALF = """
%half = tile.region %as[0, 0] [4, 8] : memref<8x8xf32, #shared> to !tile.region<4x8xf32, #shared>
%rh = tile.region %A[%i, 0] [4, 8] : memref<?x8xf32, #global> to !tile.region<4x8xf32, #global>
tile.copy %rh -> %half : !tile.region<4x8xf32, #global> -> !tile.region<4x8xf32, #shared>
"""
AFTER = "tile.gemm %as, %as -> %acc : memref<8x8xf32, #shared>, memref<8x8xf32, #shared> -> memref<8x8xf32, #fragment>"
SERIAL = {
    "nothing to copy": (SCALE_A, "", "the loop has no copy from global to shared memory"),
    "carried": (READ_FIRST + LOAD_A, "", "data that an earlier iteration wrote to as"),
    "part": (HALF + READ_FIRST, "", "data that an earlier iteration wrote to as"),
    "outside": (LOAD_A + READ_FIRST, AFTER, "as is also used outside of the loop"),
    "in place": (LOAD_A + READ_FIRST + WRITE_A, "", "schedule violates a loop-carried dependence"),
    "barrier": (
        LOAD_A + "tile.sync\n" + READ_FIRST,
        "",
        "a statement that orders all memory accesses",
    ),
}


@pytest.mark.parametrize("name", SERIAL)
def test_loops_that_stay_serial(name: str) -> None:
    body, after, message = SERIAL[name]
    severity, code, found = refused(module(body, after=after, loop="0 to %n num_stages(3)"))
    assert (severity, code) == (Severity.REMARK, "TW4045")
    assert found.startswith("loop not pipelined: ")
    assert message in found


def test_half_of_the_copies_may_run_ahead() -> None:
    kernel = module(LOAD_A + LOAD_B + GEMM + WRITE_A, loop="0 to %n num_stages(2)")
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    PlanPipeline().run(kernel, engine)
    (remark,) = engine.diagnostics
    assert (remark.severity, remark.code) == (Severity.REMARK, "TW4046")
    assert "its buffer has one slot: schedule violates a loop-carried" in remark.message
    plan = loop_of(kernel).plan
    assert plan is not None
    assert str(plan.data) == (
        "stage = [2, 0, 2, 2], order = [0, 2, 1, 3], async = [-1, 0, -1, -1], "
        "versions = [1, 2, 1, 1]"
    )


CALL = """
scf.for %j = %c0 to %c8 step %c3 {
  %at = tile.ptr_of r %as[%c0, %c0] : memref<8x8xf32, #shared>
  tile.extern "look_at"(%at) : (!tile.ptr<f32, #shared>) -> ()
}
"""


def test_a_call_in_a_serial_loop_accesses_what_its_pointers_reach() -> None:
    """Not everything: the copies of the next iteration run ahead of it."""
    body = LOAD_A + LOAD_B + CALL + GEMM
    assert planned(module(body, loop="0 to %n num_stages(2)")) == (
        "stage = [0, 0, 1, 1], order = [0, 1, 2, 3], async = [0, 0, -1, -1], versions = [2, 2, 1]"
    )


def test_a_barrier_in_a_serial_loop_orders_everything() -> None:
    body = LOAD_A + "scf.for %j = %c0 to %c8 step %c3 {\n tile.sync\n}\n" + READ_FIRST
    assert "orders all memory accesses" in refused(module(body, loop="0 to %n num_stages(2)"))[2]


def test_statements_are_what_others_can_see() -> None:
    dependences = Dependences(loop_of(module(LOAD_A + GEMM, loop="0 to %n num_stages(2)")))
    assert [op.name for op in dependences.ops] == ["tile.copy", "tile.gemm"]
