"""Where an array of buffers travels between its allocation and its indexing.

Once an array is placed, index ``i`` no longer means ``i`` times the size of a buffer. Every op that
indexes it has to account for that, so the array is followed through everything that forwards it:

    views of the whole array        reinterpret, local_alias, require_layout, trans, reshape
    captures of warp_specialize     the same argument of every partition
    loops and branches              scf.for, scf.while, scf.if, cf.br and all others with edges

All values that join at one point must have the same placement, because code after it cannot
distinguish them. Nothing is changed here: the result lists values and index ops, or the obstacle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use

from tilewright.dialects.tlx import (
    AssertSameLayoutExpectedOp,
    AssertSameLayoutOp,
    DumpLayoutOp,
    LocalAliasOp,
    RequireLayoutOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
)
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalDeallocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import (
    MemDescIndexOp,
    MemDescReinterpretOp,
    MemDescReshapeOp,
    MemDescTransOp,
)
from tilewright.ir.interfaces import BranchLike, CallLike, Edge, RegionBranch, branch_edges
from tilewright.memory import Buffer, Finding, UnitError, finding
from tilewright.passes.tlx.storage_alias.buffers import buffer_of, demand_of, unit_of


@dataclass(frozen=True)
class Route:
    """What has to be the same wherever arrays join: the storage, the placement, the buffers."""

    storage: Hashable
    placement: Hashable
    unit: int
    count: int


@dataclass
class Journey:
    """Where arrays go: all values that carry one, the ops that index them, and what is wrong."""

    routes: dict[SSAValue, Route] = field(default_factory=dict[SSAValue, Route])
    indices: dict[MemDescIndexOp, Route] = field(default_factory=dict[MemDescIndexOp, Route])
    problems: list[tuple[Operation, Finding]] = field(
        default_factory=list[tuple[Operation, Finding]]
    )


def follow(starts: Mapping[SSAValue, Route]) -> Journey:
    """Follow every array in `starts` to its ends."""
    return _Follower(starts).run()


_SIZE_IS_CHECKED = (MemDescReinterpretOp, LocalAliasOp, RequireLayoutOp)
"""Views that may cut the array into buffers of another size."""

_UNCONCERNED = (
    LocalDeallocOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    DumpLayoutOp,
    AssertSameLayoutOp,
    AssertSameLayoutExpectedOp,
)
"""Ops that neither index an array nor hand it on; those about layouts do not look at shapes."""


class _Follower:
    def __init__(self, starts: Mapping[SSAValue, Route]) -> None:
        self.journey = Journey()
        self.pending: deque[SSAValue] = deque()
        for value, route in starts.items():
            self._reach(value, route)

    def run(self) -> Journey:
        while self.pending:
            value = self.pending.popleft()
            for use in list(value.uses):
                self._use(value, use)
        self._check_joins()
        return self.journey

    def _reach(self, value: SSAValue, route: Route) -> None:
        """Note that `value` carries an array; a second, different one is found afterwards."""
        if value not in self.journey.routes:
            self.journey.routes[value] = route
            self.pending.append(value)

    def _blame(self, op: Operation, found: Finding) -> None:
        if (op, found) not in self.journey.problems:
            self.journey.problems.append((op, found))

    def _use(self, value: SSAValue, use: Use) -> None:
        op, route = use.operation, self.journey.routes[value]
        if isinstance(op, MemDescIndexOp):
            self.journey.indices[op] = route
        elif isinstance(op, _SIZE_IS_CHECKED):
            self._view(op, route)
        elif isinstance(op, MemDescTransOp | MemDescReshapeOp):
            self._same_buffers(op, route)
        elif op.get_trait(CallLike) is not None:
            self._blame(op, finding("E11"))
        elif not isinstance(op, _UNCONCERNED):
            self._forward(value, op, route)

    def _view(self, op: Operation, route: Route) -> None:
        type = memdesc(op.results[0].type)
        try:
            unit = unit_of(type)
        except UnitError:
            self._blame(op, finding("E12"))
            return
        if unit != route.unit:
            self._blame(op, finding("E9", size=route.unit, other=unit))
        elif type.shape[0] > route.count:
            self._blame(op, finding("E12"))
        else:
            self._reach(op.results[0], route)

    def _same_buffers(self, op: MemDescTransOp | MemDescReshapeOp, route: Route) -> None:
        """Views that keep the elements of a buffer together, if they leave the first dimension."""
        source, result = op.types
        is_preserved = (
            integers(op.order)[0] == 0
            if isinstance(op, MemDescTransOp)
            else source.shape[0] == result.shape[0]
        )
        if is_preserved:
            self._reach(op.results[0], route)
        else:
            self._blame(op, finding("E12"))

    def _forward(self, value: SSAValue, op: Operation, route: Route) -> None:
        inputs = list(forwarded(value, op))
        if not inputs:
            self._blame(op, finding("E12"))
        for each in inputs:
            self._reach(each, route)

    def _check_joins(self) -> None:
        routes = self.journey.routes
        for value, route in list(routes.items()):
            for source, operand in arrivals(value):
                if routes.get(operand) != route:
                    self._blame(_join_op(value, source), finding("E10"))


def _join_op(value: SSAValue, source: Operation) -> Operation:
    """The structured op whose result or argument `value` is; of a plain block, its branch."""
    if source.successors:
        return source
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return source if op is None else op


def forwarded(value: SSAValue, op: Operation) -> Iterator[SSAValue]:
    """The block arguments and results that `value` becomes when `op` hands it on."""
    for edge in _edges_from(op):
        for operand, target in zip(edge.operands, edge.inputs, strict=True):
            if operand is value:
                yield target


def _edges_from(op: Operation) -> Iterator[Edge]:
    """The edges on which `op` forwards its operands."""
    if op.successors:
        yield from branch_edges(op)
        return
    trait = op.get_trait(RegionBranch)
    if trait is not None:
        yield from trait.successors(op, op)
    parent, region = op.parent_op(), op.parent_region()
    outer = None if parent is None else parent.get_trait(RegionBranch)
    if parent is not None and outer is not None and region is not None:
        yield from (edge for edge in outer.successors(parent, region) if edge.source is op)


def arrivals(value: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """Every value that can become `value`, with the op that hands it over."""
    for edge in _edges_to(value):
        for operand, target in zip(edge.operands, edge.inputs, strict=True):
            if target is value:
                yield edge.source, operand


def _edges_to(value: SSAValue) -> Iterator[Edge]:
    """All edges that may lead to `value`, where it is not computed but forwarded."""
    if isinstance(value, BlockArgument):
        block = value.block
        parent, region = block.parent_op(), block.parent_region()
        if region is not None and region.first_block is not block:
            yield from _jumps_to(block, region.blocks)
            return
    else:
        parent = value.owner if isinstance(value.owner, Operation) else None
    trait = None if parent is None else parent.get_trait(RegionBranch)
    if parent is None or trait is None:
        return
    yield from trait.successors(parent, parent)
    for each in parent.regions:
        yield from trait.successors(parent, each)


def _jumps_to(block: Block, blocks: Sequence[Block]) -> Iterator[Edge]:
    for each in blocks:
        end = each.last_op
        if end is not None and end.get_trait(BranchLike) is not None and block in end.successors:
            yield from branch_edges(end)


HandsOn = Callable[[Operation], Sequence[SSAValue]]


def reachable(start: SSAValue, hands_on: HandsOn) -> Sequence[SSAValue]:
    """All values `start` becomes, each once; `hands_on` lists those of ops without edges."""
    # A dictionary, because the order of a set changes from run to run.
    seen, pending = {start: None}, [start]
    while pending:
        value = pending.pop()
        for use in list(value.uses):
            more = [*forwarded(value, use.operation), *hands_on(use.operation)]
            pending += [each for each in more if each not in seen]
            seen.update(dict.fromkeys(more))
    return list(seen)


def views_of(op: Operation) -> Sequence[SSAValue]:
    """What an op makes of a buffer that is still the buffer."""
    return [result for result in op.results if isinstance(result.type, MemDescType)]


def whole_views(op: Operation) -> Sequence[SSAValue]:
    """Views of an array in which every index still means the same buffer."""
    if isinstance(op, MemDescTransOp):
        return op.results if integers(op.order)[0] == 0 else ()
    if not isinstance(op, (*_SIZE_IS_CHECKED, MemDescReshapeOp)):
        return ()
    source, result = memdesc(op.operands[0].type), memdesc(op.results[0].type)
    try:
        is_same = source.shape[0] == result.shape[0] and unit_of(source) == unit_of(result)
    except UnitError:
        is_same = False
    return op.results if is_same else ()


def array_of(name: str, value: SSAValue, source: str = "") -> Buffer:
    """The array of buffers that `value` is, with what all views of it demand of their starts.

    Raises UnitError where layout and shape do not go together.
    """
    buffer = buffer_of(name, memdesc(value.type), source)
    demands = [demand_of(memdesc(each.type)) for each in reachable(value, views_of)]
    return replace(buffer, alignment=max(buffer.alignment, *demands))
