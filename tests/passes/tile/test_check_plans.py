"""Plans of the compiler are proved; plans in which a number is wrong are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.passes.pass_support import apply
from tests.passes.tile.pipelines import module
from tests.passes.tile.test_check_pipeline import kernel_of
from tests.passes.tile.test_expand_pipeline import BODIES
from tilewright.analysis.dataflow_terms import terms_of
from tilewright.dialects.tile import PipelineOp, PipelinePlanAttr
from tilewright.dialects.tile.attributes import PlannedPipeline
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.passes.tile.check_plans import CheckPlans
from tilewright.passes.tile.clone_ops import copy_op

STAGES = (2, 3, 4)


def planned(name: str, stages: int):
    return apply(module(BODIES[name], loop=f"%lo to %n num_stages({stages})"), "plan-pipeline")


def problems(found) -> list[str | None]:
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    CheckPlans().run(found, engine)
    return [each.code for each in engine.diagnostics]


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("name", BODIES)
def test_plans_of_the_compiler_are_proved(name: str, stages: int) -> None:
    assert problems(planned(name, stages)) == []


def mutants(plan: PlannedPipeline) -> Iterator[PlannedPipeline]:
    """A version less, a stage more or less, two statements that change places."""
    for number, count in enumerate(plan.versions):
        if count > 1:
            yield replace(plan, versions=_with(plan.versions, number, count - 1))
    for number, stage in enumerate(plan.stage):
        for other in (stage - 1, stage + 1):
            if other >= 0:
                yield replace(plan, stage=_with(plan.stage, number, other))
    for first in range(len(plan.order)):
        for second in range(first):
            swapped = _with(plan.order, first, plan.order[second])
            yield replace(plan, order=_with(swapped, second, plan.order[first]))


def _with(values: tuple[int, ...], number: int, value: int) -> tuple[int, ...]:
    return (*values[:number], value, *values[number + 1 :])


@pytest.mark.parametrize(
    "stages", [2, *(pytest.param(each, marks=pytest.mark.slow) for each in STAGES[1:])]
)
@pytest.mark.parametrize("name", BODIES)
def test_wrong_plans_are_noticed(name: str, stages: int) -> None:
    """Wrong is what leaves other values behind, element by element, once it is expanded."""
    right = planned(name, stages)
    serial = [terms_of(kernel_of(right), turns) for turns in range(2 * stages + 2)]
    (loop,) = (op for op in walk(right) if isinstance(op, PipelineOp))
    if loop.plan is None:
        return
    for plan in mutants(loop.plan.data):
        copy = copy_op(right, {})
        (other,) = (op for op in walk(copy) if isinstance(op, PipelineOp))
        other.properties["plan"] = PipelinePlanAttr(plan)
        found = problems(copy)
        try:
            apply(copy, "expand-pipeline")
        except CompileError:
            continue  # a value is used where it is not there: the verifier says so
        terms = [terms_of(kernel_of(copy), turns) for turns in range(2 * stages + 2)]
        if terms != serial:
            assert found == ["TW9016"], plan
