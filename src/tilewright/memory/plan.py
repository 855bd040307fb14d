"""From a region to a plan: every address, the backing storage, and the findings.

Nothing is raised for what a user can write. `plan_region` returns a `PlanResult`: a
`StoragePlan` and `Finding`s, and no plan where a finding is an error. Errors that another order of
siblings or explicit placement would fix carry a note about it, and only after that change went
through this planner too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright._notebook import NotebookForm
from tilewright.memory.backing import Backing, backing_of, capacity_findings, size_findings
from tilewright.memory.orders import changed_groups, working_order
from tilewright.memory.phases import PhaseError, lay_out_phases
from tilewright.memory.placement import Mode, Placement, alignment_findings, packed
from tilewright.memory.region import LiveRanges, StorageRegion, live_together
from tilewright.memory.rules import Finding, finding
from tilewright.memory.targets import SMEM_SIBLING_ALIGNMENT, Memory
from tilewright.memory.tree import Tree, leaves, validate
from tilewright.memory.tree_layout import Rounding, TreePlacement
from tilewright.memory.units import Buffer

_CURABLE = ("E6", "E7", "E18")
"""Errors about the address of a leaf, which another order or another mode can avoid."""


@dataclass(frozen=True)
class StoragePlan(NotebookForm):
    """Every address of one region. `placements` are in the order of the region's buffers."""

    notebook_form = "tilewright.report.notebook.memory:plan_html"
    notebook_text = "tilewright.report.notebook.memory:plan_text"

    region: StorageRegion
    mode: Mode
    trees: tuple[TreePlacement, ...]
    placements: tuple[Placement, ...]
    backing: Backing

    def of(self, name: str) -> Placement:
        """The placement of the buffer called `name`."""
        for placement in self.placements:
            if placement.buffer.name == name:
                return placement
        raise KeyError(name)

    @property
    def outside(self) -> tuple[Buffer, ...]:
        """The buffers no tree speaks of."""
        inside = {placement.buffer.name for tree in self.trees for placement in tree.placements}
        return tuple(buffer for buffer in self.region.buffers if buffer.name not in inside)

    def __str__(self) -> str:
        head = f"'{self.region.name}': {self.backing}, {self.mode}"
        strides = ", ".join(
            f"stride {tree.stride}{f' in {tree.phase}' if tree.phase else ''}"
            for tree in self.trees
        )
        lines = [head + (f", {strides}" if strides else "")]
        return "\n  ".join([*lines, *(str(placement) for placement in self.placements)])


@dataclass(frozen=True)
class PlanResult:
    """What planning found. There is a plan unless a finding is an error or nothing needs one."""

    plan: StoragePlan | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.is_error)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if not found.is_error)

    def unwrap(self) -> StoragePlan:
        """The plan; raises ValueError with the findings where there is none."""
        if self.plan is None:
            raise ValueError("\n".join(str(found) for found in self.findings) or "nothing to plan")
        return self.plan


@dataclass(frozen=True)
class Options:
    """How to plan. `capacity` is in the memory's unit; None leaves it unchecked."""

    mode: Mode = Mode.REINDEX
    tight: bool = False
    multi_overlap: bool = True
    capacity: int | None = None
    live: LiveRanges | None = None


def plan_region(region: StorageRegion, options: Options | None = None) -> PlanResult:
    """Plan one region by its trees. Errors carry a note with a change that was tried."""
    options = options or Options()
    result = try_plan(region, options)
    curable = [found for found in result.errors if found.rule in _CURABLE]
    if not curable:
        return result
    notes = tuple(_ways_out(region, options, curable[0]))
    findings = tuple(
        replace(found, notes=notes) if found in curable else found for found in result.findings
    )
    return PlanResult(None, findings)


def plan_with_fallback(region: StorageRegion, options: Options | None = None) -> PlanResult:
    """Re-index where that is possible, place by address where not, with a remark."""
    options = options or Options()
    by_index = replace(options, mode=Mode.REINDEX, tight=False)
    first = try_plan(region, by_index)
    if not first.errors or any(found.rule not in _CURABLE for found in first.errors):
        return first
    second = try_plan(region, replace(options, mode=Mode.EXPLICIT))
    if second.errors:
        return plan_region(region, by_index)
    # One remark a leaf is enough, with the first reason.
    reasons = {found.subject: found for found in reversed(first.errors)}
    remarks = tuple(
        finding("R1", buffer.name, path=found.path, reason=found.message)
        for buffer in region.buffers
        if (found := reasons.get(buffer.name)) is not None
    )
    return PlanResult(second.plan, (*second.findings, *remarks))


def try_plan(region: StorageRegion, options: Options) -> PlanResult:
    """Plan without searching for fixes: for callers that try many variants."""
    if not region.buffers:
        return PlanResult(None, (finding("W1", region.name),))
    early = tuple(_early_findings(region, options))
    if any(found.is_error for found in early):
        return PlanResult(None, early)
    try:
        plan = _best_rounding(region, options)
    except PhaseError as error:
        return PlanResult(None, (*early, error.finding))
    findings = (*early, *_late_findings(plan, options))
    failed = any(found.is_error for found in findings)
    return PlanResult(None if failed else plan, findings)


def _early_findings(region: StorageRegion, options: Options) -> Iterator[Finding]:
    """What is wrong before any address is known."""
    if len(region.phases) > 1 and not options.multi_overlap:
        second = region.phases[1].name
        yield replace(finding("E3", region.name), phase=second)
    for phase in region.phases:
        found = (*validate(phase.tree), *_strangers(region, phase.tree))
        yield from (replace(one, phase=phase.name) for one in dict.fromkeys(found))


def _strangers(region: StorageRegion, tree: Tree) -> Iterator[Finding]:
    """Leaves that are not buffers of this region."""
    known = {buffer.name: buffer for buffer in region.buffers}
    for leaf in leaves(tree):
        if known.get(leaf.buffer.name) != leaf.buffer:
            yield finding("V4", leaf.buffer.name, path=leaf.path)


def _best_rounding(region: StorageRegion, options: Options) -> StoragePlan:
    """Try every residue the base may have; the smallest storage wins, then the lowest residue.

    Packing tightly is greedy and now and then takes more, so the ordinary way is tried as well.
    """
    ways = [True, False] if options.tight else [False]
    first, *others = [
        Rounding(options.mode, tight, residue)
        for tight in ways
        for residue in _residues(region, options)
    ]
    best = _with_rounding(region, first)
    if others and not options.tight and best.backing.allocated == _min_size(region):
        return best
    for rounding in others:
        plan = _with_rounding(region, rounding)
        if plan.backing.allocated < best.backing.allocated:
            best = plan
    return best


def _min_size(region: StorageRegion) -> int:
    """The storage without any demand of a view, below which no residue can get."""
    return _with_rounding(region, Rounding()).backing.allocated


def _residues(region: StorageRegion, options: Options) -> range:
    """Where the base may sit. A buffer outside the trees is at offset 0 and wants residue 0."""
    inside = {leaf.buffer.name for phase in region.phases for leaf in leaves(phase.tree)}
    is_fixed = any(buffer.name not in inside for buffer in region.buffers)
    # Anchors of several phases are few and large; they stay where residue 0 puts them.
    is_fixed = is_fixed or len(region.phases) > 1
    if options.mode is Mode.REINDEX or region.memory is Memory.TMEM or is_fixed:
        return range(1)
    strictest = max(buffer.alignment for buffer in region.buffers)
    return range(0, max(strictest, 1), SMEM_SIBLING_ALIGNMENT)


def _with_rounding(region: StorageRegion, rounding: Rounding) -> StoragePlan:
    trees = lay_out_phases(region.phases, rounding)
    # The first phase that contains a leaf decides; later ones only repeat it.
    placed = {p.buffer.name: p for tree in reversed(trees) for p in tree.placements}
    placements = tuple(placed.get(buffer.name) or packed(buffer) for buffer in region.buffers)
    backing = backing_of(region, placements, rounding.residue)
    return StoragePlan(region, rounding.mode, trees, placements, backing)


def _late_findings(plan: StoragePlan, options: Options) -> Iterator[Finding]:
    yield from size_findings(plan.region, plan.backing)
    yield from capacity_findings(plan.region, plan.backing, options.capacity)
    yield from _live_findings(plan, options.live)
    yield from _legality_findings(plan)
    if plan.trees:
        yield from (finding("W3", buffer.name) for buffer in plan.outside)


def _legality_findings(plan: StoragePlan) -> Iterator[Finding]:
    """E6, E7 and E18, leaf by leaf in the order of the allocations."""
    outside = {buffer.name for buffer in plan.outside}
    for placement in plan.placements:
        if placement.buffer.name in outside:
            continue
        found = placement.reindex_findings if plan.mode is Mode.REINDEX else ()
        required = placement.buffer.alignment
        yield from found or alignment_findings(placement, plan.backing.residue, required)


def phases_of(plan: StoragePlan, name: str) -> frozenset[int]:
    """The numbers of the trees a buffer appears in."""
    return frozenset(
        index
        for index, tree in enumerate(plan.trees)
        if any(placement.buffer.name == name for placement in tree.placements)
    )


def _live_findings(plan: StoragePlan, live: LiveRanges | None) -> Iterator[Finding]:
    """Leaves that only appear in different phases share bytes, so they may not be live together."""
    if len(plan.trees) < 2:
        return
    inside = [(p, phases_of(plan, p.buffer.name)) for p in plan.placements]
    inside = [(placement, phases) for placement, phases in inside if phases]
    for position, (one, one_phases) in enumerate(inside):
        for two, two_phases in inside[position + 1 :]:
            if one_phases & two_phases:
                continue
            if live_together(live, one.buffer.name, two.buffer.name):
                yield from _shared_stretch(plan, (one, min(one_phases)), (two, min(two_phases)))


def _shared_stretch(
    plan: StoragePlan, one: tuple[Placement, int], two: tuple[Placement, int]
) -> Iterator[Finding]:
    """E20 for the first stretch that two placements have in common."""
    (first, first_phase), (second, second_phase) = one, two
    for start in first.addresses:
        for other in second.addresses:
            low = max(start, other)
            high = min(start + first.buffer.unit, other + second.buffer.unit)
            if low < high:
                found = finding(
                    "E20",
                    second.buffer.name,
                    first=first.buffer.name,
                    first_phase=plan.trees[first_phase].phase or first_phase,
                    second=second.buffer.name,
                    second_phase=plan.trees[second_phase].phase or second_phase,
                    unit=plan.region.memory.unit_name,
                    low=low,
                    high=high,
                )
                yield replace(found, phase=plan.trees[second_phase].phase)
                return


def _ways_out(region: StorageRegion, options: Options, error: Finding) -> Iterator[str]:
    """Changes that were planned again and went through."""
    order = _working_region(region, options, error)
    if order is not None:
        changed = [
            str(group)
            for old, new in zip(region.phases, order.phases, strict=True)
            for group in changed_groups(old.tree, new.tree)
        ]
        yield f"this order works: {'; '.join(changed)}"
    if options.mode is Mode.REINDEX:
        by_address = replace(options, mode=Mode.EXPLICIT)
        if not try_plan(region, by_address).errors:
            yield "placement=explicit works with the order as it is"


def _working_region(
    region: StorageRegion, options: Options, error: Finding
) -> StorageRegion | None:
    """The region with the failing leaf's tree reordered so that planning succeeds."""
    trees = [phase.tree for phase in region.phases]
    intervals = [
        (position, leaf.path)
        for position, tree in enumerate(trees)
        for leaf in leaves(tree)
        if leaf.buffer.name == error.subject
    ]
    position, path = intervals[0]

    def with_tree(new: Tree) -> StorageRegion:
        return region.with_trees(*trees[:position], new, *trees[position + 1 :])

    def works(new: Tree) -> bool:
        return not try_plan(with_tree(new), options).errors

    found = working_order(trees[position], path, works)
    return None if found is None else with_tree(found)
