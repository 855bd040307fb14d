"""Fault injection: wrong plans and wrong kernels are found by the checker or by the bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scripts.raise_survey import example_texts
from tests.passes.raising.levels import Launch, assert_same, on_pointers, on_tiles, parsed, raised
from tilewright.analysis.raising import plan_raising
from tilewright.analysis.raising.check import check_boxes
from tilewright.dialects.tile import GemmOp
from tilewright.dialects.tt import FuncOp
from tilewright.passes.raising.prepare import prepare
from tilewright.passes.tile.raise_to_tile import raise_module
from tilewright.targets.numpy import Buffer


def _text(name: str) -> str:
    (text,) = [text for each, text in example_texts() if each == name]
    return text


MATMUL = "tl/matmul.matmul_kernel.0"
ATTENTION = "tl/attention.attention_kernel.0"


def _plan(name: str):
    module = parsed(_text(name))
    prepare(module)
    (function,) = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    return plan_raising(function)


@pytest.mark.parametrize("name", [MATMUL, ATTENTION])
def test_plans_are_right(name: str) -> None:
    assert check_boxes(_plan(name)) == []


def _with_view(plan, index: int, **changes):
    views = list(plan.views)
    views[index] = replace(views[index], **changes)
    return replace(plan, views=tuple(views))


def test_a_shifted_extent_is_found() -> None:
    plan = _plan(MATMUL)
    view = plan.views[2]
    wrong = _with_view(plan, 2, extents=(view.extents[0] + 1, view.extents[1]))
    assert any("does not respect its mask" in problem for problem in check_boxes(wrong))


def test_swapped_strides_are_found() -> None:
    plan = _plan(MATMUL)
    wrong = _with_view(plan, 2, strides=plan.views[2].strides[::-1])
    assert any("elements off" in problem for problem in check_boxes(wrong))


def test_a_moved_origin_is_found() -> None:
    plan = _plan(ATTENTION)
    wrong = _with_view(plan, 0, origin=plan.views[0].origin + 1)
    assert any("elements off" in problem for problem in check_boxes(wrong))


def test_a_dropped_mask_is_found() -> None:
    plan = _plan(ATTENTION)
    view = plan.views[1]
    wrong = _with_view(plan, 1, extents=(view.extents[0], None, view.extents[2]))
    assert any("does not respect its mask" in problem for problem in check_boxes(wrong))


def _matmul_launch(m: int, n: int, k: int, pad: int = 0) -> Launch:
    rng = np.random.default_rng(m * 7 + n)
    a = rng.standard_normal((m, k + pad)).astype(np.float16)
    b = rng.standard_normal((k, n + pad)).astype(np.float16)
    c = np.full((m, n + pad), np.nan, np.float16)
    grid = (-(-m // 64) * -(-n // 64),)
    buffers = [Buffer("a", a), Buffer("b", b), Buffer("c", c)]
    strides = [k + pad, n + pad, n + pad]
    return Launch(_text(MATMUL), grid, [*buffers, m, n, k, *strides])


@pytest.mark.parametrize(
    ("m", "n", "k", "pad"),
    [(1, 1, 1, 0), (65, 63, 33, 0), (64, 64, 32, 8), (67, 131, 61, 5), (3, 70, 100, 1)],
)
def test_sizes_and_strides_of_a_gemm(m: int, n: int, k: int, pad: int) -> None:
    launch = _matmul_launch(m, n, k, pad)
    expected, _ = on_pointers(launch)
    actual, _ = on_tiles(raised(launch.text), launch)
    assert_same(expected, actual)


def test_an_accumulator_that_is_cleared_is_found() -> None:
    launch = _matmul_launch(64, 64, 96)
    kernel = raised(launch.text)
    for op in kernel.module.walk():
        if isinstance(op, GemmOp):
            op.properties["clear"] = GemmOp(op.a, op.b, op.c, clear=True).properties["clear"]
    expected, _ = on_pointers(launch)
    actual, _ = on_tiles(kernel, launch)
    with pytest.raises(AssertionError, match="elements differ"):
        assert_same(expected, actual)


def test_sharing_a_live_buffer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The running maximum is read after its new value is written: one buffer for both is wrong."""
    from tests.passes.raising.launches import example_launches
    from tilewright.analysis.raising import slots

    (_, launch), *_ = example_launches("attention")
    expected, _ = on_pointers(launch)
    monkeypatch.setattr(slots._Assigner, "_may_overwrite", lambda self, value, argument: True)
    actual, _ = on_tiles(raise_module(parsed(launch.text)), launch)
    with pytest.raises(AssertionError, match="elements differ"):
        assert_same(expected, actual)


def test_assumptions_are_listed() -> None:
    kernel = raised(_text("tl/vector_add.add_kernel.0"))
    assert any("1024*pid0" in str(each) for each in kernel.assumptions)
