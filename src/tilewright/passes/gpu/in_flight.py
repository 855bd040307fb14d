"""Registers and buffers in use by in-flight MMAs, and ops that must not access them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    AsyncMoveOp,
    BulkLoadOp,
    CpAsyncCommitOp,
    MatrixOp,
    MBarrierArriveOp,
    TmaLoadOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv.matrix import MatrixMoveOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.tile import AllocOp, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pending_accesses import SharedAccess
from tilewright.passes.gpu.shared_accesses import accesses_of

_COPYING = (AsyncMoveOp, CpAsyncCommitOp, ForOp, IfOp, YieldOp)


def is_pure(op: Operation) -> bool:
    """Whether an op only computes numbers, so that it does not matter when."""
    return op.name.startswith("arith.") or op.name == "tile.assume"


def moves_along(op: Operation) -> bool:
    """Whether an op after a wait can be delayed by an iteration, or is unaffected."""
    if isinstance(op, LoadOp | StoreOp):
        space = space_of(op.memref.type)
        return space is not None and space.is_per_thread  # a counter; sums are looked at elsewhere
    return is_pure(op) or isinstance(op, MBarrierArriveOp | WgmmaFenceOperandOp)


def copies_ahead(op: Operation) -> bool:
    """Whether an op starts asynchronous copies, and does nothing else. They do not wait for MMAs;
    what they may overwrite is for `overwrites_operands`."""
    return all(is_pure(inner) or isinstance(inner, _COPYING) for inner in walk(op))


def registers_of(mmas: Iterable[WgmmaOp]) -> set[SSAValue]:
    """Registers that in-flight MMAs write, and those they read as an operand."""
    held: set[SSAValue] = set()
    for op in mmas:
        held.add(op.acc)
        if op.a_index is not None:
            held.add(op.a)
    return held


def looks_at(op: Operation, held: set[SSAValue]) -> bool:
    """Whether a thread accesses registers in use by an in-flight MMA."""
    for inner in walk(op):
        if isinstance(inner, LoadOp | StoreOp) and inner.memref in held:
            return True
        if isinstance(inner, LaneOp | MatrixMoveOp) and (inner.src in held or inner.dst in held):
            return True
    return False


def operands_of(mmas: Iterable[WgmmaOp]) -> set[SSAValue]:
    """Buffers in shared memory that MMAs read."""
    return {
        base_of(each.owner.buffer)
        for op in mmas
        for each in (op.a, op.b)
        if isinstance(each.owner, MatrixOp)
    }


def rotates(buffer: SSAValue) -> bool:
    """Whether each iteration of a loop fills the next version of a buffer."""
    return isinstance(buffer.owner, AllocOp) and names.ROTATING in buffer.owner.attributes


def overwrites_operands(loop: ForOp, mmas: Sequence[WgmmaOp]) -> bool:
    """Whether the loop itself writes what its MMAs read: only a barrier of another role,
    signalled after the wait, orders such writes. Versions that rotate are others in the next
    iteration.
    """
    operands = {each for each in operands_of(mmas) if not rotates(each)}
    return any(
        access.is_write and access.buffer in operands
        for op in walk(loop)
        for access in (*accesses_of(op), *_engine_writes(op))
    )


def _engine_writes(op: Operation) -> list[SharedAccess]:
    if isinstance(op, TmaLoadOp | BulkLoadOp):
        return [SharedAccess(base_of(op.dst), is_write=True, by_engine=True)]
    return []


def operand_fences_after(wait: WgmmaWaitOp) -> list[WgmmaFenceOperandOp]:
    """The operand fences after a wait, which state whose accumulators are complete."""
    found: list[WgmmaFenceOperandOp] = []
    following = wait.next_op
    while isinstance(following, WgmmaFenceOperandOp):
        found.append(following)
        following = following.next_op
    return found
