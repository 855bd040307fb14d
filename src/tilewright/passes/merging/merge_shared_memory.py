"""Let buffers that are never needed together share shared and tensor memory.

Every ``ttg.local_alloc`` and ``ttng.tmem_alloc`` gets its live spans, with holes (see
``analysis.buffer_liveness``), and the planner puts them as low as it can. Buffers that end up over
each other become views of one allocation; all others stay as they are, barriers always::

    %a = ttg.local_alloc : ...     live 3..9         %m = ttg.local_alloc : 49152 bytes
    %b = ttg.local_alloc : ...     live 5..9    →    %a = view of %m at 0
    %c = ttg.local_alloc %x : ...  live 12..15       %b = view of %m at 24576
                                                     %c = view of %m at 0, then a store of %x

Three checks follow, always: the planner's own checker goes over the offsets, the driver verifies
the module, and a trace of the new module (``merging.trace``), which uses neither liveness nor the
plan, looks for a value that is overwritten before it is read. A finding is an internal compiler
error and reported as one.

A group whose allocation would take away scratch memory that layout conversions in between need is
left alone (``merging.scratch``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.buffer_liveness import Conflict, Held
from tilewright.ir.codes.shared import OVERLAPPING_BUFFERS, SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.memory import Memory
from tilewright.memory.planner.check import check_offsets
from tilewright.passes.merging.blocks import Candidate, FunctionPlan, plan_module
from tilewright.passes.merging.groups import Group, groups_of
from tilewright.passes.merging.rewrite import merge
from tilewright.passes.merging.scratch import crowding
from tilewright.passes.merging.trace import check_module
from tilewright.passes.tlx.storage_alias.collect import source_of
from tilewright.passes.tlx.storage_alias.planning import target_of

MERGED = "TW5002"
APART = "TW5003"
LEFT_ALONE = "TW5004"


@dataclass(frozen=True)
class MergeSharedMemory(Pass):
    """Overlay shared- and tensor-memory buffers that are never live together."""

    name = "merge-shared-memory"

    report: bool = False
    """Report for every two buffers that could not share why, and what was left alone."""

    effort: Literal["default", "max"] = "default"
    """How long to plan: a compiler's time, or until no better plan can exist."""

    plan_only: bool = False
    """Report what would be saved and change nothing."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        changed = False
        for plan in plan_module(module, target_of(module), self.effort):
            if not self._accept(plan, engine):
                continue
            groups = self._groups(plan, engine)
            self._remark(plan, groups, engine)
            if self.report:
                _explain(plan, engine)
            if groups and not self.plan_only:
                merge(plan, groups, Rewriter())
                changed = True
        if changed:
            self._prove(module, engine)

    def _accept(self, plan: FunctionPlan, engine: DiagnosticEngine) -> bool:
        """Whether the plan is valid and fits into the memory of the target."""
        for op, reason in plan.unsized:
            engine.warning(op, f"buffer not merged: unknown size: {reason}", LEFT_ALONE)
        for violation in check_offsets(plan.plan.problem, plan.plan.offsets):
            if violation.fault.name != "OVER_CAPACITY":
                engine.error(plan.function, f"{self.name}: {violation}", OVERLAPPING_BUFFERS)
                return False
        for memory in Memory:
            if plan.of(memory) and not plan.plan.of(memory.value).fits:
                _too_large(plan, memory, engine)
                return False
        return True

    def _groups(self, plan: FunctionPlan, engine: DiagnosticEngine) -> tuple[Group, ...]:
        groups = [group for memory in Memory for group in groups_of(plan, memory)]
        crowded = crowding(plan, groups)
        for index, op in crowded.items():
            if self.report:
                names = ", ".join(member.name for member in groups[index].members)
                text = f"{names} not merged: this op needs the memory as scratch"
                engine.remark(op, text, LEFT_ALONE)
        return tuple(group for index, group in enumerate(groups) if index not in crowded)

    def _remark(
        self, plan: FunctionPlan, groups: tuple[Group, ...], engine: DiagnosticEngine
    ) -> None:
        for memory in Memory:
            own = [group for group in groups if group.members[0].memory is memory]
            if not own:
                continue
            saved = sum(group.apart - group.size for group in own)
            unit = memory.unit_name
            count = sum(len(group.members) for group in own)
            text = f"{memory.full_name}: {saved} {unit} saved, {count} buffers share "
            text += f"{sum(group.size for group in own)} {unit}"
            diagnostic = engine.remark(plan.function, text, MERGED)
            for group in own:
                for member, offset in zip(group.members, group.offsets, strict=True):
                    text_at = f"{member.name}: {member.size} {unit} at {offset}"
                    diagnostic.note(member.op, text_at)

    def _prove(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for fault in check_module(module).faults:
            text = f"internal compiler error in {self.name}: {fault}"
            engine.error(fault.op, text, OVERLAPPING_BUFFERS).note(fault.other, "other access")


def _too_large(plan: FunctionPlan, memory: Memory, engine: DiagnosticEngine) -> None:
    space = plan.plan.of(memory.value)
    unit = memory.unit_name
    text = f"{memory.full_name}: {space.height} {unit} needed, {space.space.capacity} available"
    diagnostic = engine.error(plan.function, text, SHARED_MEMORY_EXCEEDED)
    for each in sorted(plan.of(memory), key=plan.offset):
        text_at = f"{each.name}: {each.size} {unit} at {plan.offset(each)}"
        diagnostic.note(each.op, text_at)


def _explain(plan: FunctionPlan, engine: DiagnosticEngine) -> None:
    for memory in Memory:
        for each in plan.of(memory):
            if each.fixed_because and not each.buffer.is_barrier:
                engine.remark(each.op, f"{each.name} not merged: {each.fixed_because}", LEFT_ALONE)
        for one, two, conflict in plan.conflicts(memory):
            text = f"{one.name} and {two.name} cannot share: {conflict_text(one, two, conflict)}"
            engine.remark(two.op, text, APART).note(conflict.at, "both are live here")


def conflict_text(one: Candidate, two: Candidate, conflict: Conflict) -> str:
    """Why two buffers cannot share, in a sentence with source lines."""
    first, second = conflict.reasons
    return f"{one.name} is {_held_text(first)}; {two.name} is {_held_text(second)}"


def _held_text(held: Held) -> str:
    return held.text.format(*_source_lines(held.ops))


def _source_lines(ops: tuple[Operation, ...]) -> Iterator[str]:
    for op in ops:
        source = source_of(op)
        line = source.rpartition(":")[2]
        yield f"{op.name} (line {line})" if source else op.name
