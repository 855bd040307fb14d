"""Settings chosen by the cost model: as good as an exhaustive search, and never a different result."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.analysis.tensix_cost.programs import EXAMPLES, gemm_kernel, zeros
from tilewright.ir.diagnostics import CompileError
from tilewright.report.tenstorrent_cost import candidate_table, cost_text
from tilewright.targets.tenstorrent.choice import AXES, Axes, Chooser

Sizes = tuple[int, int, int]
NEAR = 1.1
"""How much slower than the best of all combinations the choice may be."""

SHAPES: tuple[tuple[Sizes, Sizes, str], ...] = (
    ((256, 256, 256), (32, 32, 32), "4x4"),
    ((512, 512, 512), (64, 64, 64), "4x4"),
    ((512, 512, 256), (128, 128, 64), "2x2"),
    ((1024, 256, 512), (128, 64, 64), "4x4"),
    ((200, 700, 300), (64, 96, 64), "4x3"),
    ((96, 1024, 1024), (32, 128, 128), "8x1"),
    ((1024, 1024, 128), (128, 128, 64), "4x4"),
    ((320, 160, 640), (32, 32, 64), "5x5"),
    ((256, 256, 2048), (128, 128, 128), "2x2"),
    ((64, 64, 512), (32, 32, 64), "1x1"),
)


def _chooser(sizes: Sizes, blocks: Sizes, cores: str, **settings: Any) -> Chooser:
    kernel = gemm_kernel(sizes, blocks, cores, **settings)
    assert kernel.tenstorrent is not None
    return Chooser(kernel.prim_func.module.clone(), kernel.tenstorrent.pipeline())


def _near_the_best(chooser: Chooser, axes: Axes) -> None:
    found = chooser.search(axes)
    searched = len(found.candidates)
    best = chooser.exhaust(axes)
    assert found.best.total is not None
    assert best.best.total is not None
    assert found.best.total <= NEAR * best.best.total
    combinations = len(best.candidates)
    assert searched < combinations or combinations <= 4
    assert best.candidates[0] is best.best


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "blocks", "cores"), SHAPES)
def test_search_is_near_the_best_of_all(sizes: Sizes, blocks: Sizes, cores: str) -> None:
    chooser = _chooser(sizes, blocks, cores)
    _near_the_best(chooser, chooser.axes())


def test_search_is_near_the_best_of_some() -> None:
    chooser = _chooser((256, 192, 128), (64, 64, 64), "2x2")
    axes = chooser.axes(("multicast", "policy", "subblock"))
    assert list(axes) == ["multicast", "policy", "subblock"]
    _near_the_best(chooser, axes)


def test_values_do_not_depend_on_the_choice() -> None:
    rng = np.random.default_rng(11)
    a = rng.standard_normal((100, 96)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((96, 130)).astype(ml_dtypes.bfloat16)
    results: list[bytes] = []
    for choose in (False, True):
        kernel = gemm_kernel((100, 130, 96), (64, 64, 32), "2x2", **{"tt.choose": choose})
        results.append(kernel(a, b).tobytes())
        own = kernel.tenstorrent
        assert own is not None
        assert (own.choice is not None) is choose
    assert results[0] == results[1]


def test_only_open_settings_are_chosen() -> None:
    settings = {"tt.schedule.order": "auto", "tt.schedule.policy": "strided"}
    own = gemm_kernel((128, 128, 64), (32, 32, 32), "2x2", **settings).tenstorrent
    assert own is not None
    assert own.artefact.plan.schedule.policy == "strided"
    assert own.choice is not None
    assert [dict(each.settings) for each in own.choice.candidates] == [
        {"order": order} for order in AXES["order"]
    ]


def test_uneven_blocks_go_to_rectangles() -> None:
    """64 blocks on 56 cores: two blocks on eight cores take as long as two on all of them."""
    chooser = _chooser((256, 256, 256), (32, 32, 32), "8x7")
    choice = chooser.search(chooser.axes(("policy",)))
    assert dict(choice.best.settings) == {"policy": "rect"}
    assert choice.pipeline.policy == "rect"


def test_candidate_that_does_not_compile_has_a_reason() -> None:
    chooser = _chooser((128, 128, 64), (64, 64, 32), "2x2")
    bad = chooser.price({"subblock": "3x1"})
    assert bad.total is None
    assert "TW7001" in bad.problem
    assert "the block has 2 x 2 tiles" in str(bad)
    good = chooser.price({"subblock": "2x1"})
    assert good.plan is not None
    assert good.plan.compute.subblock == (2, 1)


def test_deeper_buffers_take_more_l1() -> None:
    chooser = _chooser((128, 128, 256), (64, 64, 32), "1x1")
    two, four = (chooser.price({"stages": stages}).plan for stages in (2, 4))
    assert two is not None
    assert four is not None
    pages = [[cb.pages for cb in plan.cbs if cb.producer == "reader"] for plan in (two, four)]
    assert pages == [[4, 4], [8, 8]]


def test_unusable_subblock_is_an_error() -> None:
    with pytest.raises(CompileError, match=r"error\[TW7001\]: sub-blocks of 4 x 4 tiles"):
        gemm_kernel((128, 128, 64), (64, 64, 32), "1x1", **{"tt.subblock": "4x4"}).build()


def test_block_sizes_are_chosen_by_the_model() -> None:
    source = EXAMPLES / "gemm.py"
    assert source.is_file()
    kernel = tw.autotune(
        configs=[
            {"block_M": block, "block_N": block, "block_K": 64, "num_stages": 2}
            for block in (32, 64, 128)
        ]
    )(gemm_kernel.jit("4x4"))
    result = kernel.tune(zeros(256, 256), zeros(256, 256), dtype="bfloat16")
    times = {each.config["block_M"]: each.latency for each in result.trials}
    assert all("model, not measured" in each.remark for each in result.trials)
    assert result.config is not None
    assert times[result.config["block_M"]] == min(times.values())
    assert result.config["block_M"] == 64  # 16 blocks on 16 cores


def test_bill_of_a_program() -> None:
    chooser = _chooser((256, 256, 256), (32, 32, 32), "8x7")
    own = chooser.price({})
    assert own.plan is not None
    alternatives = chooser.alternatives(chooser.axes(("policy", "multicast")))
    text = cost_text(own.plan, own.costs[0], None, alternatives)
    assert text.count("model, not measured") == 1
    assert "(0,0) (1,0) ..      8" in text  # eight cores have two blocks
    rows = candidate_table(alternatives).splitlines()
    assert rows[0].split() == ["settings", "cycles", "L1", "bytes", "limited", "by"]
    assert rows[1].startswith("  policy rect")  # the next best choice is better
    assert any(row.startswith("  as compiled") for row in rows)
