"""Dependences between the statements of a pipelined loop.

A statement is an op of the body with visible effects; pure ops, and loads of memory that the body
does not write, are repeated next to their users. Two statements depend on each other if they access
the same bytes and one writes them. A buffer is *renamable* if every iteration fills it before any
read, and no op outside of the loop reads it: then it carries no value from one iteration to the
next, and each iteration may have a version of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.lifetimes.full_writes import fills
from tilewright.analysis.pipelining.tensor_core_waits import synchronous
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import AllocOp, PipelineOp, Space
from tilewright.dialects.tile.access import AccessedRegion, Assumptions, RegionAccess
from tilewright.dialects.tile.interfaces import is_async, reads, scheduled_ops, writes
from tilewright.ir.effects import has_effects_of_body, own_effects
from tilewright.ir.traversal import children, enclosing

_VERSIONED_SPACES = (Space.SHARED, Space.SHARED_STATIC, Space.VAR, Space.LOCAL)


class Dependences:
    """The statements of one loop and the dependences between them."""

    def __init__(self, loop: PipelineOp) -> None:
        self.loop = loop
        self.ops: tuple[Operation, ...] = tuple(scheduled_ops(loop))
        self.positions = {op: position for position, op in enumerate(self.ops)}
        self.reads: list[list[AccessedRegion]] = [reads(op) for op in self.ops]
        self.writes: list[list[AccessedRegion]] = [writes(op) for op in self.ops]
        known = synchronous(loop)
        for op, completed in known.items():
            # A wait reads and writes what the GEMMs do that it completes.
            for gemm in completed:
                self.reads[self.positions[op]] += reads(gemm)
                self.writes[self.positions[op]] += writes(gemm)
        self.orders: list[bool] = [op not in known and has_unknown_effects(op) for op in self.ops]
        """Whether a statement is ordered with all others: barriers, output, foreign code."""

    # -- accesses ----------------------------------------------------------------------------

    def accesses(self, position: int) -> list[AccessedRegion]:
        return [*self.reads[position], *self.writes[position]]

    @property
    def written(self) -> tuple[SSAValue, ...]:
        """What the statements write, in the order in which a plan counts versions."""
        return tuple(dict.fromkeys(region.base for each in self.writes for region in each))

    def accessors(self, buffer: SSAValue) -> list[int]:
        """The statements that access `buffer`, in program order."""
        return [
            position
            for position in range(len(self.ops))
            if any(region.base is buffer for region in self.accesses(position))
        ]

    def conflicts(self, first: int, second: int) -> Iterator[SSAValue | None]:
        """The buffers through which two statements depend on each other; None is "anything"."""
        if self.orders[first] or self.orders[second]:
            yield None
        pairs = [
            *((one, other) for one in self.writes[first] for other in self.accesses(second)),
            *((one, other) for one in self.reads[first] for other in self.writes[second]),
        ]
        yield from dict.fromkeys(one.base for one, other in pairs if one.may_overlap(other))

    def feeds(self, statement: int, user: int) -> bool:
        """Whether `user` needs what `statement` computes or writes."""
        if user in self.results_used[statement]:
            return True
        return any(
            one.may_overlap(other) for one in self.writes[statement] for other in self.reads[user]
        )

    @cached_property
    def results_used(self) -> list[frozenset[int]]:
        """For each statement, those that use one of its results."""
        return [frozenset(self._users(op)) for op in self.ops]

    def _users(self, op: Operation) -> Iterator[int]:
        pending = [use.operation for result in op.results for use in result.uses]
        seen: set[Operation] = set()
        while pending:
            user = self._in_body(pending.pop())
            if user in seen:
                continue
            seen.add(user)
            if user in self.positions:
                yield self.positions[user]
            pending += [use.operation for result in user.results for use in result.uses]

    def _in_body(self, op: Operation) -> Operation:
        """The op of the body that `op` is, or is inside of."""
        while op.parent_op() is not self.loop:
            parent = op.parent_op()
            assert parent is not None  # values of a body are used inside of it
            op = parent
        return op

    # -- buffers -----------------------------------------------------------------------------

    @cached_property
    def renamable(self) -> dict[SSAValue, int]:
        """Buffers that every iteration fills first, with the statement that does."""
        found: dict[SSAValue, int] = {}
        for position, written in enumerate(self.writes):
            for region in written:
                if region.base not in found and self._fills_first(region.base, position):
                    found[region.base] = position
        return found

    def why_not_renamable(self, buffer: SSAValue) -> str:
        """Why iterations cannot have a version of `buffer` each."""
        owner, name = buffer.owner, buffer.name_hint or "the buffer"
        if isinstance(owner, AllocOp):
            name = owner.buffer_name
            if owner.alias is not None or owner.offset_bytes is not None:
                return f"{name} aliases other buffers"
        if not self._is_alone_with(buffer):
            return f"{name} is also used outside of the loop"
        return f"an iteration may read data that an earlier iteration wrote to {name}"

    def _fills_first(self, buffer: SSAValue, position: int) -> bool:
        owner = buffer.owner
        if not isinstance(owner, AllocOp) or owner.space not in _VERSIONED_SPACES:
            return False
        if owner.alias is not None or owner.offset_bytes is not None or owner.sizes:
            return False
        return self._is_alone_with(buffer) and self.fills_before_use(buffer, position)

    def _is_alone_with(self, buffer: SSAValue) -> bool:
        """Whether no op outside of the loop reads what the loop writes to `buffer`."""
        others: dict[PipelineOp, None] = {}
        for use in buffer.uses:
            if self.loop.is_ancestor(use.operation):
                continue
            around = enclosing(use.operation, PipelineOp)
            if around is None or around.is_ancestor(self.loop):
                return False
            others[around] = None
        return all(_fills_somewhere(Dependences(other), buffer) for other in others)

    def fills_before_use(self, buffer: SSAValue, position: int) -> bool:
        """Whether the statement at `position` fills `buffer` before any other accesses it."""
        accessors = self.accessors(buffer)
        if accessors[0] != position or any(each.base is buffer for each in self.reads[position]):
            return False
        filler = self.ops[position]
        others = [self.ops[each] for each in accessors[1:]]
        return fills(filler, buffer, _guard_of(filler, others))


def _fills_somewhere(dependences: Dependences, buffer: SSAValue) -> bool:
    accessors = dependences.accessors(buffer)
    return bool(accessors) and dependences.fills_before_use(buffer, accessors[0])


def has_unknown_effects(op: Operation) -> bool:
    """Whether `op` has effects that its accessed regions do not describe."""
    return is_async(op) or any(map(_orders_others, _with_effects(op)))


def _with_effects(op: Operation) -> Iterator[Operation]:
    """`op` and the ops of its body, as far as its effects include those of its body."""
    yield op
    if has_effects_of_body(type(op)):
        for child in children(op):
            yield from _with_effects(child)


def _orders_others(op: Operation) -> bool:
    """Whether `op` by itself does what no region describes. Calls describe what they reach."""
    is_described = isinstance(op, RegionAccess)
    return any(
        effect is None
        or (
            effect.value is None
            and not is_described
            and not isinstance(effect.resource, Assumptions)
        )
        for effect in own_effects(op)
    )


def _guard_of(filler: Operation, others: Sequence[Operation]) -> SSAValue | None:
    """The condition under which all of the ops run, if they share one."""
    if not isinstance(filler, IfOp) or filler.has_else:
        return None
    condition = filler.operands[0]
    for op in others:
        if not isinstance(op, IfOp) or op.has_else or op.operands[0] is not condition:
            return None
    return condition
