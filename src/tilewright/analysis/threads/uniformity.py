"""Uniformity: values that are equal in all threads of a block, and values that may differ.

    if tid < 32:            # divergent: only some threads reach the body
    for k in range(n):      # n is an argument: the trip count is uniform

Values are traced back to the sources of divergence: the thread index, an election, a shuffle, a
private variable. Loads from memory are assumed to be uniform, as threads synchronise before a write
to the same address; so are loads from fragments, which are tiles of the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import KernelOp, PersistentOp, PipelineOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp


def differs(value: SSAValue) -> bool:
    """Whether a value may differ between the threads of a block."""
    return _Differences().of(value)


def runs_together(op: ForOp) -> bool:
    """Whether the loop has the same trip count in all threads, with sequential iterations.

    The iterations of a thread's share of a parallel loop access different elements: they are one
    op.
    """
    return simt_names.SHARE not in op.attributes and not _Differences().parts(op)


def leaves_apart(op: WhileOp) -> bool:
    """Whether threads may leave a loop after different trip counts."""
    return _Differences().parts(op)


def comes_together(op: Operation, *, atomics_differ: bool = True) -> bool:
    """Whether all threads of a block or of a role reach `op`, as far as known.

    Without `atomics_differ` all threads have the result of each atomic, as one makes it for all.
    """
    is_share = any(simt_names.SHARE in each.attributes for each in _around(op))
    own = _OWN if atomics_differ else _OWN - {"tile.atomic"}
    return not is_share and not _Differences(own).is_apart(op)


def _around(op: Operation) -> Iterator[Operation]:
    """The ops around one, in its block of threads or its role."""
    current = op.parent_op()
    while current is not None and not isinstance(current, WsOp | FuncOp):
        yield current
        current = current.parent_op()


_Node: TypeAlias = "SSAValue | tuple[str, SSAValue | Operation]"
"""A value; a private variable (`cell`); the branches and loops around an op (`apart`), and where
threads diverge at one (`parts`)."""


class _Differences:
    """Traces values to the sources of divergence: a value differs if it is computed from one."""

    def __init__(self, own: AbstractSet[str] | None = None) -> None:
        self._own = _OWN if own is None else own
        self._known: dict[_Node, bool] = {}

    def of(self, value: SSAValue) -> bool:
        return self._reaches(value)

    def is_apart(self, op: Operation) -> bool:
        """Whether only some threads reach `op`, or not all equally many times."""
        return self._reaches(("apart", op))

    def parts(self, op: Operation) -> bool:
        """Whether threads diverge at a branch or a loop."""
        return self._reaches(("parts", op))

    def _reaches(self, root: _Node) -> bool:
        """Whether a source of divergence is among all that `root` is computed from."""
        stack: list[_Node] = [root]
        seen: set[_Node] = {root}
        while stack:
            node = stack.pop()
            known = self._known.get(node)
            if known is False:
                continue
            found = self._computed_from(node) if known is None else None
            if found is None:
                self._known[root] = True
                return True
            for each in found:
                if each not in seen:
                    seen.add(each)
                    stack.append(each)
        self._known.update(dict.fromkeys(seen, False))
        return False

    def _computed_from(self, node: _Node) -> Sequence[_Node] | None:
        """What a node is computed from; None for a source of divergence."""
        if isinstance(node, SSAValue):
            return self._value(node)
        kind, subject = node
        if isinstance(subject, SSAValue):
            return self._cell(subject)
        if kind == "apart":
            return [("parts", each) for each in _around(subject)]
        return self._parts(subject)

    def _value(self, value: SSAValue) -> Sequence[_Node] | None:
        owner = value.owner
        if isinstance(owner, Block):
            return _argument(value, owner)
        if owner.name in self._own:
            return None
        if isinstance(owner, LoadOp):
            return self._loaded(owner)
        if isinstance(owner, IfOp):
            return _chosen(owner, value)
        if isinstance(owner, ForOp | WhileOp):
            position = owner.results.index(value)
            last = _carried if isinstance(owner, ForOp) else _forwarded
            found = last(owner, position)
            return None if found is None else [("parts", owner), *found]
        return None if owner.regions else list(owner.operands)

    def _loaded(self, op: LoadOp) -> Sequence[_Node] | None:
        space = space_of(op.memref.type)
        if space is not None and (space is Space.GLOBAL or space.is_shared):
            return list(op.indices)  # threads synchronise before a write to this address
        if space is Space.FRAGMENT:
            return list(op.indices)  # an element has one value, whichever threads own it
        if space is None or not space.is_per_thread:
            return None
        return [*op.indices, ("cell", base_of(op.memref))]

    def _cell(self, buffer: SSAValue) -> Sequence[_Node] | None:
        """What decides whether threads have different values in a private variable."""
        found: list[_Node] = []
        for use in buffer.uses:
            op = use.operation
            if isinstance(op, LoadOp):
                continue
            if not isinstance(op, StoreOp):
                return None
            found += [op.value, *op.indices, ("apart", op)]
        return found

    def _parts(self, op: Operation) -> Sequence[_Node] | None:
        if isinstance(op, IfOp):
            return [op.condition]
        if isinstance(op, ForOp):
            return [op.lower_bound, op.upper_bound]
        if isinstance(op, WhileOp):
            end = op.regions[0].block.last_op
            return None if end is None else [end.operands[0]]
        return []


def _chosen(op: IfOp, value: SSAValue) -> Sequence[SSAValue]:
    """The result of a branch depends on its condition, and on what either side yields."""
    position = op.results.index(value)
    ends = [region.block.last_op for region in op.regions if region.blocks]
    return [op.condition, *(end.operands[position] for end in ends if end is not None)]


def _argument(value: SSAValue, block: Block) -> Sequence[SSAValue] | None:
    """A loop index depends on its bounds, a loop-carried value on its start and what is yielded."""
    loop, position = block.parent_op(), block.args.index(value)
    if isinstance(loop, ForOp) and position == 0:
        return [loop.lower_bound, loop.upper_bound, loop.step]
    if isinstance(loop, ForOp):
        return _carried(loop, position - 1)
    if isinstance(loop, WhileOp):
        is_test = block is loop.regions[0].block
        return _carried(loop, position) if is_test else _forwarded(loop, position)
    if isinstance(loop, PersistentOp | PipelineOp):
        return list(loop.operands)
    return [] if isinstance(loop, FuncOp | KernelOp) else None


def _carried(loop: ForOp | WhileOp, position: int) -> Sequence[SSAValue] | None:
    """What a loop-carried value is at the start, and what an iteration makes of it."""
    end = loop.regions[-1].block.last_op
    starts = loop.operands[3:] if isinstance(loop, ForOp) else loop.operands
    return None if end is None else [starts[position], end.operands[position]]


def _forwarded(loop: ForOp | WhileOp, position: int) -> Sequence[SSAValue] | None:
    """What the test of a `while` loop passes to its body, and to what follows the loop."""
    end = loop.regions[0].block.last_op
    return None if end is None else [end.operands[1 + position]]


_OWN = frozenset(
    (
        *("gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id", "nv.elect", "tile.extern"),
        *("tile.shuffle", "tile.atomic", "tile.vote", "tile.warp_reduce"),
    )
)
"""Ops with a different result in each thread."""
