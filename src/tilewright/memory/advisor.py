"""Sharing that is not needed (docs/design/storage-alias.md#unneeded-sharing).

With memory to spare, two buffers that share bytes only cost barriers. For each shared group, some
of its parts are moved out, either next to it (a distinct group) or into an allocation
of their own, whichever takes less. A part is a child of the group or, where a child is a distinct
group, one of its children: taking `p` out of ``shared(qk, distinct(p, alpha))`` leaves `alpha`
where it is.

Nothing is changed. Every suggestion was planned again and given to the checker before it is
offered, so the sizes it quotes are those the user will see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from tilewright.memory.evidence import check_plan
from tilewright.memory.phases import Phase
from tilewright.memory.plan import Options, StoragePlan
from tilewright.memory.region import StorageRegion
from tilewright.memory.rules import Finding, Path, finding
from tilewright.memory.targets import Memory
from tilewright.memory.tree import (
    Group,
    Leaf,
    ReuseKind,
    Tree,
    distinct,
    groups,
    leaves,
    node_at,
    replace_at,
    shared,
)
from tilewright.memory.workload import listed, occupied, plan_all

MAX_PARTS = 4
"""How many parts are moved out together at most."""

MAX_TRIALS = 512
"""How many combinations are planned for one region; a group of eight parts has 162."""

_MAX_LEAVES_PLACED = 2_000
"""Fewer combinations of larger trees: suggestions have to stay cheap."""


@dataclass(frozen=True)
class Unsharing:
    """`moved` need not share with `peers`; `after` are the regions instead of `region`.

    `amount` is what the moved buffers cover, `extra` what the change costs, `free` what there is.
    """

    region: str
    memory: Memory
    moved: tuple[str, ...]
    peers: tuple[str, ...]
    amount: int
    extra: int
    free: int
    after: tuple[StorageRegion, ...]

    @property
    def finding(self) -> Finding:
        """The remark to show on the region."""
        return finding(
            "R2",
            self.region,
            free=self.free,
            unit=self.memory.unit_name,
            memory=self.memory.full_name,
            moved=listed(self.moved),
            peers=listed(self.peers),
            extra=self.extra,
        )

    def __str__(self) -> str:
        return self.finding.message


@dataclass(frozen=True)
class _Candidate:
    """An unsharing on trial, with what it is ranked by and the plans that prove it."""

    suggestion: Unsharing
    parts: int
    position: int
    plans: tuple[StoragePlan, ...]

    @property
    def rank(self) -> tuple[int, int, int]:
        return -self.suggestion.amount, self.parts, self.position


def unsharings(
    plans: Sequence[StoragePlan], memory: Memory, capacity: int
) -> tuple[Unsharing, ...]:
    """What need not share, over all regions of one memory: most storage first, then fewest parts.

    Of several results of which one contains the others, only the largest is given.
    """
    own = [plan for plan in plans if plan.region.memory is memory]
    found = [
        candidate
        for position, plan in enumerate(own)
        for candidate in _candidates(plan, position, own, capacity)
    ]
    left: list[Unsharing] = []
    for candidate in sorted(found, key=lambda candidate: candidate.rank):
        if not _is_covered(candidate.suggestion, left) and not any(
            map(check_plan, candidate.plans)
        ):
            left.append(candidate.suggestion)
    return tuple(left)


def _is_covered(suggestion: Unsharing, left: Sequence[Unsharing]) -> bool:
    """Whether the same was suggested already: as part of more, or from the other side."""
    moved, peers = {*suggestion.moved}, {*suggestion.peers}
    return any(
        moved <= {*other.moved} or (moved == {*other.peers} and peers == {*other.moved})
        for other in left
        if other.region == suggestion.region
    )


def _candidates(
    plan: StoragePlan, position: int, plans: Sequence[StoragePlan], capacity: int
) -> Iterator[_Candidate]:
    """Every way to move parts of one region out that fits."""
    tree, free = plan.region.tree, capacity - occupied(plans)
    if tree is None or free <= 0:
        return
    trials = min(MAX_TRIALS, _MAX_LEAVES_PLACED // len(leaves(tree)))
    for group_path, paths in islice(_subsets(tree), trials):
        best = _cheapest(plan, tree, group_path, paths)
        if best is None or occupied([*plans[:position], *best, *plans[position + 1 :]]) > capacity:
            continue
        moved = [leaf.buffer for path in paths for leaf in leaves(node_at(tree, path))]
        suggestion = Unsharing(
            plan.region.name,
            plan.region.memory,
            tuple(buffer.name for buffer in moved),
            _peers(tree, group_path, paths),
            amount=sum(buffer.packed_size for buffer in moved),
            extra=_total(best) - plan.backing.allocated,
            free=free,
            after=tuple(other.region for other in best),
        )
        yield _Candidate(suggestion, len(paths), position, best)


def _total(plans: Sequence[StoragePlan]) -> int:
    return sum(plan.backing.allocated for plan in plans)


def _subsets(tree: Tree) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """A shared group and some of its parts, small sets first; some child is always left whole."""
    candidates = [
        (path, _parts(group, path))
        for path, group in groups(tree)
        if group.kind is ReuseKind.SHARED
    ]
    for count in range(1, MAX_PARTS + 1):
        for path, parts in candidates:
            for chosen in combinations(parts, count):
                if _is_apart(chosen) and _peers(tree, path, chosen):
                    yield path, chosen


def _parts(group: Group, path: Path) -> list[Path]:
    """What can be taken out of a group: its children, and children of distinct ones."""
    found: list[Path] = []
    for index, child in enumerate(group.children):
        below = (*path, index)
        found.append(below)
        if isinstance(child, Group) and child.kind is ReuseKind.DISTINCT:
            found += _parts(child, below)
    return found


def _is_apart(paths: Sequence[Path]) -> bool:
    """Whether no path leads through another."""
    pairs = combinations(paths, 2)
    return not any(one == two[: len(one)] or two == one[: len(two)] for one, two in pairs)


def _peers(tree: Tree, group_path: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """The buffers of the group's children that no part was taken from."""
    depth = len(group_path)
    affected = {path[depth] for path in paths}
    return tuple(
        leaf.buffer.name
        for leaf in leaves(tree)
        if leaf.path[:depth] == group_path and leaf.path[depth] not in affected
    )


def _cheapest(
    plan: StoragePlan, tree: Tree, group_path: Path, paths: Sequence[Path]
) -> tuple[StoragePlan, ...] | None:
    """The parts beside the group or in a region of their own, whichever takes less."""
    beside = (plan.region.with_trees(new) for new in _beside(tree, group_path, paths))
    variants = (*((region,) for region in beside), _apart(plan.region, tree, paths))
    planned = [plan_all(regions, Options(mode=plan.mode)) for regions in variants]
    good = [plans for plans in planned if plans is not None]
    # Of equals min() takes the first, so a region is only split where that saves something.
    return min(good, key=_total) if good else None


def _beside(tree: Tree, group_path: Path, paths: Sequence[Path]) -> Iterator[Tree]:
    """The tree with the parts after or before the group they were in. Repetitions repeat both."""
    group = node_at(tree, group_path)
    rest = _without(group, [path[len(group_path) :] for path in paths])
    assert isinstance(group, Group) and isinstance(rest, Group)
    rest = replace(rest, group_size=1)
    parts = [node_at(tree, path) for path in paths]
    for row in (distinct(rest, *parts), distinct(*parts, rest)):
        new = row if group.group_size == 1 else shared(row, group_size=group.group_size)
        yield replace_at(tree, group_path, new)


def _apart(
    region: StorageRegion, tree: Tree, paths: Sequence[Path]
) -> tuple[StorageRegion, StorageRegion]:
    """The region without the parts, and a region of the parts."""
    rest = _without(tree, paths)
    assert rest is not None
    parts = [node_at(tree, path) for path in paths]
    own = parts[0] if len(parts) == 1 else distinct(*parts)
    gone = {leaf.buffer.name for leaf in leaves(own)}
    stays = tuple(buffer for buffer in region.buffers if buffer.name not in gone)
    goes = tuple(buffer for buffer in region.buffers if buffer.name in gone)
    name = f"{region.name}.{'.'.join(buffer.name for buffer in goes)}"
    return (
        replace(region.with_trees(rest), buffers=stays),
        StorageRegion(name, region.memory, goes, (Phase(own),), source=region.source),
    )


def _without(tree: Tree, paths: Sequence[Path]) -> Tree | None:
    """`tree` with the nodes at `paths` left out, and with them the groups that became empty."""
    if () in paths:
        return None
    if isinstance(tree, Leaf):
        return tree
    children = tuple(
        left
        for index, child in enumerate(tree.children)
        if (left := _without(child, [path[1:] for path in paths if path[0] == index])) is not None
    )
    return replace(tree, children=children) if children else None
