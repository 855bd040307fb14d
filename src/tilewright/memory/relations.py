"""The guarantees of a tree about every pair of its buffers.

The lowest group that contains two leaves decides:

* a *distinct* group: no buffer of one ever overlaps a buffer of the other;
* a *shared* group: they may overlap only inside one repetition of its content. Buffer ``i`` of
  a leaf belongs to repetition ``i div k``, ``k`` being the group sizes between leaf and group,
  multiplied, the group itself left out.

A kernel may rely on this; it follows from the tree alone, not from any placement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from tilewright.memory.rules import Path
from tilewright.memory.tree import Group, ReuseKind, Tree, leaves, node_at


@dataclass(frozen=True)
class Relation:
    """The guarantee for two leaves. `first_per` and `second_per` are buffers per repetition."""

    first: str
    second: str
    kind: ReuseKind
    first_per: int = 1
    second_per: int = 1

    def __str__(self) -> str:
        if self.kind is ReuseKind.DISTINCT:
            return f"'{self.first}' and '{self.second}' are distinct"
        return (
            f"'{self.first}' and '{self.second}' share where "
            f"index/{self.first_per} = index/{self.second_per}"
        )


def relations(tree: Tree) -> Iterator[Relation]:
    """The guarantee for every pair of leaves, in the order of the leaves."""
    at = leaves(tree)
    chains = [_chain(tree, leaf.path) for leaf in at]
    for (one, one_chain), (two, two_chain) in combinations(zip(at, chains, strict=True), 2):
        depth = _common(one.path, two.path)
        group, one_per = one_chain[depth]
        if group.kind is ReuseKind.DISTINCT:
            yield Relation(one.buffer.name, two.buffer.name, ReuseKind.DISTINCT)
        else:
            two_per = two_chain[depth][1]
            yield Relation(one.buffer.name, two.buffer.name, ReuseKind.SHARED, one_per, two_per)


def _common(one: Path, two: Path) -> int:
    depth = 0
    while one[depth] == two[depth]:
        depth += 1
    return depth


def _chain(tree: Tree, path: Path) -> list[tuple[Group, int]]:
    """The groups from the root to the leaf, each with the group sizes below it multiplied."""
    found: list[tuple[Group, int]] = []
    below = 1
    for depth in range(len(path) - 1, -1, -1):
        group = node_at(tree, path[:depth])
        assert isinstance(group, Group)
        found.append((group, below))
        below *= group.group_size
    return found[::-1]
