"""A second opinion on placements: sets of points as bit masks, promises by plain recursion.

Slow and simple on purpose, and written without the planner or the checker in mind. `reference`
is the placement of docs/design/storage-alias.md#placement; `broken` says whether any promise is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.memory import Group, Leaf, Memory, ReuseKind, Tree

Starts = Mapping[str, Sequence[tuple[int, int]]]
"""Start and length of every buffer, by name."""


def up(value: int, alignment: int) -> int:
    while value % alignment:
        value += 1
    return value


def leaves_of(tree: Tree) -> list[Leaf]:
    if isinstance(tree, Leaf):
        return [tree]
    return [leaf for child in tree.children for leaf in leaves_of(child)]


def _widest(tree: Tree) -> int:
    leaves = leaves_of(tree)
    if leaves[0].buffer.memory is Memory.SMEM:
        return 128
    return max(leaf.buffer.unit for leaf in leaves)


def _size(tree: Tree) -> int:
    if isinstance(tree, Leaf):
        return tree.buffer.unit
    if tree.kind is ReuseKind.SHARED:
        largest = max(map(_size, tree.children))
        return largest if tree.group_size == 1 else tree.group_size * up(largest, _widest(tree))
    end = 0
    for child in tree.children:
        end = up(end, _widest(child)) + _size(child)
    return end


def reference(tree: Tree) -> tuple[int, dict[str, list[int]]]:
    """The stride, and where every buffer starts."""
    stride = up(_size(tree), _widest(tree))
    found: dict[str, list[int]] = {}

    def go(node: Tree, offset: int, blocks: list[tuple[int, int]]) -> None:
        if isinstance(node, Leaf):
            found[node.buffer.name] = [
                offset + _address(index, blocks, stride) for index in range(node.buffer.count)
            ]
        elif node.kind is ReuseKind.SHARED:
            if node.group_size > 1:
                block = up(max(map(_size, node.children)), _widest(node))
                blocks = [(node.group_size, block), *blocks]
            for child in node.children:
                go(child, offset, blocks)
        else:
            for child in node.children:
                offset = up(offset, _widest(child))
                go(child, offset, blocks)
                offset += _size(child)

    go(tree, 0, [])
    return stride, found


def _address(index: int, blocks: Sequence[tuple[int, int]], stride: int) -> int:
    total = 0
    for radix, block in blocks:
        index, digit = divmod(index, radix)
        total += digit * block
    return total + index * stride


@dataclass(frozen=True)
class Promises:
    """Everything that has to hold for a region."""

    tree: Tree
    stride: int
    extent: int
    base_alignment: int = 1
    residue: int = 0
    capacity: int | None = None


def broken(promises: Promises, starts: Starts) -> list[str]:
    """Which rules do not hold; empty for a good placement."""
    return [*_single(promises, starts), *_selves(starts), *_pairs(promises.tree, starts)]


def _mask(place: tuple[int, int]) -> int:
    start, length = place
    return ((1 << length) - 1) << start


def _single(promises: Promises, starts: Starts) -> Iterator[str]:
    if promises.capacity is not None and promises.extent > promises.capacity:
        yield "capacity"
    region = (1 << promises.extent) - 1
    per = dict(_per_logical(promises.tree))
    for leaf in leaves_of(promises.tree):
        name = leaf.buffer.name
        for index, place in enumerate(starts[name]):
            if place[0] < 0:
                yield "negative"
                continue
            mask = _mask(place)
            if mask & ~region:
                yield "backing"
            window = _mask((index // per[name] * promises.stride, promises.stride))
            if mask & ~window:
                yield "window"
            demand = leaf.buffer.alignment
            if promises.base_alignment % demand or (promises.residue + place[0]) % demand:
                yield "alignment"


def _selves(starts: Starts) -> Iterator[str]:
    for places in starts.values():
        seen = 0
        for place in places:
            if place[0] < 0:
                continue
            if seen & _mask(place):
                yield "self"
            seen |= _mask(place)


def _per_logical(tree: Tree) -> Iterator[tuple[str, int]]:
    """For each leaf, how many of its buffers one copy of the tree holds."""
    if isinstance(tree, Leaf):
        yield tree.buffer.name, 1
        return
    for child in tree.children:
        for name, count in _per_logical(child):
            yield name, count * tree.group_size


def _pairs(tree: Tree, starts: Starts) -> Iterator[str]:
    if isinstance(tree, Leaf):
        return
    for position, one in enumerate(tree.children):
        yield from _pairs(one, starts)
        for two in tree.children[position + 1 :]:
            yield from _children(tree, one, two, starts)


def _children(group: Group, one: Tree, two: Tree, starts: Starts) -> Iterator[str]:
    """Buffers of two children, copy by copy."""
    for name, per in _per_logical(one):
        for other, other_per in _per_logical(two):
            for i, place in enumerate(starts[name]):
                for j, other_place in enumerate(starts[other]):
                    if min(place[0], other_place[0]) < 0 or not _mask(place) & _mask(other_place):
                        continue
                    if group.kind is ReuseKind.DISTINCT:
                        yield "distinct"
                    elif i // per != j // other_per:
                        yield "shared"
