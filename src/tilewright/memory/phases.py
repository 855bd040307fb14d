"""Several overlap definitions over one region, for fused kernels.

Rules: docs/design/storage-alias.md#phases.

Every phase has its own tree, and all of them use the same bytes. Trees are placed in program
order. A leaf that an earlier phase placed is an *anchor*: its addresses stay, and the later tree
has to be content with them. What is new in that tree goes, subtree by subtree, to the lowest offset
that violates no guarantee. A tree without anchors is placed as if alone.

Because logical buffers repeat with one stride, it is enough to look at a single one: all leaves of
a tree are placed alike inside ``0 .. stride``. A tree with anchors takes their stride; only
where no anchor has a second logical buffer may the stride grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

from tilewright.memory.placement import Level, Mode, Placement
from tilewright.memory.relations import Relation, relations
from tilewright.memory.rules import Finding, Path, finding
from tilewright.memory.tree import Group, Leaf, ReuseKind, Tree, leaves, memory_of
from tilewright.memory.tree_layout import Item, Rounding, TreePlacement, lay, place_tree
from tilewright.memory.units import align_up


@dataclass(frozen=True)
class Phase:
    """One overlap definition. The name is empty where a region has only one."""

    tree: Tree
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.tree}" if self.name else str(self.tree)


class PhaseError(Exception):
    """A phase that cannot be placed over the earlier ones."""

    def __init__(self, found: Finding) -> None:
        super().__init__(found.message)
        self.finding = found


def lay_out_phases(phases: Sequence[Phase], rounding: Rounding) -> tuple[TreePlacement, ...]:
    """Place all trees in order. Raises PhaseError where an anchor is in the way."""
    anchors: dict[str, Placement] = {}
    placed: list[TreePlacement] = []
    for phase in phases:
        known = {
            leaf.buffer.name: anchors[leaf.buffer.name]
            for leaf in leaves(phase.tree)
            if leaf.buffer.name in anchors
        }
        try:
            tree = (
                _Anchored(phase, known, rounding).place_tree()
                if known
                else place_tree(phase.tree, rounding, phase.name)
            )
        except PhaseError as error:
            raise PhaseError(replace(error.finding, phase=phase.name)) from None
        placed.append(tree)
        anchors |= {placement.buffer.name: placement for placement in tree.placements}
    return tuple(placed)


@dataclass(frozen=True)
class _Taken:
    """One interval inside the first logical buffer, and which buffer of the leaf it is."""

    name: str
    index: int
    start: int
    end: int


class _Anchored:
    """The placement of one tree some of whose leaves are fixed."""

    def __init__(self, phase: Phase, anchors: Mapping[str, Placement], rounding: Rounding) -> None:
        self.phase = phase
        self.anchors = anchors
        self.rounding = rounding
        self.guarantees = {(r.first, r.second): r for r in relations(phase.tree)}
        self.paths = {leaf.buffer.name: leaf.path for leaf in leaves(phase.tree)}
        self.stride = self._inherited_stride()
        self.placed: dict[str, Placement] = {}
        self.taken: list[_Taken] = []

    def place_tree(self) -> TreePlacement:
        for name, anchor in self.anchors.items():
            self._keep(anchor, self._levels_of(name))
        self._walk(self.phase.tree, (), ())
        size = max(interval.end for interval in self.taken)
        stride = self.stride or align_up(size, self._pitch())
        placements = (self._finish(self.placed[name], stride) for name in self.paths)
        return TreePlacement(
            self.phase.tree, stride, size, tuple(placements), phase=self.phase.name
        )

    def _pitch(self) -> int:
        """What a stride of this tree's own is rounded to."""
        at = leaves(self.phase.tree)
        repeated = [leaf.buffer for leaf in at if leaf.logical_count > 1]
        return self.rounding.pitch(self.phase.tree, repeated)

    def _finish(self, placement: Placement, stride: int) -> Placement:
        """Give a new leaf its outermost level; an anchor keeps its own."""
        name = placement.buffer.name
        if name in self.anchors:
            anchor = self.anchors[name]
            return Placement(anchor.buffer, anchor.offset, anchor.levels, self.paths[name])
        levels = (*placement.levels[:-1], Level(None, stride))
        return Placement(placement.buffer, placement.offset, levels, placement.path)

    def _inherited_stride(self) -> int | None:
        """The stride all anchors with several logical buffers have; None where none has."""
        repeated = [
            anchor for anchor in self.anchors.values() if anchor.buffer.count > anchor.group_size
        ]
        for anchor in repeated[1:]:
            if anchor.stride != repeated[0].stride:
                first = repeated[0].buffer.name
                reason = f"'{first}' repeats every {repeated[0].stride}, this every {anchor.stride}"
                raise PhaseError(self._contradiction(anchor, reason))
        return repeated[0].stride if repeated else None

    def _levels_of(self, name: str) -> tuple[int, ...]:
        """The group sizes above a leaf of this tree, innermost first."""
        sizes: list[int] = []
        node = self.phase.tree
        for index in self.paths[name]:
            assert isinstance(node, Group)
            if node.group_size > 1:
                sizes.append(node.group_size)
            node = node.children[index]
        return tuple(reversed(sizes))

    def _keep(self, anchor: Placement, sizes: tuple[int, ...]) -> None:
        """Take an anchor as it is, if this tree can live with it."""
        have = tuple(level.radix for level in anchor.levels[:-1])
        if have != sizes:
            reason = f"group sizes {list(have)} against {list(sizes)}"
            raise PhaseError(self._contradiction(anchor, reason))
        for interval in _intervals(anchor):
            if self.stride is not None and interval.end > self.stride:
                reason = f"the buffer ends at {interval.end}, past its stride of {self.stride}"
                raise PhaseError(self._contradiction(anchor, reason))
            clash = self._clash(interval)
            if clash is not None:
                reason = f"'{clash.name}' is at {clash.start}..{clash.end}"
                raise PhaseError(self._contradiction(anchor, reason))
        self._record(anchor)

    def _contradiction(self, anchor: Placement, reason: str) -> Finding:
        name = anchor.buffer.name
        path = self.paths[name]
        return finding("E19", name, path=path, placement=f"'{anchor}'", reason=reason)

    def _record(self, placement: Placement) -> None:
        self.placed[placement.buffer.name] = placement
        self.taken += _intervals(placement)

    def _clash(self, interval: _Taken) -> _Taken | None:
        """The first interval that `interval` may not overlap but does."""
        for other in self.taken:
            is_overlap = other.start < interval.end and interval.start < other.end
            if is_overlap and not self._may(interval, other):
                return other
        return None

    def _may(self, one: _Taken, two: _Taken) -> bool:
        guarantee = self.guarantees.get((one.name, two.name))
        if guarantee is not None:
            return _allows(guarantee, one.index, two.index)
        back = self.guarantees.get((two.name, one.name))
        return back is not None and _allows(back, two.index, one.index)

    def _walk(self, tree: Tree, path: Path, outer: tuple[Level, ...]) -> None:
        """Place what is new below `tree`; `outer` are the levels above, innermost first."""
        inside = [leaf.buffer.name for leaf in leaves(tree) if leaf.buffer.name in self.anchors]
        if not inside:
            self._fit(tree, path, outer)
            return
        if isinstance(tree, Leaf):
            return
        if tree.group_size > 1:
            outer = (self._level(tree, inside, len(outer)), *outer)
        for index, child in enumerate(tree.children):
            self._walk(child, (*path, index), outer)

    def _level(self, group: Group, anchors: Sequence[str], depth: int) -> Level:
        """The level an anchor gives to a group; all anchors below have to agree on it."""
        levels = [self.anchors[name].levels[-(depth + 2)] for name in anchors]
        for name, level in zip(anchors, levels, strict=True):
            if level != levels[0]:
                reason = f"'{anchors[0]}' repeats every {levels[0].block}, this every {level.block}"
                raise PhaseError(self._contradiction(self.anchors[name], reason))
        return Level(group.group_size, levels[0].block)

    def _fit(self, tree: Tree, path: Path, outer: tuple[Level, ...]) -> None:
        """Put a subtree without anchors at the lowest offset where it violates no guarantee."""
        start, step = 0, self._step(tree)
        while True:
            start = align_up(start, step)
            end, items = lay(tree, start, self.rounding)
            self._require_space(tree, path, end, end - start, outer)
            shift = self._shift(items, outer)
            if shift == 0:
                break
            start += shift
        for placement in self._placements(items, outer):
            self._record(placement)

    def _step(self, tree: Tree) -> int:
        """What the start of a new subtree is rounded to.

        Where indices will be rewritten, only offsets that keep every leaf at a multiple of its
        unit are of use, if the subtree has any such offset at all.
        """
        step = self.rounding.step(tree)
        if self.rounding.mode is not Mode.REINDEX:
            return step
        _, items = lay(tree, 0, self.rounding)
        new = [item for item in items if item.buffer is not None]
        if any(item.offset % item.length for item in new):
            return step
        return lcm(step, *(item.length for item in new))

    def _require_space(
        self, tree: Tree, path: Path, end: int, size: int, outer: tuple[Level, ...]
    ) -> None:
        """A block has to fit into the blocks around it, and all of it into the stride."""
        limits = [(size, level.block) for level in outer[:1]]
        if self.stride is not None:
            last = end + sum((level.radix or 1) * level.block - level.block for level in outer)
            limits.append((last, self.stride))
        for needed, available in limits:
            if needed > available:
                unit = memory_of(tree).unit_name
                raise PhaseError(
                    finding(
                        "E4", str(tree), path=path, needed=needed, available=available, unit=unit
                    )
                )

    def _shift(self, items: Sequence[Item], outer: tuple[Level, ...]) -> int:
        """The distance that resolves the first conflict; a shorter one would leave it."""
        for placement in self._placements(items, outer):
            for interval in _intervals(placement):
                clash = self._clash(interval)
                if clash is not None:
                    return clash.end - interval.start
        return 0

    def _placements(self, items: Sequence[Item], outer: tuple[Level, ...]) -> Iterator[Placement]:
        # The outermost block is filled in at the end; until then it only closes the levels.
        for item in items:
            if item.buffer is not None:
                levels = (*item.levels, *outer, Level(None, 0))
                yield Placement(item.buffer, item.offset, levels, self.paths[item.buffer.name])


def _allows(guarantee: Relation, first: int, second: int) -> bool:
    if guarantee.kind is ReuseKind.DISTINCT:
        return False
    return first // guarantee.first_per == second // guarantee.second_per


def _intervals(placement: Placement) -> list[_Taken]:
    """What a leaf covers of the first logical buffer."""
    return [
        _Taken(placement.buffer.name, index, start, start + placement.buffer.unit)
        for index in range(placement.group_size)
        for start in [placement.address(index)]
    ]
