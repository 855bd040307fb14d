"""What to change when the regions of a kernel do not fit (part of an out-of-memory error).

Three kinds of change are tried, the cheapest for the user first:

order    other orders of siblings lose less to alignment;
alias    two regions that are never live at the same time share storage. Where live ranges are not
         known the suggestion states what has to hold;
stages   fewer buffers: all allocations with the same number of logical buffers are cut together,
         because they are the stages of one pipeline. In a region of one logical buffer the stages
         are in a ``group_size``, as in ``shared(shared(distinct(a, b), group_size=4), c)``.

If no single change is enough, two are combined. A change is only named after all regions were
planned with it, passed the checker and fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from tilewright.memory.evidence import check_plan
from tilewright.memory.orders import changed_groups, orders
from tilewright.memory.phases import Phase
from tilewright.memory.plan import Options
from tilewright.memory.region import LiveRanges, StorageRegion, live_together
from tilewright.memory.targets import Memory
from tilewright.memory.tree import Leaf, Tree, groups, leaves, replace_at, shared
from tilewright.memory.units import Buffer
from tilewright.memory.workload import listed, occupied, plan_all

MAX_ORDERS = 32
"""How many orders of siblings are planned for one region."""

_MAX_LEAVES_PLACED = 2_000
"""Fewer orders of larger trees: suggestions have to stay cheap."""

MAX_STAGES = 64
"""How many smaller numbers of stages are planned."""

MAX_SUGGESTIONS = 6
"""The maximal number of suggestions in a message."""

Regions = tuple[StorageRegion, ...]


@dataclass(frozen=True)
class Step:
    """One change: its kind and text. Of one `family` only the mildest that fits is named."""

    kind: str
    family: str
    text: str


@dataclass(frozen=True)
class Change:
    """One step, or two that are taken together, after which everything fits in `total`."""

    steps: tuple[Step, ...]
    regions: Regions
    total: int
    memory: Memory

    def __str__(self) -> str:
        what = " and ".join(step.text for step in self.steps)
        return f"fits with {what} ({self.total} {self.memory.unit_name})"


def fitting_changes(
    regions: Sequence[StorageRegion],
    memory: Memory,
    capacity: int,
    options: Options | None = None,
) -> tuple[Change, ...]:
    """The smallest changes after which all regions of `memory` fit; none if they do already.

    `options.live` decides which regions may share; `options.mode` how they are planned.
    """
    options = replace(options or Options(), capacity=None)
    own = tuple(region for region in regions if region.memory is memory and region.buffers)
    plans = plan_all(own, options)
    if plans is None or occupied(plans) <= capacity:
        return ()
    now = Change((), own, occupied(plans), memory)
    singles = [*_next(now, options)]
    fits = [change for change in singles if change.total <= capacity] or [
        change for change in _pairs(now, singles, options) if change.total <= capacity
    ]
    return tuple(islice(_proved(fits, options), MAX_SUGGESTIONS))


def _next(change: Change, options: Options) -> Iterator[Change]:
    """Everything that is one step further and can be planned."""
    for step, regions in _steps(change.regions, options.live):
        plans = plan_all(regions, options)
        if plans is not None:
            yield Change((*change.steps, step), regions, occupied(plans), change.memory)


def _pairs(now: Change, singles: Sequence[Change], options: Options) -> Iterator[Change]:
    """A step of another kind on top of one that helps, of each family the most helpful."""
    best: dict[str, Change] = {}
    for change in singles:
        family = change.steps[0].family
        if change.total < best.get(family, now).total:
            best[family] = change
    for first in best.values():
        for second in _next(first, options):
            kinds = [_KINDS.index(step.kind) for step in second.steps]
            if kinds[0] < kinds[1]:
                yield second


def _proved(changes: Sequence[Change], options: Options) -> Iterator[Change]:
    """The first of every family, after the checker has looked at all regions."""
    done: set[tuple[str, ...]] = set()
    for change in changes:
        family = tuple(step.family for step in change.steps)
        if family in done:
            continue
        plans = plan_all(change.regions, options) or ()
        if not any(check_plan(plan, live=options.live) for plan in plans):
            done.add(family)
            yield change


_KINDS = ("order", "alias", "stages")


def _steps(regions: Regions, live: LiveRanges | None) -> Iterator[tuple[Step, Regions]]:
    """Every single step with the regions after it, in the order of `_KINDS`, mildest first."""
    yield from _other_orders(regions)
    yield from _aliases(regions, live)
    yield from _fewer_stages(regions)


def _other_orders(regions: Regions) -> Iterator[tuple[Step, Regions]]:
    for position, region in enumerate(regions):
        tree = region.tree
        if tree is None:
            continue
        budget = min(MAX_ORDERS, _MAX_LEAVES_PLACED // len(leaves(tree)))
        for order in islice(orders(tree), budget):
            changed = "; ".join(str(group) for group in changed_groups(tree, order))
            step = Step("order", f"order {region.name}", f"the order {changed}")
            yield step, _replaced(regions, position, region.with_trees(order))


def _replaced(regions: Regions, position: int, *new: StorageRegion) -> Regions:
    return (*regions[:position], *new, *regions[position + 1 :])


def _aliases(regions: Regions, live: LiveRanges | None) -> Iterator[tuple[Step, Regions]]:
    for one, two in combinations(regions, 2):
        tree, other = _as_one_buffer(one), _as_one_buffer(two)
        if tree is None or other is None or _are_live_together(one, two, live):
            continue
        names = [listed([buffer.name for buffer in region.buffers]) for region in (one, two)]
        text = f"storage of {names[1]} shared with {names[0]}"
        both = shared(tree, other)
        if any(group.group_size > 1 for _, group in groups(both)):
            # Left to themselves, buffers with several logical ones would share index by index.
            text += f" as {both}"
        if not _are_known(one, two, live):
            text += ", if they are never live at the same time"
        merged = StorageRegion(
            f"{one.name}+{two.name}",
            one.memory,
            (*one.buffers, *two.buffers),
            (Phase(both),),
            source=one.source,
        )
        rest = tuple(region for region in regions if region is not two)
        yield Step("alias", merged.name, text), _replaced(rest, rest.index(one), merged)


def _as_one_buffer(region: StorageRegion) -> Tree | None:
    """The region's tree with all its buffers inside one logical buffer, None if it has none."""
    if region.size_bytes is not None or len(region.phases) > 1:
        return None
    tree = region.tree
    if tree is None:
        if len(region.buffers) > 1:
            return None
        tree = Leaf(next(iter(region.buffers)))
    at = leaves(tree)
    count = at[0].logical_count
    is_even = all(leaf.logical_count == count for leaf in at)
    if not is_even or len(at) < len(region.buffers):
        return None
    return tree if count == 1 else shared(tree, group_size=count)


def _are_live_together(one: StorageRegion, two: StorageRegion, live: LiveRanges | None) -> bool:
    """Whether the regions are live at the same time, by their live ranges."""
    if not _are_known(one, two, live):
        return False
    return any(live_together(live, a.name, b.name) for a in one.buffers for b in two.buffers)


def _are_known(one: StorageRegion, two: StorageRegion, live: LiveRanges | None) -> bool:
    names = [buffer.name for buffer in (*one.buffers, *two.buffers)]
    return live is not None and all(name in live for name in names)


def _fewer_stages(regions: Regions) -> Iterator[tuple[Step, Regions]]:
    logical = {name: count for region in regions for name, count in _logical(region).items()}
    for count in sorted({count for count in logical.values() if count > 1}, reverse=True):
        cut = [b for region in regions for b in region.buffers if logical[b.name] == count]
        for fewer in _fewer(count):
            text = _counts(cut, count, fewer)
            after = tuple(_with_count(region, count, fewer) for region in regions)
            yield Step("stages", f"count {count}", text), after
    for position, region in enumerate(regions):
        for step, new in _shorter_groups(region):
            yield step, _replaced(regions, position, new)


def _fewer(count: int) -> range:
    """Smaller numbers than `count`, the nearest first; of very many, some all the way down."""
    return range(count - 1, 0, -max(1, count // MAX_STAGES))


def _counts(cut: Sequence[Buffer], times: int, fewer: int) -> str:
    """The new counts in prose: ``1 instead of 2 buffers of 'qk', 2 instead of 4 of 'p'``."""
    texts: list[str] = []
    for old in dict.fromkeys(buffer.count for buffer in cut):
        names = listed([buffer.name for buffer in cut if buffer.count == old])
        what = "of" if texts else "buffers of"
        texts.append(f"{old // times * fewer} instead of {old} {what} {names}")
    return ", ".join(texts)


def _logical(region: StorageRegion) -> dict[str, int]:
    """The logical count of every buffer; outside of trees a buffer counts for itself."""
    counts = {buffer.name: buffer.count for buffer in region.buffers}
    for phase in region.phases:
        counts |= {leaf.buffer.name: leaf.logical_count for leaf in leaves(phase.tree)}
    return counts


def _with_count(region: StorageRegion, count: int, fewer: int) -> StorageRegion:
    """The region with `fewer` logical buffers wherever there were `count`."""
    logical = _logical(region)
    cut = [buffer for buffer in region.buffers if logical[buffer.name] == count]
    return _recount(region, {buffer.name: buffer.count // count * fewer for buffer in cut})


def _recount(region: StorageRegion, counts: dict[str, int]) -> StorageRegion:
    buffers = {b.name: _cut(b, counts.get(b.name, b.count)) for b in region.buffers}
    trees = [_with_buffers(phase.tree, buffers) for phase in region.phases]
    return replace(region.with_trees(*trees), buffers=tuple(buffers.values()))


def _cut(buffer: Buffer, count: int) -> Buffer:
    """`buffer` with another count; the declared columns shrink with it."""
    if buffer.declared is None or count == buffer.count:
        return replace(buffer, count=count)
    rows, columns = buffer.declared
    return replace(buffer, count=count, declared=(rows, -(-columns * count // buffer.count)))


def _with_buffers(tree: Tree, buffers: dict[str, Buffer]) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf(buffers[tree.buffer.name])
    return replace(tree, children=tuple(_with_buffers(child, buffers) for child in tree.children))


def _shorter_groups(region: StorageRegion) -> Iterator[tuple[Step, StorageRegion]]:
    """Stages that are counted by a group size."""
    tree = region.tree
    if tree is None or any(leaf.logical_count > 1 for leaf in leaves(tree)):
        return
    for path, group in groups(tree):
        inside = [leaf.buffer for leaf in leaves(group)]
        for fewer in _fewer(group.group_size):
            smaller = replace_at(tree, path, replace(group, group_size=fewer))
            counts = {b.name: b.count // group.group_size * fewer for b in inside}
            stages = _counts(inside, group.group_size, fewer)
            text = f"group_size={fewer} instead of {group.group_size}, with {stages}"
            step = Step("stages", f"group {region.name} {path}", text)
            yield step, _recount(region.with_trees(smaller), counts)
