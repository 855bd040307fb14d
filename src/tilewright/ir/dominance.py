"""Which values may be used where.

A block ``a`` dominates a block ``b`` when every path from the region's entry to ``b`` goes through
``a``. A value dominates an op when its definition is certain to have run before the op does::

    value defined in block d, used by op u:
        climb from u to the op u' that is in d's region (u' may be u itself)
        block(u') is d   ->  the definition precedes u'
        otherwise        ->  d dominates block(u')

Blocks that the entry cannot reach never run, so anything dominates them and they dominate nothing
but themselves; this is MLIR's rule too. The tree is found by the iterative algorithm of Cooper,
Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), and queried in constant time by
numbering it in depth-first order.
"""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue


def successors_of(block: Block) -> Sequence[Block]:
    """The blocks that ``block`` may jump to."""
    last = block.last_op
    return () if last is None else last.successors


class DominatorTree:
    """The dominance relation among the blocks of one region, as it is when the tree is made."""

    def __init__(self, region: Region):
        self._idom: dict[Block, Block] = {}
        self._span: dict[Block, tuple[int, int]] = {}
        entry = region.first_block
        if entry is None:
            return
        order = _reverse_postorder(entry)
        self._idom = _immediate_dominators(order)
        self._span = _depth_first_spans(entry, self._idom)

    def is_reachable(self, block: Block) -> bool:
        return block in self._span

    def immediate_dominator(self, block: Block) -> Block | None:
        """The closest strict dominator; ``None`` for the entry and for unreachable blocks."""
        idom = self._idom.get(block)
        return None if idom is block else idom

    def dominates(self, a: Block, b: Block) -> bool:
        """Whether ``a`` dominates ``b``; every block dominates itself."""
        if a is b:
            return True
        inner = self._span.get(b)
        if inner is None:
            return True
        outer = self._span.get(a)
        return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


class Dominance:
    """Dominance of values over ops, with one tree per region, computed on first use."""

    def __init__(self) -> None:
        self._trees: dict[Region, DominatorTree] = {}

    def tree(self, region: Region) -> DominatorTree:
        tree = self._trees.get(region)
        if tree is None:
            tree = self._trees[region] = DominatorTree(region)
        return tree

    def dominates(self, value: SSAValue, user: Operation) -> bool:
        """Whether ``value`` is defined whenever ``user`` runs."""
        owner = value.owner
        block = owner.parent if isinstance(owner, Operation) else owner
        if block is None or block.parent is None:
            return False
        anchor = ancestor_in_region(user, block.parent)
        if anchor is None or anchor.parent is None:
            return False
        if anchor.parent is not block:
            return self.tree(block.parent).dominates(block, anchor.parent)
        return not isinstance(value, OpResult) or value.op.is_before_in_block(anchor)


def ancestor_in_region(op: Operation, region: Region) -> Operation | None:
    """``op`` or the op around it that stands directly in ``region``."""
    current: Operation | None = op
    while current is not None and current.parent_region() is not region:
        current = current.parent_op()
    return current


def _reverse_postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(successors_of(entry)))]
    while stack:
        block, successors = stack[-1]
        fresh = next((succ for succ in successors if succ not in seen), None)
        if fresh is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(successors_of(fresh))))
    order.reverse()
    return order


def _immediate_dominators(order: list[Block]) -> dict[Block, Block]:
    entry = order[0]
    order_index = {block: index for index, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for succ in successors_of(block):
            predecessors[succ].append(block)

    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [pred for pred in predecessors[block] if pred in idom]
            best = known[0]
            for other in known[1:]:
                best = _common_dominator(best, other, idom, order_index)
            if idom.get(block) is not best:
                idom[block] = best
                changed = True
    return idom


def _common_dominator(
    a: Block, b: Block, idom: dict[Block, Block], order_index: dict[Block, int]
) -> Block:
    while a is not b:
        while order_index[a] > order_index[b]:
            a = idom[a]
        while order_index[b] > order_index[a]:
            b = idom[b]
    return a


def _depth_first_spans(entry: Block, idom: dict[Block, Block]) -> dict[Block, tuple[int, int]]:
    """Entry and exit time of each block in a walk of the tree: ancestors enclose descendants."""
    children: dict[Block, list[Block]] = {block: [] for block in idom}
    for block, parent in idom.items():
        if block is not entry:
            children[parent].append(block)

    spans: dict[Block, tuple[int, int]] = {}
    started: dict[Block, int] = {}
    clock = 0
    stack = [(entry, False)]
    while stack:
        block, done = stack.pop()
        if done:
            spans[block] = (started[block], clock)
            continue
        started[block] = clock
        clock += 1
        stack.append((block, True))
        stack.extend((child, False) for child in children[block])
    return spans
