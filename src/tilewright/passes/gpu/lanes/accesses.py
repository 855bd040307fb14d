"""Accesses of a loop over lanes, the branches around them, and what keeps them in order.

A wide load comes before the loop, a wide store after it. That changes nothing for what only one of
them accesses; a buffer that the loop reads after it wrote it keeps its accesses where they are, and
several writes of one buffer are moved together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tile import AtomicOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import enclosing, walk

Access = LoadOp | StoreOp | AtomicOp


@dataclass(frozen=True)
class LaneAccess:
    """An access of each lane, and the branches that it is in, outermost first."""

    op: Access
    guards: tuple[IfOp, ...] = ()
    filled: int = 0
    """How many of the branches, the innermost ones, yield what is loaded, or else the same fill."""

    @property
    def is_filled(self) -> bool:
        return self.filled > 0

    @property
    def buffer(self) -> SSAValue:
        return self.op.dst if isinstance(self.op, AtomicOp) else self.op.memref

    @property
    def whole(self) -> Operation:
        """The access, with the branch that consists of nothing else."""
        if self.is_filled:
            return self.guards[-self.filled]
        if self.guards and _is_alone(self.op, self.guards[-1]):
            return self.guards[-1]
        return self.op


def accesses_in(loop: ForOp) -> list[LaneAccess]:
    """The accesses to memory that every lane makes once, in order."""
    return list(_accesses(loop.body.block, ()))


def _accesses(block: Block, guards: tuple[IfOp, ...]) -> Iterator[LaneAccess]:
    for op in block.ops:
        if isinstance(op, Access):
            found = LaneAccess(op, guards)
            if is_memory(found.buffer):
                yield found
        elif isinstance(op, IfOp):
            loaded, branches = _guarded_load(op)
            if loaded is not None and is_memory(loaded.memref):
                yield LaneAccess(loaded, (*guards, *branches), len(branches))
            elif not op.results:
                yield from _accesses(op.then_region.block, (*guards, op))


def is_memory(buffer: SSAValue) -> bool:
    """Whether a buffer is no thread's own."""
    space = space_of(buffer.type)
    return space is not None and not space.is_per_thread and space is not Space.FRAGMENT


def disordered(loop: ForOp) -> set[SSAValue]:
    """Buffers that the loop reads after it wrote them, or writes in different ways."""
    written: dict[SSAValue, type[Operation]] = {}
    found: set[SSAValue] = set()
    for op in walk(loop):
        if isinstance(op, LoadOp) or (isinstance(op, AtomicOp) and op.previous is not None):
            buffer = base_of(op.memref if isinstance(op, LoadOp) else op.dst)
            found.update({buffer} & written.keys())
        if isinstance(op, (StoreOp, AtomicOp)):
            buffer = base_of(op.dst if isinstance(op, AtomicOp) else op.memref)
            if written.setdefault(buffer, type(op)) is not type(op):
                found.add(buffer)
    return found


def written_in(loop: ForOp) -> set[SSAValue]:
    """Buffers that the loop writes."""
    return {
        base_of(op.dst if isinstance(op, AtomicOp) else op.memref)
        for op in walk(loop)
        if isinstance(op, (StoreOp, AtomicOp))
    }


def fill_of(guard: IfOp) -> FloatAttr | IntegerAttr | SSAValue | None:
    """What a branch yields where nothing is read: a constant, or the fill of a copy.

    User-defined branches may compute it.
    """
    if not guard.else_region.blocks:
        return None
    end = guard.else_region.block.last_op
    if end is None or len(end.operands) != 1:
        return None
    (value,) = end.operands
    constant = constant_value(value)
    if isinstance(constant, FloatAttr | IntegerAttr):
        return constant
    return value if _is_fill(value, guard) else None


def _is_fill(value: SSAValue, guard: IfOp) -> bool:
    """Whether a value is the same for all lanes: it comes from outside of their loop."""
    loop = enclosing(guard, ForOp)
    return loop is not None and not loop.is_ancestor(value.owner)


def _body(op: IfOp) -> list[Operation]:
    return [each for each in op.then_region.block.ops if not isinstance(each, YieldOp)]


def _is_alone(op: Operation, guard: IfOp) -> bool:
    return _body(guard) == [op] and not guard.else_region.blocks and not op.results


def _guarded_load(op: IfOp) -> tuple[LoadOp | None, tuple[IfOp, ...]]:
    """The load of a branch that `guard-memory-accesses` has made, and that branch; around it may be
    others that yield its result or the same fill, and compute nothing but its index."""
    body, end, fill = _body(op), op.then_region.block.last_op, fill_of(op)
    if not body or end is None or fill is None or len(op.results) != 1:
        return None, ()
    *before, last = body
    if list(end.operands) != list(last.results):
        return None, ()
    if isinstance(last, LoadOp):
        return (last, (op,)) if not before else (None, ())
    if not isinstance(last, IfOp) or fill_of(last) != fill:
        return None, ()
    if any(each.regions or isinstance(each, StoreOp | AtomicOp) for each in before):
        return None, ()
    found, inner = _guarded_load(last)
    return found, (op, *inner)
