"""The points of a function in textual order, and the control-flow edges between them.

An op is a point; one with regions is two, entered and left. Time is the index of a point::

    0  scf.for     entered       1 <- 0, 3      body, from outside and around the back edge
    1    local_store             2 <- 1
    2    local_load              3 <- 2
    3    scf.yield               4 <- 0, 3
    4  scf.for     left

The regions of ``ttg.warp_specialize`` run concurrently. They are parallel paths from the point
where it is entered to the point where it is left, and `Flow.partitions` maps points to partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region

from tilewright.dialects.ttg.warps import WarpSpecializeOp, WarpSpecializePartitionsOp
from tilewright.ir.interfaces import Edge, RegionBranch, branch_edges
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class Point:
    """One point: `op` runs, or is entered; with `is_exit` it is left."""

    op: Operation
    is_exit: bool = False


@dataclass(frozen=True)
class Partition:
    """One region of a ``warp_specialize``: 0 is the default region, the others count from 1."""

    op: WarpSpecializeOp
    index: int

    def __str__(self) -> str:
        return "the default region" if self.index == 0 else f"partition {self.index - 1}"


class Flow:
    """Points, edges and concurrent stretches of one function."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self.points: list[Point] = []
        self.enter: dict[Operation, int] = {}
        self.leave: dict[Operation, int] = {}
        self._index_region(function)
        self.successors: list[tuple[int, ...]] = [
            tuple(dict.fromkeys(self._next(point))) for point in self.points
        ]
        self.predecessors: list[list[int]] = [[] for _ in self.points]
        for index, targets in enumerate(self.successors):
            for target in targets:
                self.predecessors[target].append(index)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def specialized(self) -> Iterator[WarpSpecializeOp]:
        """The ops whose regions run concurrently."""
        for op in self.enter:
            if isinstance(op, WarpSpecializeOp):
                yield op

    def partition_of(self, op: Operation) -> Partition | None:
        """The partition that `op` is in."""
        region = op.parent_region()
        while region is not None:
            parent = region.parent
            if isinstance(parent, WarpSpecializeOp) and region is parent.default_region:
                return Partition(parent, 0)
            if isinstance(parent, WarpSpecializePartitionsOp):
                outer = parent.parent_op()
                assert isinstance(outer, WarpSpecializeOp), "checked by verify"
                return Partition(outer, 1 + [*parent.regions].index(region))
            if parent is None or parent is self.function:
                return None
            region = parent.parent_region()
        return None

    def inside(self, op: Operation) -> range:
        """The points of `op`, from entering to leaving it."""
        return range(self.enter[op], self.leave.get(op, self.enter[op]) + 1)

    def _index_region(self, function: Operation) -> None:
        # `walk` lists an op before its regions; its exit is known at the next op outside of it.
        open_ops: list[Operation] = []
        for op in walk(function):
            if op is function:
                continue
            while open_ops and not open_ops[-1].is_ancestor(op):
                self._close(open_ops.pop())
            self.enter[op] = len(self.points)
            self.points.append(Point(op))
            if op.regions:
                open_ops.append(op)
        while open_ops:
            self._close(open_ops.pop())

    def _close(self, op: Operation) -> None:
        self.leave[op] = len(self.points)
        self.points.append(Point(op, True))

    def _next(self, point: Point) -> Iterator[int]:
        op = point.op
        if op.regions and not point.is_exit:
            yield from self._into(op)
            return
        if op.next_op is not None:
            yield self.enter[op.next_op]
            return
        yield from self._out_of_block(op)

    def _into(self, op: Operation) -> Iterator[int]:
        trait = op.get_trait(RegionBranch)
        if trait is not None:
            yield from self._targets(list(trait.successors(op, op)))
            if isinstance(op, WarpSpecializePartitionsOp) and not op.regions:
                yield self.leave[op]
            return
        yield from (index for region in op.regions for index in self._start(region))
        yield self.leave[op]

    def _out_of_block(self, op: Operation) -> Iterator[int]:
        if op.successors:
            yield from self._targets(branch_edges(op))
            return
        parent, region = op.parent_op(), op.parent_region()
        if parent is None or region is None or parent is self.function:
            return
        trait = parent.get_trait(RegionBranch)
        edges = [] if trait is None else list(trait.successors(parent, region))
        found = list(self._targets([edge for edge in edges if edge.source is op]))
        yield from found
        if not found:
            yield self.leave[parent]
        if trait is None:
            yield from (index for each in parent.regions for index in self._start(each))

    def _targets(self, edges: list[Edge]) -> Iterator[int]:
        for edge in edges:
            target = edge.target
            if isinstance(target, Operation):
                yield self.leave[target]
            elif isinstance(target, Region):
                yield from self._start(target)
            else:
                yield from self._first(target)

    def _start(self, region: Region) -> Iterator[int]:
        if region.first_block is not None:
            yield from self._first(region.first_block)

    def _first(self, block: Block) -> Iterator[int]:
        if block.first_op is not None:
            yield self.enter[block.first_op]
