"""Steps 1 and 2 of the lowering: the size of each region, and the offset of every buffer.

All arithmetic is ``memory.plan``'s; here are the calls. The capacity of a target is read from
the module, which names one; without a name shared memory is taken to be unlimited, and tensor
memory to be that of the only architecture that has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, i64

from tilewright.dialects.tlx import ReuseGroupOp, leaves_of
from tilewright.dialects.ttg.context import TARGET
from tilewright.memory import (
    Finding,
    LiveRanges,
    Memory,
    Mode,
    Options,
    PlanResult,
    StoragePlan,
    Target,
    finding,
    infer_overlap,
    plan_region,
    plan_with_fallback,
    target_named,
)
from tilewright.passes.tlx.storage_alias.collect import (
    Collected,
    Spec,
    SpecError,
    has_repetitions,
)
from tilewright.passes.tlx.storage_alias.liveness import live_ranges

ANY_TMEM_TARGET = "sm_100"

PlacementName = Literal["reindex", "explicit", "auto"]


_MODES: Mapping[PlacementName, tuple[Mode, ...]] = {
    "reindex": (Mode.REINDEX,),
    "explicit": (Mode.EXPLICIT,),
    "auto": (Mode.REINDEX, Mode.EXPLICIT),
}


@dataclass(frozen=True)
class Settings:
    """How to plan: the options of the pass, and the target."""

    placement: PlacementName = "reindex"
    infer_overlap: bool = False
    multi_overlap: bool = False
    target: Target | None = None

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The ways to make addresses real, the preferred one first."""
        return _MODES[self.placement]

    def capacity(self, memory: Memory) -> int | None:
        """The capacity of `memory`; None if it is unknown."""
        if self.target is not None:
            return self.target.capacity(memory)
        return target_named(ANY_TMEM_TARGET).tmem_columns if memory is Memory.TMEM else None


@dataclass(frozen=True)
class Planned:
    """A spec with the result of planning."""

    spec: Spec
    result: PlanResult
    live: LiveRanges | None = None

    @property
    def plan(self) -> StoragePlan | None:
        return self.result.plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.result.findings


def target_of(module: ModuleOp) -> Target | None:
    """The target that the module names, if it is a known one."""
    name = module.attributes.get(TARGET)
    if not isinstance(name, StringAttr):
        return None
    try:
        return target_named(name.data)
    except LookupError:
        return None


def inference_problems(collected: Collected, settings: Settings) -> Iterator[SpecError]:
    """Groups from which no overlap can be inferred: of each spec the first one."""
    if not settings.infer_overlap:
        return
    for spec in collected.specs:
        for group in spec.groups:
            rule = _broken_rule(group, collected)
            if rule is not None:
                yield SpecError(group, finding(rule).message, 0, rule)
                break


def _broken_rule(group: ReuseGroupOp, collected: Collected) -> str | None:
    if has_repetitions(group):
        return "V3"
    is_known = all(leaf in collected.buffers for leaf in leaves_of(group.result))
    return None if is_known else "V6"


def plan_specs(collected: Collected, settings: Settings) -> list[Planned]:
    """Plan every spec of a module, but those with allocations that were not understood."""
    return [_plan_spec(spec, collected, settings) for spec in collected.specs if spec.is_understood]


def _plan_spec(spec: Spec, collected: Collected, settings: Settings) -> Planned:
    capacity = settings.capacity(spec.region.memory)
    options = Options(settings.modes[0], multi_overlap=settings.multi_overlap, capacity=capacity)
    if settings.infer_overlap:
        inference = infer_overlap(spec.region, collected.groups_of(spec), options)
        if any(found.is_error for found in inference.findings):
            return Planned(spec, PlanResult(None, inference.findings))
        spec = spec.with_region(inference.region)
    if len(spec.region.phases) > 1:
        options = replace(options, live=live_ranges(spec))
    plan = plan_with_fallback if settings.placement == "auto" else plan_region
    result = plan(spec.region, options)
    if len(spec.region.buffers) > 1 and not spec.region.phases:
        alike = finding("W6", spec.region.name, count=len(spec.region.buffers))
        result = replace(result, findings=(*result.findings, alike))
    return Planned(spec, result, options.live)


def define_size(planned: Planned) -> None:
    """Write the size of the region on its spec, as attributes that step 3 reads."""
    if planned.plan is None:
        return
    backing, op = planned.plan.backing, planned.spec.op
    op.properties["buffer_size_bytes"] = IntegerAttr(backing.size_bytes, i64)
    op.properties["buffer_shape"] = DenseArrayBase.from_list(i64, backing.shape)
