"""Reuse trees: which buffers overlap, which are disjoint, and how much space that takes.

The leaves are buffers. The children of a *shared* group start at the same offset, those of a
*distinct* group follow each other. A shared group with ``group_size=G`` repeats its content G times
inside one logical buffer, which is how one buffer of an operand holds G sub-tiles of another::

    shared(qk, distinct(shared(p, group_size=2), alpha))

    qk     |0.........................................|   logical buffer 0 | logical buffer 1 ...
    p      |p0.......|p1.......|
    alpha                      |a|

Sizes (docs/design/storage-alias.md#sizes), with ``a`` = 128 in shared memory and the widest buffer
below in tensor memory::

    size(leaf)         = unit
    size(shared)       = max size(child)                      group_size 1
    size(shared)       = group_size * block, block = align_up(max size(child), a)
    size(distinct)     = fold: x = align_up(x, a(child)) + size(child)
    stride(tree)       = align_up(size(tree), a)              logical buffer i to i + 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tilewright.memory.rules import Finding, Path, finding
from tilewright.memory.targets import SMEM_SIBLING_ALIGNMENT, Memory
from tilewright.memory.units import Buffer, align_up


class ReuseKind(Enum):
    """How a group arranges its children."""

    SHARED = "shared"
    DISTINCT = "distinct"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Leaf:
    """A buffer in a tree."""

    buffer: Buffer

    def __str__(self) -> str:
        return self.buffer.name


@dataclass(frozen=True)
class Group:
    """A reuse group. Building one checks nothing; `validate` reports what is wrong with it."""

    kind: ReuseKind
    children: tuple[Leaf | Group, ...]
    group_size: int = 1
    source: str = ""

    @property
    def label(self) -> str:
        return str(self.kind) + (f"*{self.group_size}" if self.group_size != 1 else "")

    def __str__(self) -> str:
        parts = [str(child) for child in self.children]
        if self.group_size != 1:
            parts.append(f"group_size={self.group_size}")
        return f"{self.kind}({', '.join(parts)})"


Tree: TypeAlias = Leaf | Group


def shared(*children: Tree | Buffer, group_size: int = 1, source: str = "") -> Group:
    """A shared group of trees or bare buffers."""
    return Group(ReuseKind.SHARED, _as_trees(children), group_size, source)


def distinct(*children: Tree | Buffer, group_size: int = 1, source: str = "") -> Group:
    """A distinct group of trees or bare buffers."""
    return Group(ReuseKind.DISTINCT, _as_trees(children), group_size, source)


def _as_trees(children: tuple[Tree | Buffer, ...]) -> tuple[Tree, ...]:
    return tuple(Leaf(child) if isinstance(child, Buffer) else child for child in children)


@dataclass(frozen=True)
class LeafAt:
    """A leaf with its path from the root; `group_size` multiplies those of the groups above."""

    buffer: Buffer
    path: Path
    group_size: int

    @property
    def logical_count(self) -> int:
        """How many logical buffers of the tree the allocation fills."""
        return self.buffer.count // self.group_size


def leaves(tree: Tree) -> tuple[LeafAt, ...]:
    """All leaves from left to right."""
    return tuple(_leaves(tree, (), 1))


def _leaves(tree: Tree, path: Path, group_size: int) -> Iterator[LeafAt]:
    if isinstance(tree, Leaf):
        yield LeafAt(tree.buffer, path, group_size)
        return
    for index, child in enumerate(tree.children):
        yield from _leaves(child, (*path, index), group_size * tree.group_size)


def groups(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Group]]:
    """All groups with their paths, parents before children."""
    if isinstance(tree, Leaf):
        return
    yield path, tree
    for index, child in enumerate(tree.children):
        yield from groups(child, (*path, index))


def node_at(tree: Tree, path: Path) -> Tree:
    """The node that `path` leads to."""
    for index in path:
        if isinstance(tree, Leaf):
            raise IndexError(f"{path} leads below the leaf {tree}")
        tree = tree.children[index]
    return tree


def replace_at(tree: Tree, path: Path, new: Tree) -> Tree:
    """`tree` with the node at `path` replaced."""
    if not path:
        return new
    if isinstance(tree, Leaf):
        raise IndexError(f"{path} leads below the leaf {tree}")
    index, rest = path[0], path[1:]
    child = replace_at(tree.children[index], rest, new)
    children = (*tree.children[:index], child, *tree.children[index + 1 :])
    return Group(tree.kind, children, tree.group_size, tree.source)


def describe(tree: Tree, path: Path) -> str:
    """The path to a node as text: ``shared > distinct > shared*2 > p``."""
    labels: list[str] = []
    for depth in range(len(path) + 1):
        node = node_at(tree, path[:depth])
        labels.append(node.label if isinstance(node, Group) else str(node))
    return " > ".join(labels)


def pretty(tree: Tree, indent: str = "") -> str:
    """The tree over several lines, each leaf with its size."""
    if isinstance(tree, Leaf):
        return f"{indent}{tree.buffer}"
    head = f"{indent}{tree.label} {size(tree)} {memory_of(tree).unit_name}"
    return "\n".join([head, *(pretty(child, indent + "  ") for child in tree.children)])


def memory_of(tree: Tree) -> Memory:
    """The memory of the tree; all its leaves agree, or `validate` reports it."""
    while isinstance(tree, Group):
        tree = tree.children[0]
    return tree.buffer.memory


def granule(tree: Tree) -> int:
    """What the start of this subtree is aligned to among its siblings."""
    if isinstance(tree, Group):
        return max(granule(child) for child in tree.children)
    buffer = tree.buffer
    if buffer.memory is Memory.TMEM:
        return buffer.unit
    return max(SMEM_SIBLING_ALIGNMENT, buffer.element_bytes)


def size(tree: Tree) -> int:
    """Space of one logical buffer, without the gap to the next one."""
    if isinstance(tree, Leaf):
        return tree.buffer.unit
    if tree.kind is ReuseKind.DISTINCT:
        end = 0
        for child in tree.children:
            end = align_up(end, granule(child)) + size(child)
        return end
    return _widest_child(tree) if tree.group_size == 1 else tree.group_size * block(tree)


def _widest_child(group: Group) -> int:
    return max(size(child) for child in group.children)


def block(group: Group) -> int:
    """Distance between two repetitions of a shared group's content."""
    return align_up(_widest_child(group), granule(group))


def stride(tree: Tree) -> int:
    """Distance between two logical buffers when the tree is the only one."""
    return align_up(size(tree), granule(tree))


def validate(tree: Tree) -> tuple[Finding, ...]:
    """Everything wrong with the tree itself, before any placement. Warnings come last."""
    malformed = tuple(_malformed_groups(tree))
    if malformed:
        return malformed
    at = leaves(tree)
    return (*_duplicates(at), *_foreign(at), *_counts(at), *_uneven(at))


def _malformed_groups(tree: Tree) -> Iterator[Finding]:
    for path, group in groups(tree):
        if not group.children:
            yield finding("V1", group.label, path=path)
        if group.group_size < 1:
            yield finding("V2", group.label, path=path, group_size=group.group_size)
        elif group.group_size > 1 and group.kind is ReuseKind.DISTINCT:
            inner = distinct(*group.children)
            note = f"write {shared(inner, group_size=group.group_size)}"
            yield finding("E13", group.label, path=path, notes=(note,), group_size=group.group_size)


def _duplicates(at: tuple[LeafAt, ...]) -> Iterator[Finding]:
    seen: set[str] = set()
    for leaf in at:
        if leaf.buffer.name in seen:
            yield finding("V3", leaf.buffer.name, path=leaf.path)
        seen.add(leaf.buffer.name)


def _foreign(at: tuple[LeafAt, ...]) -> Iterator[Finding]:
    """Two memories in one tree can only mean two specs."""
    for leaf in at:
        if leaf.buffer.memory is not at[0].buffer.memory:
            yield finding("V4", leaf.buffer.name, path=leaf.path)
        elif leaf.buffer.memory is Memory.TMEM and not leaf.buffer.is_indexed:
            yield finding("V5", leaf.buffer.name, path=leaf.path)


def _counts(at: tuple[LeafAt, ...]) -> Iterator[Finding]:
    for leaf in at:
        count, name = leaf.buffer.count, leaf.buffer.name
        if count % leaf.group_size:
            yield finding("E16", name, path=leaf.path, count=count, group_size=leaf.group_size)


def _uneven(at: tuple[LeafAt, ...]) -> Iterator[Finding]:
    """Leaves whose logical count differs from the most frequent one (the first among equals)."""
    even = [leaf for leaf in at if leaf.buffer.count % leaf.group_size == 0]
    if not even:
        return
    # Counter keeps the order of first occurrence, and max() takes the first of several maxima.
    frequency = Counter(leaf.logical_count for leaf in even)
    peers = max(frequency, key=lambda count: frequency[count])
    for leaf in even:
        if leaf.logical_count != peers:
            yield finding(
                "W4",
                leaf.buffer.name,
                path=leaf.path,
                count=leaf.buffer.count,
                logical=leaf.logical_count,
                peers=peers,
            )
