"""Several storage alias regions: each is one rigid block, and blocks may share too.

Inside a region its trees have decided everything. To the planner a region is its backing, with size
and alignment, live whenever one of its buffers is. Regions of disjoint phases of a kernel then
overlap, although no spec names both::

    address            load q, k, v  |  softmax  |  store
      |  qkv region    |#############|           |
      |  acc region    |       |#################|
      |  out region    |             |           |######|     over qkv

A `RegionArena` is accepted only after three checks: the planner's own, the checker's of every
region, and one over all buffers at their final addresses, which forgets that regions exist.

`sharing_of` tests whether the sharing of a spec was needed. The same buffers are
planned again by their lives alone, without the trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tilewright.memory import planner
from tilewright.memory.evidence import check_plan
from tilewright.memory.plan import StoragePlan
from tilewright.memory.planner import check as planner_check
from tilewright.memory.region import LiveRanges
from tilewright.memory.targets import SMEM_BASE_ALIGNMENT, TMEM_ALLOCATION_GRANULE, Memory, Target

_GRANULES = {Memory.SMEM: SMEM_BASE_ALIGNMENT, Memory.TMEM: TMEM_ALLOCATION_GRANULE}


@dataclass(frozen=True)
class RegionArena:
    """Where every region starts, so where every buffer does. Addresses are in the memory's unit."""

    regions: tuple[StoragePlan, ...]
    live: LiveRanges | None
    plan: planner.Plan

    def __post_init__(self) -> None:
        self.verify()

    def base(self, region: str) -> int:
        """Where the storage of a region starts."""
        return self.plan.offsets[region] + self._named(region).backing.residue

    def address(self, region: str, buffer: str, index: int = 0) -> int:
        """Where a buffer of a region starts."""
        return self.base(region) + self._named(region).of(buffer).address(index)

    def height(self, memory: Memory) -> int:
        """How much of a memory is taken; 0 where no region is in it."""
        known = {one.space.name: one.height for one in self.plan.spaces}
        return known.get(str(memory), 0)

    def verify(self) -> None:
        """Raise PlannerFault with the first violated guarantees."""
        inside = [found for one in self.regions for found in check_plan(one, live=self.live)]
        flat, offsets = self._flattened()
        found = [*map(str, inside), *map(str, planner_check.check_offsets(flat, offsets))]
        if found:
            raise planner.PlannerFault("\n".join(found))

    def _named(self, region: str) -> StoragePlan:
        for one in self.regions:
            if one.region.name == region:
                return one
        raise KeyError(region)

    def _flattened(self) -> tuple[planner.Problem, dict[str, int]]:
        """All buffers by address. Sharing inside a region was checked per region."""
        blocks: list[planner.Block] = []
        excused: list[planner.Relation] = []
        offsets: dict[str, int] = {}
        for one in self.regions:
            own = [*_buffers(one, self.live)]
            blocks += [block for block, _ in own]
            offsets |= {b.id: self.base(one.region.name) + start for b, start in own}
            excused += [planner.MayOverlap(a.id, b.id) for (a, _), (b, _) in combinations(own, 2)]
        # A memory that is too small is reported by the plan, and not an internal error.
        spaces = _spaces(self.regions, None)
        problem = planner.Problem(spaces, tuple(blocks), tuple(excused))
        return problem, offsets

    def __str__(self) -> str:
        return str(self.plan)


@dataclass(frozen=True)
class Sharing:
    """One memory as its specs have it, and with every buffer placed by its life alone."""

    memory: Memory
    as_written: int
    by_lives: int

    @property
    def smaller(self) -> int:
        return min(self.as_written, self.by_lives)

    @property
    def was_needed(self) -> bool:
        """Whether the specs save anything over what liveness finds by itself."""
        return self.as_written < self.by_lives

    def __str__(self) -> str:
        unit = self.memory.unit_name
        sizes = f"{self.as_written} {unit} as written, {self.by_lives} by live ranges alone"
        if self.was_needed:
            return f"{sizes}: the specs save {self.by_lives - self.as_written}"
        if self.as_written == self.by_lives:
            return f"{sizes}: the specs save nothing"
        return f"{sizes}: the specs cost {self.as_written - self.by_lives}"


def plan_regions(
    regions: Sequence[StoragePlan],
    live: LiveRanges | None = None,
    target: Target | None = None,
    effort: planner.Effort | str = "default",
) -> RegionArena:
    """Place regions over each other where their lives allow it, and prove the result."""
    problem = regions_problem(regions, live, target)
    return RegionArena(tuple(regions), live, planner.plan_problem(problem, effort))


def regions_problem(
    regions: Sequence[StoragePlan],
    live: LiveRanges | None = None,
    target: Target | None = None,
) -> planner.Problem:
    """One block a region, under its name. A buffer that `live` leaves out is always live."""
    _refuse_ambiguous(regions, live)
    blocks = tuple(
        planner.Block(
            one.region.name,
            # The base is `residue` modulo the alignment: the block starts that much earlier.
            one.backing.residue + one.backing.allocated,
            max(one.backing.alignment, _GRANULES[one.region.memory]),
            str(one.region.memory),
            _whenever(live, [buffer.name for buffer in one.region.buffers]),
        )
        for one in regions
    )
    return planner.Problem(_spaces(regions, target), blocks)


def sharing_of(
    regions: Sequence[StoragePlan],
    live: LiveRanges | None = None,
    effort: planner.Effort | str = "default",
) -> tuple[Sharing, ...]:
    """For each memory: what the specs take, and what liveness alone would."""
    written = planner.plan_problem(regions_problem(regions, live), effort)
    free = planner.plan_problem(_buffers_problem(regions, live), effort)
    return tuple(
        Sharing(memory, written.height(str(memory)), free.height(str(memory)))
        for memory in _memories(regions)
    )


def _buffers_problem(regions: Sequence[StoragePlan], live: LiveRanges | None) -> planner.Problem:
    blocks = tuple(
        planner.Block(
            f"{one.region.name}.{buffer.name}",
            buffer.packed_size,
            max(buffer.alignment, _GRANULES[buffer.memory]),
            str(buffer.memory),
            _whenever(live, [buffer.name]),
        )
        for one in regions
        for buffer in one.region.buffers
    )
    return planner.Problem(_spaces(regions, None), blocks)


def _buffers(one: StoragePlan, live: LiveRanges | None) -> Iterator[tuple[planner.Block, int]]:
    """Every single buffer of a region, and where it starts in the region."""
    outside = {buffer.name for buffer in one.outside}
    for placement in one.placements:
        buffer = placement.buffer
        when = _whenever(live, [buffer.name])
        align = buffer.packed_alignment if buffer.name in outside else buffer.alignment
        for index, start in enumerate(placement.addresses):
            id = f"{one.region.name}.{buffer.name}[{index}]"
            yield planner.Block(id, buffer.unit, align, str(buffer.memory), when), start


def _refuse_ambiguous(regions: Sequence[StoragePlan], live: LiveRanges | None) -> None:
    """Lives are known by the name of a buffer, which only has to be unique within its region."""
    owner: dict[str, str] = {}
    for one in regions:
        for buffer in one.region.buffers:
            other = owner.setdefault(buffer.name, one.region.name)
            if other != one.region.name and buffer.name in (live or {}):
                raise ValueError(
                    f"'{other}' and '{one.region.name}' both have a buffer '{buffer.name}': "
                    "its live range is ambiguous"
                )


def _memories(regions: Sequence[StoragePlan]) -> tuple[Memory, ...]:
    return tuple(dict.fromkeys(one.region.memory for one in regions))


def _spaces(regions: Sequence[StoragePlan], target: Target | None) -> tuple[planner.Space, ...]:
    return tuple(
        planner.Space(
            str(memory),
            None if target is None else target.capacity(memory),
            unit=memory.unit_name,
        )
        for memory in _memories(regions)
    )


def _whenever(live: Mapping[str, tuple[int, int]] | None, names: Sequence[str]) -> planner.Live:
    """The moments at which one of the buffers is live; live ranges include their last moment."""
    if live is None or any(name not in live for name in names):
        return planner.ALWAYS
    spans: list[tuple[int, int]] = []
    for first, last in sorted(live[name] for name in names):
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], last + 1))
        else:
            spans.append((first, last + 1))
    return tuple(spans)
