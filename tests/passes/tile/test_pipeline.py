"""The order of the front half, and what its options change."""

from __future__ import annotations

from tests.passes.tile.pipelines import GEMM, LOAD_A, LOAD_B, module
from tilewright.dialects.tile import PipelineOp, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes import PASSES, expanded
from tilewright.passes.tile.pipeline import TilePipeline, tile_passes

ORDER = (
    *("bind-target", "canonicalize", "cse", "normalize-indices"),
    *("raise-thread-ranges", "widen-fragments"),
    *("wrap-scalar-fragment-access", "wrap-block-atomics", "inject-assumes", "simplify-fills"),
    *("check-buffer-init", "check-reducers", "plan-storage-alias"),
    *("split-guards", "unroll-fragment-loops", "expand-explicit-unroll"),
    *("raise-copy-loops", "version-roles"),
    *("specialize-warps", "check-barriers"),
    *("plan-pipeline", "check-plans", "expand-pipeline"),
    *("canonicalize", "cse", "check-barriers"),
)


def names(options: TilePipeline | None = None) -> list[str]:
    return [each.name for each in tile_passes(options)]


def test_the_order() -> None:
    assert names() == list(ORDER)
    assert {*names(TilePipeline(check_races=True, check_pipelines=True))} <= {*PASSES}


def test_options_add_and_drop_passes() -> None:
    races = names(TilePipeline(check_races=True))
    assert races.index("check-parallel-races") + 1 == races.index("check-buffer-init")
    proved = names(TilePipeline(check_pipelines=True))
    assert proved.index("check-pipeline") + 1 == proved.index("expand-pipeline")
    assert "check-buffer-init" not in names(TilePipeline(check_init=False))
    plain = names(TilePipeline(warp_specialize=False))
    assert "specialize-warps" not in plain
    assert plain.count("check-barriers") == 1
    (plan,) = (
        p for p in tile_passes(TilePipeline(target="hip:gfx942")) if p.name == "plan-pipeline"
    )
    assert str(plan) == "plan-pipeline{async-copies=false async-gemms=false report=false}"


def test_as_one_pass_and_as_many() -> None:
    whole = TilePipeline(warp_specialize=False)
    assert [str(each) for each in expanded([whole])] == [str(each) for each in whole.passes()]
    body = LOAD_A + LOAD_B + GEMM
    kernel = module(body, loop="0 to %n num_stages(2)")
    engine = DiagnosticEngine()
    TilePipeline().run(kernel, engine)
    assert not engine.error_count
    assert any(isinstance(op, WsOp) for op in walk(kernel))
    assert not any(isinstance(op, PipelineOp) for op in walk(kernel))


def test_an_error_is_the_end() -> None:
    engine = DiagnosticEngine()
    kernel = module(LOAD_A + GEMM, loop="0 to %n num_stages(2)")  # nobody writes the other operand
    TilePipeline().run(kernel, engine)
    engine.flush()
    assert [each.code for each in engine.diagnostics] == ["TW3040"]
    assert any(isinstance(op, PipelineOp) for op in walk(kernel))
