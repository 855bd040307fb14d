"""Plain allocations as ``merge-shared-memory`` would put them, for the picture."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.ttg.checks import memdesc
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.memory import Memory, MemoryMap, RegionMap, Target
from tilewright.memory.map import Interval, MapCell, Row, uncovered
from tilewright.passes.merging.blocks import Candidate, FunctionPlan, plan_module
from tilewright.passes.merging.merge_shared_memory import LEFT_ALONE, conflict_text

REGION = "merged"


def merged_maps(
    module: ModuleOp, target: Target | None, engine: DiagnosticEngine
) -> tuple[MemoryMap, ...]:
    """One map for each memory of each function, with the reasons why buffers are disjoint."""
    plans = plan_module(module, target)
    return tuple(
        _map(plan, memory, target, plan.name if len(plans) > 1 else "", engine)
        for plan in plans
        for memory in Memory
        if plan.of(memory)
    )


def _map(
    plan: FunctionPlan,
    memory: Memory,
    target: Target | None,
    kernel: str,
    engine: DiagnosticEngine,
) -> MemoryMap:
    for op, reason in plan.unsized:
        engine.warning(op, f"not placed: its size is unknown: {reason}", LEFT_ALONE)
    used = plan.needed(memory)
    capacity = None if target is None else target.capacity(memory)
    if capacity is not None and used > capacity:
        text = f"{memory.full_name}: {used} {memory.unit_name} needed, {capacity} available"
        engine.error(plan.function, text, SHARED_MEMORY_EXCEEDED)
    rows = tuple(_row(plan, each) for each in plan.of(memory))
    region = RegionMap(
        REGION,
        "",
        memory,
        used,
        used,
        (),
        rows,
        uncovered(rows, used),
        (),
        max(each.align for each in plan.of(memory)),
        0,
        tuple(_notes(plan, memory)),
    )
    return MemoryMap(
        memory, (region,), used, capacity, "" if target is None else target.name, kernel
    )


def _row(plan: FunctionPlan, each: Candidate) -> Row:
    type = memdesc(each.op.result.type)
    is_array = type.is_pipelined and each.size % type.shape[0] == 0
    count = type.shape[0] if is_array else 1
    unit = each.size // count
    start = plan.offset(each)
    cells = tuple(
        MapCell(index, index, Interval(start + index * unit, start + (index + 1) * unit))
        for index in range(count)
    )
    spans = " ".join(f"{begin}..{end}" for begin, end in each.buffer.spans)
    when = f"in use at ops {spans}" if spans else "never in use"
    return Row(each.name, each.source, each.fixed_because or when, unit, cells)


def _notes(plan: FunctionPlan, memory: Memory) -> Iterator[str]:
    saved = plan.unmerged(memory) - plan.needed(memory)
    status = plan.plan.of(memory.value)
    proof = "no plan needs less" if status.optimal else f"at least {status.lower_bound} are needed"
    yield f"{saved} {memory.unit_name} saved by sharing; {proof}"
    for one, two, conflict in plan.conflicts(memory):
        yield f"{one.name} and {two.name} cannot share: {conflict_text(one, two, conflict)}"
