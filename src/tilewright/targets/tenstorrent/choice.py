"""The fastest settings of a program according to the cost model.

    axes     settings that were left open, each with the values that are tried
    search   one axis after the other, the others as the best found so far, until nothing improves
    all      every combination, for small spaces and for tests of the search

A candidate is compiled to its plan, and the plan is priced (`tt_cost`). Of equally fast ones the
one that takes less L1 is chosen, then the first. The result of a program does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.tensix_cost import NOTICE
from tilewright.analysis.tensix_cost.plan_cost import Cost, tt_cost
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.program import HostPlanOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.passes.tenstorrent.apply_tt_defaults import ApplyTtDefaults
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.passes.tenstorrent.verify_tt import VerifyTt

Axes: TypeAlias = Mapping[str, Sequence[Any]]
"""Values by the name of an option of the pipeline."""

AXES: Axes = {
    "multicast": ("off", "on"),
    "policy": ("contiguous", "rect"),
    "residency": ("off", "auto"),
    "order": ("row_major", "column_major", "hilbert"),
    "subblock": ("", "wide", "high"),
    "stages": (2, 4),
}
"""All settings that the model can choose, in the order in which they are tried."""

MAX_ROUNDS = 3


@dataclass(frozen=True)
class Candidate:
    """One combination of settings."""

    settings: tuple[tuple[str, Any], ...]
    plans: tuple[Plan, ...] = ()
    """One for each launch."""
    problem: str = ""
    """Why it does not compile."""

    @cached_property
    def costs(self) -> tuple[Cost, ...]:
        """The cost of each launch."""
        return tuple(tt_cost(plan) for plan in self.plans)

    @property
    def plan(self) -> Plan | None:
        """The plan of the first launch."""
        return self.plans[0] if self.plans else None

    @property
    def total(self) -> Fraction | None:
        """Cycles of all launches."""
        return sum((each.total for each in self.costs), Fraction(0)) if self.plans else None

    @property
    def limit(self) -> str:
        """What limits the longest launch."""
        return max(self.costs, key=lambda each: each.total).limit

    @property
    def l1_bytes(self) -> int:
        """The most L1 that a launch takes for circular buffers."""
        return max(plan.memory.l1_used for plan in self.plans)

    @property
    def key(self) -> tuple[bool, Fraction, int]:
        """Faster ones first, then those that take less L1."""
        total = self.total
        return (True, Fraction(0), 0) if total is None else (False, total, self.l1_bytes)

    def __str__(self) -> str:
        names = ", ".join(f"{name} {value}" for name, value in self.settings)
        if self.total is None:
            return f"{names}: {self.problem}"
        return f"{names}: {ceil(self.total)} cycles, limited by {self.limit} ({NOTICE})"


@dataclass(frozen=True)
class Choice:
    """The outcome of a search."""

    best: Candidate
    pipeline: TenstorrentPipeline
    """The passes with the chosen settings."""
    candidates: tuple[Candidate, ...]
    """All that were tried, the fastest first."""


@dataclass(eq=False)
class Chooser:
    """Prices the settings of one kernel; each combination is compiled once."""

    module: ModuleOp
    pipeline: TenstorrentPipeline
    """The user's settings."""
    _prepared: ModuleOp | None = None
    _priced: dict[TenstorrentPipeline, Candidate] = field(
        default_factory=dict[TenstorrentPipeline, Candidate]
    )

    def axes(self, names: Sequence[str] = tuple(AXES)) -> Axes:
        """The axes of these names that the pipeline has and that apply to the kernel."""
        known = {each.name for each in fields(TenstorrentPipeline)}
        found = {name: AXES[name] for name in AXES if name in names and name in known}
        plan = self.price({}).plan
        if plan is not None and plan.compute.strategy == "blocks":
            found.pop("subblock", None)
        if "subblock" in found:
            found["subblock"] = _subblocks(plan)
        return found

    def settings(self, settings: Mapping[str, Any]) -> TenstorrentPipeline:
        """The user's pipeline with other settings."""
        return replace(self.pipeline, **settings)

    def price(self, settings: Mapping[str, Any]) -> Candidate:
        """The cost of one combination."""
        pipeline = self.settings(settings)
        found = self._priced.get(pipeline)
        if found is None:
            found = self._priced[pipeline] = self._compiled(pipeline, tuple(settings.items()))
        return found

    def _compiled(
        self, pipeline: TenstorrentPipeline, settings: tuple[tuple[str, Any], ...]
    ) -> Candidate:
        engine = DiagnosticEngine()
        passes = pipeline.passes()
        first = next(i for i, each in enumerate(passes) if isinstance(each, ApplyTtDefaults))
        if self._prepared is None:
            # What comes before the first setting is the same for all of them.
            self._prepared = self.module.clone()
            for each in passes[:first]:
                each.run(self._prepared, engine)
        module = self._prepared.clone()
        for each in passes[first:]:
            if engine.error_count:
                break
            if not isinstance(each, VerifyTt):  # the one that is chosen is verified
                each.run(module, engine)
        errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
        if errors:
            code = f"[{errors[0].code}]" if errors[0].code else ""
            return Candidate(settings, problem=f"error{code}: {errors[0].message}")
        plans = [Plan.from_attr(op.plan) for op in module.ops if isinstance(op, HostPlanOp)]
        return Candidate(settings, tuple(plans))

    # -- searches ----------------------------------------------------------------------------

    def search(self, axes: Axes) -> Choice:
        """The best of what is found axis by axis, from every value of the first axis on."""
        first, *others = axes or ("",)
        found = [
            self._descended({first: value} if first else {}, {each: axes[each] for each in others})
            for value in (axes[first] if first else ("",))
        ]
        return self._choice(min(found, key=lambda each: each.key), axes)

    def _descended(self, start: Mapping[str, Any], axes: Axes) -> Candidate:
        best = self.price({**start, **{name: values[0] for name, values in axes.items()}})
        for _ in range(MAX_ROUNDS):
            before = best
            for name, values in axes.items():
                tried = [self.price({**dict(best.settings), name: value}) for value in values]
                best = min([best, *tried], key=lambda each: each.key)
            if best is before:
                break
        return best

    def exhaust(self, axes: Axes) -> Choice:
        """The best of all combinations."""
        combined = [
            self.price(dict(zip(axes, values, strict=True))) for values in product(*axes.values())
        ]
        return self._choice(min(combined, key=lambda each: each.key), axes)

    def alternatives(self, axes: Axes) -> tuple[Candidate, ...]:
        """The user's settings and those that differ from them in one axis, the fastest first.

        Settings that give the same plan as the user's are left out.
        """
        own = self.price({})
        found = [
            self.price({name: value})
            for name, values in axes.items()
            for value in values
            if value != getattr(self.pipeline, name)
        ]
        others = [each for each in found if not each.plans or each.plans != own.plans]
        return tuple(sorted([own, *others], key=lambda each: each.key))

    def _choice(self, best: Candidate, axes: Axes) -> Choice:
        tried = [
            each for each in self._priced.values() if {n for n, _ in each.settings} == set(axes)
        ]
        return Choice(
            best,
            self.settings(dict(best.settings)),
            tuple(sorted(tried, key=lambda each: each.key)),
        )


def _subblocks(plan: Plan | None) -> Sequence[str]:
    """The rule's sub-block, and the widest and the highest that divide the block and fit DST."""
    if plan is None:
        return ("",)
    rows, columns, _ = plan.block_tiles
    slots = plan.compute.dst_tiles
    wide = max(w for w in range(1, min(columns, slots) + 1) if columns % w == 0)
    high = max(h for h in range(1, min(rows, slots) + 1) if rows % h == 0)
    own = plan.compute.subblock
    others = [each for each in ((1, wide), (high, 1)) if each != own]
    return ("", *dict.fromkeys(f"{h}x{w}" for h, w in others))
