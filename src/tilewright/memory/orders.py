"""Other orders of siblings.

The order of a distinct group is the user's, and nothing here changes it. But when it does not work
(a large tile after a small one is not at a multiple of its own size) the message should name one
that does. Orders are tried from the likely to the exhaustive, and only one that `works`, which is
the planner itself, is returned:

1. one group at a time, nearest to the failing leaf first, largest buffer first;
2. all groups at once, largest first;
3. every permutation of one group at a time, up to a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, permutations

from tilewright.memory.rules import Path
from tilewright.memory.tree import Group, Leaf, ReuseKind, Tree, groups, leaves, node_at, replace_at

MAX_ORDERS = 1000
"""How many orders are tried at most; a group of six children has 720."""

_MAX_LEAVES_PLACED = 10_000
"""Fewer orders of larger trees, so that a hopeless search stays below a second."""


def working_order(tree: Tree, failing: Path, works: Callable[[Tree], bool]) -> Tree | None:
    """`tree` with some distinct groups reordered so that `works` holds, or None."""
    budget = min(MAX_ORDERS, _MAX_LEAVES_PLACED // len(leaves(tree)))
    for candidate in islice(orders(tree, failing), budget):
        if works(candidate):
            return candidate
    return None


def orders(tree: Tree, failing: Path = ()) -> Iterator[Tree]:
    """Other orders of `tree`, each once, the original left out."""
    seen = {tree}
    for candidate in _orders(tree, failing):
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def _orders(tree: Tree, failing: Path) -> Iterator[Tree]:
    distinct = [path for path, group in groups(tree) if group.kind is ReuseKind.DISTINCT]
    near = [path for path in reversed(distinct) if path == failing[: len(path)]]
    paths = [*near, *(path for path in distinct if path not in near)]
    for path in paths:
        yield replace_at(tree, path, _sorted_group(_group_at(tree, path)))
    yield _sorted_everywhere(tree)
    for path in paths:
        group = _group_at(tree, path)
        for children in permutations(group.children):
            yield replace_at(tree, path, _with_children(group, children))


def _group_at(tree: Tree, path: Path) -> Group:
    node = node_at(tree, path)
    assert isinstance(node, Group)
    return node


def _with_children(group: Group, children: tuple[Tree, ...]) -> Group:
    return Group(group.kind, children, group.group_size, group.source)


def _largest_unit(tree: Tree) -> int:
    return max(leaf.buffer.unit for leaf in leaves(tree))


def _sorted_group(group: Group) -> Group:
    """Largest buffer first; equals keep their order."""
    return _with_children(group, tuple(sorted(group.children, key=_largest_unit, reverse=True)))


def _sorted_everywhere(tree: Tree) -> Tree:
    if isinstance(tree, Leaf):
        return tree
    group = _with_children(tree, tuple(_sorted_everywhere(child) for child in tree.children))
    return _sorted_group(group) if group.kind is ReuseKind.DISTINCT else group


def changed_groups(old: Tree, new: Tree) -> tuple[Group, ...]:
    """The outermost groups of `new` whose children are in another order than in `old`."""
    if isinstance(old, Leaf) or isinstance(new, Leaf) or old == new:
        return ()
    if [_names(child) for child in old.children] != [_names(child) for child in new.children]:
        return (new,)
    pairs = zip(old.children, new.children, strict=True)
    return tuple(group for pair in pairs for group in changed_groups(*pair))


def _names(tree: Tree) -> frozenset[str]:
    return frozenset(leaf.buffer.name for leaf in leaves(tree))
