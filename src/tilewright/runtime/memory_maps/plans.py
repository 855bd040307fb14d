"""Everything a module allocates, planned: specs as their lowering plans them, the rest as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.memory import Memory, StoragePlan, finding
from tilewright.passes.tlx.storage_alias.bounds import out_of_bounds
from tilewright.passes.tlx.storage_alias.collect import collect, function_of
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.messages import INTERNAL_CODE, Messenger, code_of
from tilewright.passes.tlx.storage_alias.plain import names_in, plain_allocations
from tilewright.passes.tlx.storage_alias.planning import Settings, inference_problems, plan_specs
from tilewright.passes.tlx.storage_alias.recorded import recorded_plans


@dataclass(frozen=True)
class Unlimited(Settings):
    """Settings under which everything fits: what is too large shall be drawn as well."""

    @override
    def capacity(self, memory: Memory) -> int | None:
        return None


@dataclass(frozen=True)
class Allocations:
    """The plans of one kernel in order, their ops, and which are plain, by region."""

    kernel: str
    plans: tuple[StoragePlan, ...]
    ops: Mapping[str, Operation]
    plain: frozenset[str]


def allocations(
    module: ModuleOp, settings: Unlimited, engine: DiagnosticEngine
) -> tuple[Allocations, ...] | None:
    """Plan all of `module`, kernel by kernel; None where that is not possible and reported."""
    collected = collect(module)
    messages = Messenger(engine, settings, report=True)
    unusable = [*inference_problems(collected, settings)]
    for problem in (*collected.problems, *unusable):
        messages.problem(problem)
    if unusable:
        return None
    planned = plan_specs(collected, settings)
    for each in planned:
        messages.about_spec(each, each.findings)
    for op, found in out_of_bounds(collected):
        messages.at(op, found)
    by_op: dict[Operation, StoragePlan] = {
        each.spec.op: each.plan for each in planned if each.plan is not None
    }
    by_op |= _lowered(module, names_in(by_op.values()), engine)
    if engine.has_errors:
        return None
    plain = plain_allocations(module, names_in(by_op.values()), by_op)
    for unsized in plain.unsized:
        engine.warning(unsized.op, finding("R4", reason=unsized.reason).message, code_of("R4"))
    by_op |= plain.plans
    kernels: dict[Operation, dict[Operation, StoragePlan]] = {}
    for op in walk(module):
        if op in by_op:
            kernels.setdefault(function_of(op), {})[op] = by_op[op]
    return tuple(
        Allocations(
            _name_of(function) if len(kernels) > 1 else "",
            tuple(allocated.values()),
            {plan.region.name: op for op, plan in allocated.items()},
            frozenset(plan.region.name for op, plan in allocated.items() if op in plain.plans),
        )
        for function, allocated in kernels.items()
    )


def _name_of(function: Operation) -> str:
    name = function.get_attr_or_prop("sym_name")
    return name.data if isinstance(name, StringAttr) else function.name


def _lowered(
    module: ModuleOp, taken: Iterable[str], engine: DiagnosticEngine
) -> Mapping[Operation, StoragePlan]:
    """The regions that were lowered already, as their records have them, if the module agrees."""
    for fault in verify_module(module).faults:
        diagnostic = engine.error(fault.op, fault.message, INTERNAL_CODE)
        if fault.other is not None:
            diagnostic.note(fault.other, "the other buffer is here")
    if engine.has_errors:
        return {}
    try:
        return recorded_plans(module, taken)
    except ValueError as error:
        engine.error(module, str(error), INTERNAL_CODE)
        return {}
