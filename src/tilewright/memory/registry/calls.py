"""When components run, and proof that a whole tree of them keeps out of each other's way.

Every component is laid out by itself, with its children as regions of known size, and every such
layout is checked. What comes out at the end is a kernel in which all buffers of all components
exist at once; here that whole picture is drawn again from the layouts alone, with absolute places,
and handed to the planner's checker::

    kernel       |own..|step_shared.......................|
    step               |k1...|predictor_shared|           |
    predictor                |work|rest......|
    corrector                |work...|                       over predictor.work

Two buffers may share a byte only if the user allows it (an alias and its targets), or if they are
below different children of one component, and those are never called at the same time. That is
decided pair by pair, from the calls and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from tilewright.memory import planner
from tilewright.memory.planner import check as planner_check
from tilewright.memory.planner.problems.calls import may_overlap
from tilewright.memory.registry.aliases import ancestors
from tilewright.memory.registry.group import BufferGroup, roll_up_names
from tilewright.memory.registry.planning import Live, PlanError

_POOLS = ("shared", "persistent")


@dataclass(frozen=True)
class Component:
    """A group with its position in the tree. `path` ends in a dot, except that of the root."""

    group: BufferGroup
    path: str = ""
    children: Mapping[str, Component] = field(default_factory=dict[str, "Component"])


def calls_in_order(names: Sequence[str]) -> dict[str, Live]:
    """Intervals of the caller's time for sequential calls; names may repeat."""
    calls: dict[str, tuple[tuple[int, int], ...]] = {}
    for moment, name in enumerate(names):
        calls[name] = (*calls.get(name, ()), (moment, moment + 1))
    return dict(calls)


def pool_blocks(
    group: BufferGroup, itemsize: int, name: str, live: planner.Live
) -> tuple[planner.Block, ...]:
    """The pools of an outermost component as blocks, for a plan with other memory of its kernel.

    Inside, everything has its offset already. `itemsize` is the size of an element of compat pools.
    """
    sizes = group.shared_buffer_size(), group.persistent_local_buffer_size()
    aligns = group.shared_alignment(), group.persistent_alignment()
    unit = 1 if group.policy == "strict" else itemsize
    return tuple(
        # What persists is needed between the calls too.
        planner.Block(
            f"{name}.{pool}",
            size * unit,
            max(align, unit),
            pool,
            live if pool == "shared" else planner.ALWAYS,
        )
        for pool, size, align in zip(_POOLS, sizes, aligns, strict=True)
        if size
    )


def check_tree(root: Component) -> None:
    """Raise PlanError unless all buffers below `root` keep apart while they are needed."""
    problem, offsets = tree_problem(root)
    found = planner_check.check_offsets(problem, offsets)
    if found:
        raise PlanError("planner: " + "; ".join(map(str, found)))


def tree_problem(root: Component) -> tuple[planner.Problem, dict[str, int]]:
    """All buffers of the tree, which may overlap, and the offsets of the layouts."""
    blocks = _Blocks()
    for pool in _POOLS:
        blocks.draw(root, pool, 0)
    spaces = tuple(planner.Space(pool) for pool in _POOLS)
    problem = planner.Problem(spaces, tuple(blocks.blocks), tuple(blocks.relations))
    return problem, blocks.offsets


class _Blocks:
    """Blocks by path; a buffer is in one pool only."""

    def __init__(self) -> None:
        self.blocks: list[planner.Block] = []
        self.relations: list[planner.Relation] = []
        self.offsets: dict[str, int] = {}

    def draw(self, component: Component, pool: str, base: int) -> list[str]:
        """Add the buffers of one pool of a component; the ids of everything in it."""
        group, at = component.group, component.group.layouts()
        windows = at.shared if pool == "shared" else at.persistent
        regions = {roll_up_names(name)[_POOLS.index(pool)]: name for name in component.children}
        drawn: dict[str, list[str]] = {}
        for name, window in windows.items():
            start = base + window.start
            if pool == "shared" and group.calls.get(regions.get(name, "")) == ():
                continue  # a child that is never called uses nothing
            if name in regions:
                drawn[name] = self.draw(component.children[regions[name]], pool, start)
            else:
                drawn[name] = self._block(component, name, pool, start, window.stop - window.start)
        for name in drawn:
            self.relations += _excuses(name, group, drawn)
        if pool == "shared":
            # What persists is needed between the calls too.
            self.relations += _never_together(group, regions, drawn)
        return [id for ids in drawn.values() for id in ids]

    def _block(
        self, component: Component, name: str, pool: str, start: int, size: int
    ) -> list[str]:
        if not size:
            return []
        id = f"{component.path}{name}"
        align = component.group.entries[name].align
        self.blocks.append(planner.Block(id, size, align, pool))
        self.offsets[id] = start
        return [id]


def _never_together(
    group: BufferGroup, regions: Mapping[str, str], drawn: Mapping[str, Sequence[str]]
) -> Iterator[planner.Relation]:
    """Everything in one child beside everything in another that is not called meanwhile."""
    for one, other in combinations([name for name in regions if name in drawn], 2):
        calls = group.calls.get(regions[one]), group.calls.get(regions[other])
        if not may_overlap(*calls):
            for a, b in product(drawn[one], drawn[other]):
                yield planner.MayOverlap(a, b)


def _excuses(
    name: str, group: BufferGroup, drawn: Mapping[str, Sequence[str]]
) -> Iterator[planner.Relation]:
    """An alias may overlap all its targets, nearest to farthest."""
    for target in ancestors(name, group.entries):
        for one, other in product(drawn[name], drawn.get(target, ())):
            yield planner.MayOverlap(one, other)
