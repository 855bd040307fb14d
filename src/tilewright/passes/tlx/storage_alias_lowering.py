"""Replace storage-alias specs by one allocation each, and their buffers by views of it.

    distinct(%a, %b) of %spec      %m = ttg.local_alloc : () -> 65536xi8
    %a[%i], %b[%i]            →    %a = tlx.local_alias %m, %a[2 * %i]
                                   %b = tlx.local_alias %m, %b[2 * %i + 1]

Three steps, over the whole module, and the first that finds an error is the last:

1. how large each region is;
2. the offset of every buffer in it, from the tree of reuse groups;
3. the allocation, the views, new types and indices wherever the arrays travel.

Afterwards the lowered module itself is checked against the guarantees of the trees, by code that
does not use the planner. A violation is an internal compiler error and reported as one.

A module without specs is not changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.memory import Finding, check_plan
from tilewright.passes.tlx.storage_alias.bounds import out_of_bounds
from tilewright.passes.tlx.storage_alias.collect import Collected, collect
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.legacy import Retired, retire_reuse
from tilewright.passes.tlx.storage_alias.materialise import (
    Lowering,
    drop_specs,
    materialise,
    shape_problems,
)
from tilewright.passes.tlx.storage_alias.messages import INTERNAL_CODE, Messenger
from tilewright.passes.tlx.storage_alias.planning import (
    PlacementName,
    Planned,
    Settings,
    define_size,
    inference_problems,
    plan_specs,
    target_of,
)
from tilewright.passes.tlx.storage_alias.record import drop_records
from tilewright.passes.tlx.storage_alias.report import suggestions, waste

_STEPS = (0, 1, 2, 3)


@dataclass(frozen=True)
class StorageAliasLowering(Pass):
    """Give every buffer of a spec its offset in one allocation."""

    name = "tlx-storage-alias-lowering"

    placement: PlacementName = "reindex"
    """How an offset becomes an address: by new indices, or outright (``tlx.placed_alias``).
    ``auto`` prefers indices and reports where they are not possible."""

    infer_overlap: bool = False
    """Infer overlaps from reuse groups where there is no ``set_buffer_overlap``."""

    multi_overlap: bool = False
    """Allow several overlap definitions over one spec, disjoint in time by liveness."""

    implicit_spec: bool = False
    """Rewrite reuse of a plain buffer (``tlx.local_alias``) to a spec first."""

    report: bool = False
    """Warn where upstream does not, and report where sharing is not needed."""

    define_sizes: bool = True
    """Do step 1. Without it, specs must have the ``buffer_shape`` that it leaves on them."""

    record: bool = True
    """Leave ``tlx.placement`` on the views, which ``tlx-verify-storage-alias`` needs."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        settings = Settings(
            self.placement, self.infer_overlap, self.multi_overlap, target_of(module)
        )
        _Run(self, module, engine, settings).run()


class _Run:
    """One run of the pass."""

    def __init__(
        self,
        options: StorageAliasLowering,
        module: ModuleOp,
        engine: DiagnosticEngine,
        settings: Settings,
    ) -> None:
        self.options = options
        self.module = module
        self.engine = engine
        self.settings = settings
        self.messages = Messenger(engine, settings, options.report)
        self.rewriter = Rewriter()
        self.retired = Retired()

    def run(self) -> None:
        if self.options.implicit_spec and not self._retire_reuse():
            return
        collected = collect(self.module)
        if not collected.specs and not collected.problems:
            return
        unusable = list(inference_problems(collected, self.settings))
        for problem in unusable:
            self.messages.problem(problem)
        if unusable:
            return
        planned = plan_specs(collected, self.settings)
        if self._has_errors(collected, planned) or self._fail(list(out_of_bounds(collected))):
            return
        self._report_warnings(planned)
        used = [each for each in planned if each.plan is not None]
        if self.options.report:
            self._advise(used)
        unused = [each.spec for each in planned if each.plan is None]
        if not self._fail(drop_specs(unused, self.rewriter)):
            self._lower(used)

    def _retire_reuse(self) -> bool:
        self.retired = retire_reuse(self.module, self.rewriter)
        for problem in self.retired.problems:
            self.messages.problem(problem)
        for op, found in self.retired.findings:
            self.messages.at(op, found)
        return not self.retired.problems

    def _has_errors(self, collected: Collected, planned: list[Planned]) -> bool:
        """Report the errors of the first step that has any."""
        for step in _STEPS:
            problems = [each for each in collected.problems if each.step == step]
            errors = [
                (each, [f for f in each.findings if f.is_error and f.step == step])
                for each in planned
            ]
            for problem in problems:
                self.messages.problem(problem)
            for each, found in errors:
                self.messages.about_spec(each, found)
            if problems or any(found for _, found in errors):
                return True
        return False

    def _report_warnings(self, planned: list[Planned]) -> None:
        for each in planned:
            is_union = each.spec.op in self.retired.specs
            findings = (f for f in each.findings if not (is_union and f.rule == "W6"))
            self.messages.about_spec(each, (f for f in findings if not f.is_error))

    def _advise(self, planned: list[Planned]) -> None:
        for op, found in suggestions(self.module, planned, self.settings):
            self.messages.at(op, found)
        for each in planned:
            if each.plan is not None and each.plan.trees:
                self.messages.at(each.spec.op, waste(each.plan))

    def _lower(self, planned: list[Planned]) -> None:
        if self.options.define_sizes:
            for each in planned:
                define_size(each)
        problems = list(shape_problems(planned))
        for problem in problems:
            self.messages.problem(problem)
        if problems:
            return
        lowerings = [Lowering(each.spec, each.plan) for each in planned if each.plan is not None]
        if self._fail(materialise(self.module, lowerings, self.rewriter)):
            return
        self._prove(planned)
        if not self.options.record:
            drop_records(self.module)

    def _fail(self, problems: list[tuple[Operation, Finding]]) -> bool:
        for op, found in problems:
            self.messages.at(op, found)
        return bool(problems)

    def _prove(self, planned: list[Planned]) -> None:
        """Check the plans, and the module they were made into."""
        for each in planned:
            if each.plan is None:
                continue
            capacity = self.settings.capacity(each.spec.region.memory)
            for violation in check_plan(each.plan, capacity, each.live):
                self._internal(str(violation))
        lowered = verify_module(self.module, self.settings.target)
        for fault in lowered.faults:
            self._internal(fault.message)
        if lowered.unknown:
            self._internal("an index was not rewritten as its placement requires")

    def _internal(self, text: str) -> None:
        message = f"internal compiler error in {self.options.name}: {text}"
        self.engine.error(self.module, message, INTERNAL_CODE)
