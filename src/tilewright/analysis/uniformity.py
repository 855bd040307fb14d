"""Uniformity: values that are equal in all threads of a block, and values that may differ.

    if tid < 32:            # divergent: only some threads reach the body
    for k in range(n):      # n is an argument: the trip count is uniform

Values are traced back to the sources of divergence: the thread index, an election, a shuffle, a
private variable. Loads from memory are assumed to be uniform, as threads synchronise before a write
to the same address.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def comes_together(op: Operation) -> bool:
    """Whether all threads of a block or of a role reach `op`, as far as known."""
    is_share = any(simt_names.SHARE in each.attributes for each in _around(op))
    return not is_share and not _Differences().is_apart(op)


def _around(op: Operation) -> Iterator[Operation]:
    """The ops around one, in its block of threads or its role."""
    current = op.parent_op()
    while current is not None and not isinstance(current, WsOp | FuncOp):
        yield current
        current = current.parent_op()


class _Differences:
    """Traces values to the sources of divergence."""

    def __init__(self) -> None:
        self._values: dict[SSAValue, bool] = {}
        self._cells: dict[SSAValue, bool] = {}

    def of(self, value: SSAValue) -> bool:
        found = self._values.get(value)
        if found is None:
            self._values[value] = False  # a cycle adds no source of divergence
            found = self._values[value] = self._computed(value)
        return found

    def _computed(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, Block):
            return self._argument(value, owner)
        if owner.name in _OWN:
            return True
        if isinstance(owner, LoadOp):
            return self._loaded(owner)
        if isinstance(owner, IfOp):
            return self._chosen(owner, value)
        if owner.regions:
            return True
        return any(self.of(each) for each in owner.operands)

    def _chosen(self, op: IfOp, value: SSAValue) -> bool:
        """The result of a branch depends on its condition, and on what either side yields."""
        position = next(n for n, each in enumerate(op.results) if each is value)
        ends = [region.block.last_op for region in op.regions if region.blocks]
        given = [end.operands[position] for end in ends if end is not None]
        return self.of(op.condition) or any(self.of(each) for each in given)

    def _argument(self, value: SSAValue, block: Block) -> bool:
        """A loop index depends on its bounds; loop-carried values may be anything."""
        loop = block.parent_op()
        if isinstance(loop, ForOp):
            if value is not block.args[0]:
                return True
            return self.of(loop.lower_bound) or self.of(loop.upper_bound) or self.of(loop.step)
        if isinstance(loop, PersistentOp | PipelineOp):
            return any(map(self.of, loop.operands))
        return not isinstance(loop, FuncOp | KernelOp)

    def _loaded(self, op: LoadOp) -> bool:
        space = space_of(op.memref.type)
        if any(self.of(each) for each in op.indices):
            return True
        if space is not None and (space is Space.GLOBAL or space.is_shared):
            return False  # threads synchronise before a write to this address
        return space is None or not space.is_per_thread or self._cell(base_of(op.memref))

    def _cell(self, buffer: SSAValue) -> bool:
        """Whether threads may have different values in a private variable."""
        found = self._cells.get(buffer)
        if found is None:
            self._cells[buffer] = False
            found = self._cells[buffer] = any(self._written(each.operation) for each in buffer.uses)
        return found

    def _written(self, op: Operation) -> bool:
        if isinstance(op, LoadOp):
            return False
        if not isinstance(op, StoreOp):
            return True
        return self.of(op.value) or any(map(self.of, op.indices)) or self.is_apart(op)

    def is_apart(self, op: Operation) -> bool:
        """Whether only some threads reach `op`, or not all equally many times."""
        return any(map(self.parts, _around(op)))

    def parts(self, op: Operation) -> bool:
        """Whether threads diverge at a branch or a loop."""
        if isinstance(op, IfOp):
            return self.of(op.condition)
        if isinstance(op, ForOp):
            return self.of(op.lower_bound) or self.of(op.upper_bound)
        if isinstance(op, WhileOp):
            end = op.regions[0].block.last_op
            return end is None or self.of(end.operands[0])
        return False


_OWN = frozenset(
    (
        *("gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id", "nv.elect", "tile.extern"),
        *("tile.shuffle", "tile.atomic", "tile.vote", "tile.warp_reduce"),
    )
)
"""Ops with a different result in each thread."""
