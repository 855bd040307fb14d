"""Expanded loops leave the same terms as serial ones; expansions that are broken do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.dialects.builtin import IndexType, ModuleOp

from tests.passes.pass_support import apply
from tests.passes.tile.pipelines import GEMM, LOAD_A, LOAD_B, module
from tests.passes.tile.test_expand_pipeline import BODIES
from tilewright.analysis.dataflow_terms import terms_of
from tilewright.dialects.arith import AddiOp, ConstantOp
from tilewright.dialects.tile import AsyncCopyOp, CopyOp, GemmOp, KernelOp, RegionOp, SlotOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.check_pipeline import CheckPipeline, compare
from tilewright.passes.tile.clone_ops import copy_op


def planned(name: str, stages: int) -> ModuleOp:
    return apply(module(BODIES[name], loop=f"%lo to %n num_stages({stages})"), "plan-pipeline")


def kernel_of(found: ModuleOp) -> KernelOp:
    (kernel,) = (op for op in walk(found) if isinstance(op, KernelOp))
    return kernel


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("name", BODIES)
def test_expansions_of_the_compiler_are_proved(name: str, stages: int) -> None:
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    CheckPipeline().run(planned(name, stages), engine)
    assert not engine.diagnostics


def test_terms_tell_turns_and_bodies_apart() -> None:
    seen = {terms_of(kernel_of(planned("gemm", 2)), turns) for turns in range(5)}
    assert len(seen) == 5
    other = apply(module(LOAD_B + LOAD_A + GEMM, loop="%lo to %n num_stages(2)"), "plan-pipeline")
    assert terms_of(kernel_of(other), 3) not in seen


def mutants(stages: int) -> Iterator[tuple[str, KernelOp, KernelOp]]:
    """Serial kernels, and expansions in which one op is wrong."""
    serial = planned("gemm", stages)
    expanded = copy_op(serial, {})
    assert isinstance(expanded, ModuleOp)
    apply(expanded, "expand-pipeline", "dce")  # what nobody uses cannot be wrong
    count = len(list(walk(expanded)))
    for number in range(count):
        copy = copy_op(expanded, {})
        assert isinstance(copy, ModuleOp)
        op = list(walk(copy))[number]
        if isinstance(op, SlotOp):
            _shift(op, 1)
        elif isinstance(op, CopyOp | AsyncCopyOp | GemmOp):
            Rewriter().erase(op)
        elif isinstance(op, RegionOp):
            one = ConstantOp.of(1, IndexType())
            offset = op.offsets[0]
            assert not isinstance(offset, int)
            moved = AddiOp(offset, one)
            made = RegionOp(op.base, [moved.results[0], *op.offsets[1:]], op.extents)
            Rewriter().replace_op(op, [one, moved, made])
        else:
            continue
        yield f"{op.name} {number}", kernel_of(serial), kernel_of(copy)


def _shift(op: SlotOp, index: int) -> None:
    """Another slot than the others of its kind use: one that does not exist."""
    one = ConstantOp.of(7, IndexType())
    moved = AddiOp(op.operands[index], one)
    Rewriter().insert_before(op, [one, moved])
    op.operands[index] = moved.results[0]


@pytest.mark.parametrize("stages", [2, 3])
def test_broken_expansions_are_caught(stages: int) -> None:
    missed: list[str] = []
    count = 0
    for name, serial, broken in mutants(stages):
        count += 1
        engine = DiagnosticEngine()
        if compare(serial, broken, engine):
            missed.append(name)
        else:
            assert engine.diagnostics[0].code == "TW9015"
    assert count >= 10
    assert not missed
