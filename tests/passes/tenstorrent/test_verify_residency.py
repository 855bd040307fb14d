"""`verify-tt` finds panels that a block must not use, and plans that differ from the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_residency import gemm
from tests.passes.tenstorrent.test_verify import in_plan
from tilewright.dialects.arith import ConstantOp, OriOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tensix import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.verify_tt import VerifyTt

Change = Callable[[ModuleOp], None]


@pytest.fixture
def program() -> ModuleOp:
    """3 x 4 blocks on 2 cores; A stays in L1 while a core stays in a row."""
    module, plan = compiled(gemm(3, 4, 2).prim_func.module, cores="2x1", residency="on")
    assert plan.residency is not None
    assert [each.tensor for each in plan.residency.panels] == ["A"]
    return module


def conditions(module: ModuleOp) -> list[IfOp]:
    """The branches of reader and compute: loads and pops of the panel."""
    return [op for kernel in module.ops for op in walk(kernel) if isinstance(op, IfOp)]


def never_reloaded(module: ModuleOp) -> None:
    """Loaded in the first block and popped in the last: balanced, and wrong."""
    for op in conditions(module):
        test = op.condition.owner
        assert isinstance(test, OriOp)
        op.operands[0] = test.operands[0]


def always_loaded(module: ModuleOp) -> None:
    """Loaded and popped in every block: right, but not what the plan has."""
    for op in conditions(module):
        true = ConstantOp.of(1, op.condition.type)
        assert op.parent is not None
        op.parent.insert_op_before(true, op)
        op.operands[0] = true.results[0]


def of_panel(edit: Callable[[dict[str, Any]], None]) -> Change:
    return in_plan(lambda data: edit(data["residency"]["panels"][0]))


FAULTS: dict[str, tuple[Change, str]] = {
    "never loaded again": (
        never_reloaded,
        "core (0, 0) does not load 'A' in its block 4, and circular buffer 0 holds other pages, of "
        "block 0",
    ),
    "loaded in every block": (
        always_loaded,
        "the readers load the panel of 'A' in circular buffer 0 12 times, the plan has 4 for 12 "
        "blocks",
    ),
    "other pages": (
        of_panel(lambda panel: panel.update(pages=4)),
        "1 panels of 4 pages of 'A' stay in circular buffer 0, which has 2 pages",
    ),
    "other copies": (
        of_panel(lambda panel: panel.update(copies=3)),
        "3 panels of 2 pages of 'A' stay in circular buffer 0, which has 2 pages",
    ),
    "no circular buffer": (
        of_panel(lambda panel: panel.update(cb=9)),
        "1 panels of 2 pages of 'A' stay in circular buffer 9, which is not declared",
    ),
    "other loads": (
        of_panel(lambda panel: panel.update(loads=5)),
        "the readers load the panel of 'A' in circular buffer 0 4 times, the plan has 5 for 12 "
        "blocks",
    ),
}


def test_a_compiled_program_is_clean(program: ModuleOp) -> None:
    engine = DiagnosticEngine()
    VerifyTt().run(program, engine)
    assert not engine.diagnostics


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults(program: ModuleOp, fault: str) -> None:
    change, message = FAULTS[fault]
    change(program)
    engine = DiagnosticEngine()
    VerifyTt().run(program, engine)
    assert [(str(each.code), each.message) for each in engine.diagnostics] == [("TW7120", message)]


@pytest.mark.parametrize(("role", "code"), [("reader", "TW7108"), ("compute", "TW7108")])
def test_one_kernel_alone_is_not_balanced(program: ModuleOp, role: str, code: str) -> None:
    kernel = next(op for op in program.ops if isinstance(op, KernelOp) and op.role.value == role)
    (branch,) = [op for op in walk(kernel) if isinstance(op, IfOp)]
    test = branch.condition.owner
    assert isinstance(test, OriOp)
    branch.operands[0] = test.operands[0]
    engine = DiagnosticEngine()
    VerifyTt().run(program, engine)
    assert {str(each.code) for each in engine.diagnostics} == {code}
