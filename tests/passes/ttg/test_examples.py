"""The examples with layouts: the same bits in NumPy, and loops that stay in registers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tlx_examples import NAMES, results
from tilewright.dialects.ttg import ConvertLayoutOp, LocalLoadOp
from tilewright.dialects.ttng import WarpGroupDotOp, WarpGroupDotWaitOp
from tilewright.dialects.type_utils import encoding_of, is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes import PASSES
from tilewright.passes.stock_triton.pipeline import pipeline_text, to_ttgir
from tilewright.passes.ttg.remark_layouts import CONVERSION, OPERAND

HOPPER = [name for name in NAMES if not name.startswith("blackwell")]
STORES_IN_LOOP = {"grouped_gemm"}
"""A tile of C is stored through pointers once a tile: converting it there is what is wanted."""


def capability(name: str) -> int:
    return 100 if name.startswith("blackwell") else 90


def before_stock_triton(module: ModuleOp, name: str) -> None:
    """The pipeline up to the words of stock Triton, which NumPy does not speak."""
    text = pipeline_text(capability=capability(name), num_warps=4)
    passes = parse_pipeline(text[: text.index(",finish-for-stock-triton")])
    engine = DiagnosticEngine()

    def is_sound(*_: object) -> bool:
        verify(module, engine)
        return not engine.has_errors

    assert Pipeline.build(passes, PASSES).run(module, engine, is_sound), engine.diagnostics


QUICK = ("hopper_gemm_ws", "hopper_gemm_persistent", "hopper_gemm_pipelined", "blackwell_gemm_2cta")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_same_bits(name: str) -> None:
    wanted = results(name)
    found = results(name, lambda module: before_stock_triton(module, name))
    for one, other in zip(wanted, found, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


class Traced(Exception):
    """Ends a run of an example once its kernel is known."""


def traced(name: str) -> ModuleOp:
    found: list[ModuleOp] = []

    def keep(module: ModuleOp) -> None:
        found.append(module.clone())
        raise Traced

    with pytest.raises(Traced):
        results(name, keep)
    return found[0]


@pytest.mark.parametrize("name", HOPPER)
def test_loops_stay_in_registers(name: str) -> None:
    module = traced(name)
    waits = [op.pendings.value.data for op in walk(module) if isinstance(op, WarpGroupDotWaitOp)]
    engine = DiagnosticEngine()
    to_ttgir(module, capability=90, num_warps=4, engine=engine)
    assert not engine.has_errors
    verify(module, engine)
    assert not engine.has_errors
    codes = {found.code for found in engine.diagnostics}
    assert OPERAND not in codes
    assert (CONVERSION in codes) is (name in STORES_IN_LOOP)
    # Accumulators are never converted where they are accumulated, and nothing is waited for twice.
    products = [op for op in walk(module) if isinstance(op, WarpGroupDotOp)]
    assert products
    assert not any(isinstance(op.c.owner, ConvertLayoutOp) for op in products)
    assert not any(isinstance(op, LocalLoadOp) for op in walk(module))
    after = [op.pendings.value.data for op in walk(module) if isinstance(op, WarpGroupDotWaitOp)]
    assert after == waits
    for op in walk(module):
        assert not op.name.startswith("tlx.")
        for value in op.results:
            assert not is_tensor(value.type) or encoding_of(value.type) is not None
