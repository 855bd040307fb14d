"""Everything a module allocates, planned: specs as their lowering plans them, the rest as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.memory import Buffer, Memory, StoragePlan, plain_region, plan_region
from tilewright.passes.tlx.storage_alias.buffers import buffer_of, memory_of
from tilewright.passes.tlx.storage_alias.collect import Names, collect, source_of
from tilewright.passes.tlx.storage_alias.messages import GENERAL_CODE, Messenger
from tilewright.passes.tlx.storage_alias.planning import Settings, plan_specs


@dataclass(frozen=True)
class Unlimited(Settings):
    """Settings under which everything fits: what is too large shall be drawn as well."""

    @override
    def capacity(self, memory: Memory) -> int | None:
        return None


@dataclass(frozen=True)
class Allocations:
    """Plans in the order of the module, the ops behind them, and which are plain, by region."""

    plans: tuple[StoragePlan, ...]
    ops: Mapping[str, Operation]
    plain: frozenset[str]


def allocations(
    module: ModuleOp, settings: Unlimited, engine: DiagnosticEngine
) -> Allocations | None:
    """Plan all of `module`; None where that is not possible, with the reasons reported."""
    collected = collect(module)
    messages = Messenger(engine, settings, report=True)
    for problem in collected.problems:
        messages.problem(problem)
    planned = plan_specs(collected, settings)
    for each in planned:
        messages.about_spec(each, each.findings)
    by_op: dict[Operation, StoragePlan] = {
        each.spec.op: each.plan for each in planned if each.plan is not None
    }
    plain = dict(_plain(module, _names(by_op), engine))
    if engine.has_errors:
        return None
    by_op |= plain
    found = [(op, by_op[op]) for op in walk(module) if op in by_op]
    return Allocations(
        tuple(plan for _, plan in found),
        {plan.region.name: op for op, plan in found},
        frozenset(plan.region.name for plan in plain.values()),
    )


def _names(specs: Mapping[Operation, StoragePlan]) -> frozenset[str]:
    """Names that are given away already."""
    regions = [plan.region for plan in specs.values()]
    buffers = [buffer.name for region in regions for buffer in region.buffers]
    return frozenset([*buffers, *(region.name for region in regions)])


def _plain(
    module: ModuleOp, taken: Set[str], engine: DiagnosticEngine
) -> Iterator[tuple[Operation, StoragePlan]]:
    names = Names()
    for op in walk(module):
        if not isinstance(op, LocalAllocOp | TMEMAllocOp):
            continue
        name = names.of(op.result, "allocation")
        while name in taken:
            name = names.of(op.result, "allocation")
        try:
            buffer = _buffer(op, name)
        except ValueError as error:
            engine.error(op, str(error), GENERAL_CODE)
            continue
        yield op, plan_region(plain_region(buffer)).unwrap()


def _buffer(op: LocalAllocOp | TMEMAllocOp, name: str) -> Buffer:
    """The array behind an allocation, which may be a single tile without a dimension to count."""
    type = memdesc(op.result.type)
    if memory_of(type) is Memory.TMEM or type.is_pipelined:
        return buffer_of(name, type, source_of(op))
    single = type.with_shape((1, *type.shape))
    return replace(buffer_of(name, single, source_of(op)), is_indexed=False)
