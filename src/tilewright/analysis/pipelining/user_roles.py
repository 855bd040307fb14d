"""Pipelined loops around roles and mbarriers that the user wrote.

    for k in T.Pipelined(n, num_stages=2):
        with T.ws(1):                              # producer
            T.barrier_wait(empty, (k + 1) % 2)
            T.tma_copy(A[k], a, barrier=full)
            T.barrier_arrive(full)
        with T.ws(0):                              # consumer
            T.barrier_wait(full, k % 2)
            T.gemm(a, ...)
            T.barrier_arrive(empty)

The roles synchronise by themselves, so their order is fixed, but with one buffer the producer waits
for the consumer in every iteration. With `S` versions of the buffers and of the barriers, iteration
`i` uses slot ``i mod S``, in which it is iteration ``i div S``. A wait with parity
``(i + c) mod 2`` becomes one with ``(i div S + c) mod 2``:

* ``c = 0`` waits for arrivals of this iteration, before and after;
* ``c = 1`` waits for those of the previous iteration, and then for those of iteration ``i - S``.

The second kind is what orders one iteration after another, and it becomes weaker. So whatever
roles exchange from iteration to iteration has to be in versioned buffers: filled in every iteration
before they are read, and used nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pipelining.automatic import NOT_PIPELINED
from tilewright.analysis.pipelining.plan import Refusal
from tilewright.dialects.arith import AddiOp, AndiOp, IndexCastOp, RemsiOp, RemuiOp, XoriOp
from tilewright.dialects.nv import MBarrierWaitOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    KernelOp,
    PipelineOp,
    Space,
    WsOp,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import has_body, reads, writes
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.types import space_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import children, walk


@dataclass(frozen=True)
class RoleVersions:
    """What gets versions in a loop around user-written roles."""

    loop: PipelineOp
    buffers: tuple[SSAValue, ...]
    barriers: tuple[SSAValue, ...]
    waits: tuple[tuple[MBarrierWaitOp, int], ...]
    """Waits, with the parity of the first iteration."""

    @property
    def slots(self) -> int:
        return self.loop.stages


def has_user_roles(loop: PipelineOp) -> bool:
    """Whether the user specialised warps inside of the loop."""
    return any(isinstance(op, WsOp) and op.is_custom for op in children(loop))


def plan_user_roles(loop: PipelineOp) -> RoleVersions | Refusal:
    """The versions of a loop with user-written roles, or why it gets none."""
    nested = _is_entered_again(loop)
    if nested is not None:
        reason = "the loop is inside of another one, so its mbarriers start in any phase"
        return Refusal(NOT_PIPELINED, reason, (nested,))
    if not isinstance(loop.lower, int):
        return Refusal(NOT_PIPELINED, "the lower bound of the loop is a run-time value")
    used = dict.fromkeys(base_of(barrier) for op in walk(loop) for barrier in _barriers_of(op))
    waits: list[tuple[MBarrierWaitOp, int]] = []
    for barrier in used:
        found = _waits_of(barrier, loop)
        if isinstance(found, Refusal):
            return found
        waits += found
    if not waits:
        return Refusal(NOT_PIPELINED, "its roles do not wait on an mbarrier")
    buffers = tuple(buffer for buffer in _written(loop) if _is_renamable(buffer, loop))
    problem = _exchange_of(loop, buffers) or (None if buffers else _nothing())
    return problem or RoleVersions(loop, buffers, tuple(used), tuple(waits))


def _nothing() -> Refusal:
    return Refusal(NOT_PIPELINED, "no iteration fills a shared buffer of its own")


def _is_entered_again(loop: PipelineOp) -> Operation | None:
    around = loop.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        if not isinstance(around, IfOp):
            return around
        around = around.parent_op()
    return None


# -- barriers ----------------------------------------------------------------------------------


def _barriers_of(op: Operation) -> list[SSAValue]:
    if isinstance(op, BarrierOp):
        return [op.barrier]
    return [op.barrier] if isinstance(op, AsyncCopyOp) and op.barrier is not None else []


def _waits_of(barrier: SSAValue, loop: PipelineOp) -> list[tuple[MBarrierWaitOp, int]] | Refusal:
    """The waits on a barrier, if every iteration is one of its phases."""
    alloc, name = barrier.owner, barrier.name_hint or "a barrier"
    if not isinstance(alloc, AllocOp) or alloc.arrive_counts is None:
        return Refusal(NOT_PIPELINED, f"{name} is not allocated in the kernel")
    if len(alloc.arrive_counts) != 1:
        reason = f"{name} is an array of {len(alloc.arrive_counts)} mbarriers: it has its own slots"
        return Refusal(NOT_PIPELINED, reason, (alloc,))
    found: list[tuple[MBarrierWaitOp, int]] = []
    for use in barrier.uses:
        op = use.operation
        if not loop.is_ancestor(op):
            return Refusal(NOT_PIPELINED, f"{name} is also used outside of the loop", (op,))
        if not _is_in_role(op, loop):
            reason = f"this access to {name} is not in every iteration of the loop"
            return Refusal(NOT_PIPELINED, reason, (op,))
        if isinstance(op, MBarrierWaitOp):
            phase = _phase(op.parity, loop.induction_variable)
            if phase is None:
                reason = f"the parity of this wait on {name} is not (k + constant) % 2"
                return Refusal(NOT_PIPELINED, reason, (op,))
            assert isinstance(loop.lower, int)
            found.append((op, (phase + loop.lower) % 2))
        elif not _barriers_of(op):
            return Refusal(NOT_PIPELINED, f"{name} is used by {op.name}", (op,))
    return found


def _is_in_role(op: Operation, loop: PipelineOp) -> bool:
    """Whether every iteration runs `op` once: in the loop itself, or in a role in it."""
    around = op.parent_op()
    return around is loop or (isinstance(around, WsOp) and around.parent_op() is loop)


def _phase(parity: SSAValue, index: SSAValue) -> int | None:
    """`c` of a parity ``(index + c) mod 2``."""
    op = parity.owner
    if isinstance(op, IndexCastOp):
        return _phase(op.operands[0], index)
    if isinstance(op, XoriOp):
        flipped = _with_constant(op)
        inner = None if flipped is None else _phase(flipped[0], index)
        return None if inner is None or flipped is None else (inner + flipped[1]) % 2
    if isinstance(op, RemsiOp | RemuiOp | AndiOp):
        divided = _with_constant(op)
        if divided is None or divided[1] != (1 if isinstance(op, AndiOp) else 2):
            return None
        distance = _distance(divided[0], index)
        return None if distance is None or distance < 0 else distance % 2
    return None


def _with_constant(op: Operation) -> tuple[SSAValue, int] | None:
    """The other operand and the constant of an op with a constant second operand."""
    constant = constant_value(op.operands[1])
    return (op.operands[0], constant.value.data) if isinstance(constant, IntegerAttr) else None


def _distance(value: SSAValue, index: SSAValue) -> int | None:
    """`c` of a value ``index + c``."""
    if value is index:
        return 0
    op = value.owner
    if isinstance(op, IndexCastOp):
        return _distance(op.operands[0], index)
    if not isinstance(op, AddiOp):
        return None
    for one, other in (tuple(op.operands), tuple(reversed(op.operands))):
        constant = constant_value(other)
        distance = _distance(one, index)
        if isinstance(constant, IntegerAttr) and distance is not None:
            return distance + constant.value.data
    return None


# -- buffers -----------------------------------------------------------------------------------


def _written(loop: PipelineOp) -> list[SSAValue]:
    """What the loop writes in memory that threads share."""
    found = dict.fromkeys(region.base for op in children(loop) for region in writes(op))
    return [base for base in found if _is_exchanged(base)]


def _is_exchanged(base: SSAValue) -> bool:
    space = space_of(base.type)
    return space is None or not (space.is_barrier or space.is_per_thread or space is Space.FRAGMENT)


def _is_renamable(buffer: SSAValue, loop: PipelineOp) -> bool:
    """Whether every iteration fills a shared buffer before it accesses it, and no other op does."""
    alloc, space = buffer.owner, space_of(buffer.type)
    if not isinstance(alloc, AllocOp) or space is None or not space.is_shared:
        return False
    if alloc.alias is not None or alloc.offset_bytes is not None or alloc.sizes:
        return False
    if not all(loop.is_ancestor(use.operation) for use in buffer.uses):
        return False
    first = next(op for op in walk(loop) if op is not loop and _accesses(op, buffer))
    is_copy = isinstance(first, CopyOp | AsyncCopyOp)
    return is_copy and first.dst is buffer and first.src is not buffer and _is_in_role(first, loop)


def _accesses(op: Operation, base: SSAValue) -> bool:
    if has_body(op):
        return False  # the ops inside follow
    return any(region.base is base for region in (*reads(op), *writes(op)))


def _exchange_of(loop: PipelineOp, versioned: tuple[SSAValue, ...]) -> Refusal | None:
    """What roles exchange through memory without versions, which the weaker waits do not order."""
    for base in _written(loop):
        if base in versioned:
            continue
        users = dict(_threads_with(loop, base))
        if len(users) > 1:
            owner = base.owner
            name = owner.buffer_name if isinstance(owner, AllocOp) else base.name_hint
            reason = (
                f"several roles access {name or 'a buffer'}, which an iteration does not fill "
                "before it reads it"
            )
            return Refusal(NOT_PIPELINED, reason, tuple(users.values())[:2])
    return None


def _threads_with(loop: PipelineOp, base: SSAValue) -> Iterator[tuple[object, Operation]]:
    """The threads that access `base` in the loop, each with an op that does."""
    for op in children(loop):
        roles = (
            [(role.ranges, region) for role, region in zip(op.roles, op.regions, strict=True)]
            if isinstance(op, WsOp)
            else []
        )
        for ranges, region in roles:
            for inner in region.block.ops:
                if any(each.base is base for each in (*reads(inner), *writes(inner))):
                    yield ranges, inner
        if not roles and any(each.base is base for each in (*reads(op), *writes(op))):
            yield None, op


__all__ = ["RoleVersions", "has_user_roles", "plan_user_roles"]
