"""Prove that the schedules of pipelined loops give every statement the data of the serial loop.

Runs between `plan_pipeline` and `expand_pipeline`, on every compilation. A few iterations of a
planned loop are executed twice, statement by statement: serially, and in the order and with the
versions of the plan. What a statement computes is a term, built from its index, its iteration and
the terms in the buffers it reads; buffers hold the terms of their last writers. If a term differs,
a statement sees other data than in the serial loop: an internal compiler error (TW9016).

A write to a whole buffer replaces what was there, others add to it. `check_pipeline`, which looks
at elements and at the loops as they are expanded, proves more and costs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tile import PipelineOp
from tilewright.dialects.tile.attributes import PlannedPipeline
from tilewright.dialects.tile.interfaces import reads, scheduled_ops, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

DIFFERS = "TW9016"


@dataclass(frozen=True)
class CheckPlans(Pass):
    """Prove that planned loops see the same data as the serial loops."""

    name = "check-plans"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in walk(module):
            if isinstance(loop, PipelineOp) and loop.plan is not None:
                wrong = _first_difference(loop, loop.plan.data)
                if wrong is not None:
                    op, iteration = wrong
                    engine.error(
                        op,
                        "internal compiler error: pipeline plan violates a dependence: "
                        f"in iteration {iteration} this statement would read data of "
                        "another iteration",
                        DIFFERS,
                    ).note(loop, "in this loop")


@dataclass(frozen=True)
class _Statement:
    """What a statement does to buffers."""

    op: Operation
    reads: tuple[SSAValue, ...]
    fills: tuple[SSAValue, ...]
    changes: tuple[SSAValue, ...]


def _statement(op: Operation) -> _Statement:
    written = writes(op)
    whole = {region.base for region in written if region.is_whole}
    return _Statement(
        op,
        tuple(dict.fromkeys(region.base for region in reads(op))),
        tuple(whole),
        tuple({region.base for region in written} - whole),
    )


@dataclass
class _Run:
    """Terms by id: equal terms have equal ids."""

    ids: dict[tuple[object, ...], int]
    """Shared by the two runs that are compared."""
    held: dict[tuple[SSAValue, int], int] = field(default_factory=dict[tuple[SSAValue, int], int])
    made: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """The term of a statement in an iteration."""

    def _id_of(self, *term: object) -> int:
        return self.ids.setdefault(term, len(self.ids))

    def step(
        self, position: int, iteration: int, each: _Statement, slots: dict[SSAValue, int]
    ) -> None:
        def slot(buffer: SSAValue) -> tuple[SSAValue, int]:
            return buffer, iteration % slots.get(buffer, 1)

        seen = [self.held.get(slot(buffer), -1) for buffer in each.reads]
        term = self.made[position, iteration] = self._id_of(position, iteration, *seen)
        for buffer in each.fills:
            self.held[slot(buffer)] = term
        for buffer in each.changes:
            before = self.held.get(slot(buffer), -1)
            self.held[slot(buffer)] = self._id_of(term, "over", before)


def _first_difference(loop: PipelineOp, plan: PlannedPipeline) -> tuple[Operation, int] | None:
    statements = [_statement(op) for op in scheduled_ops(loop)]
    slots = _versions(statements, plan)
    iterations = 2 * (max((*plan.stage, *slots.values()), default=0) + 1)
    ids: dict[tuple[object, ...], int] = {}
    serial, planned = _Run(ids), _Run(ids)
    every = [
        (iteration, position)
        for iteration in range(iterations)
        for position in range(len(statements))
    ]
    for iteration, position in every:
        serial.step(position, iteration, statements[position], {})
    for iteration, position in _in_time(every, plan):
        planned.step(position, iteration, statements[position], slots)
    for iteration, position in every:
        if serial.made[position, iteration] != planned.made[position, iteration]:
            return statements[position].op, iteration
    return None


def _in_time(every: Iterable[tuple[int, int]], plan: PlannedPipeline) -> list[tuple[int, int]]:
    """Iterations and statements in the order of the plan."""

    def when(each: tuple[int, int]) -> tuple[int, int]:
        iteration, position = each
        return iteration + plan.stage[position], plan.order[position]

    return sorted(every, key=when)


def _versions(statements: Sequence[_Statement], plan: PlannedPipeline) -> dict[SSAValue, int]:
    """How many versions of a buffer there are, as `expand_pipeline` reads the plan."""
    written = dict.fromkeys(region.base for each in statements for region in writes(each.op))
    if not plan.versions:
        return {}
    return dict(zip(written, plan.versions, strict=True))
