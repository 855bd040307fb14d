"""Copies before the pipelined loops that the producer issues as well.

    copy Q -> Qs; fill acc; for %k { ... gemm Qs, Ks ... }
      ->
    producer   arrive at ready, expecting the bytes; Q -> Qs; for %k { ... }
    consumer   fill acc; wait ready, parity 0; for %k { ... gemm Qs, Ks ... }

Each has a barrier with one phase. The consumers wait at the first statement of the kernel's body
that accesses the buffer, so the copy is in flight with those of the first iterations. The producer
starts it at once: nothing may access the buffer before, and the kernel runs it exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.copies.copy_instructions import BulkCopy, Starts, bulk_copy
from tilewright.dialects.nv import MBARRIER, MBarrierWaitOp
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, Space, buffer_type
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import children, walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.warps.candidates import Candidate, first_computed


@dataclass(frozen=True)
class EarlyCopy:
    """A copy that the producer starts before its loops."""

    copy: BulkCopy
    first_user: Operation
    """The statement of the kernel's body before which the consumers wait."""

    @property
    def op(self) -> CopyOp:
        assert isinstance(self.copy.op, CopyOp)
        return self.copy.op


def early_copies(
    kernel: KernelOp, body: Sequence[Operation], chosen: Sequence[Candidate], starts: Starts
) -> list[EarlyCopy]:
    """The copies of `body` before the first loop that a producer can issue."""
    loops = {candidate.loop for candidate in chosen}
    first = next(n for n, op in enumerate(body) if any(each in loops for each in walk(op)))
    found: list[EarlyCopy] = []
    for position, op in enumerate(body[:first]):
        if not isinstance(op, CopyOp):
            continue
        copy = bulk_copy(op, starts)
        if isinstance(copy, str) or not _can_be_early(copy, kernel):
            continue
        buffer = base_of(op.dst)
        users = [n for n, each in enumerate(body) if n != position and _accesses(each, buffer)]
        if users and users[0] > position:
            found.append(EarlyCopy(copy, body[users[0]]))
    return found


def _can_be_early(copy: BulkCopy, kernel: KernelOp) -> bool:
    alloc = copy.op.dst.owner
    if not isinstance(alloc, AllocOp) or alloc.alias is not None or alloc.offset_bytes is not None:
        return False
    if any(region.base is base_of(copy.tensor) for op in children(kernel) for region in writes(op)):
        return False
    return not first_computed([copy.src], kernel)


def _accesses(op: Operation, buffer: SSAValue) -> bool:
    return any(region.base is buffer for region in (*reads(op), *writes(op)))


def open_barriers(early: Sequence[EarlyCopy], at: Operation) -> dict[EarlyCopy, SSAValue]:
    """A barrier for each copy, allocated before `at`."""
    barriers: dict[EarlyCopy, SSAValue] = {}
    for index, each in enumerate(early):
        type = buffer_type(MBARRIER, (1,), Space.BARRIER)
        alloc = AllocOp(type, name=f"ready_{index}", init=[1])
        Rewriter().insert_before(at, alloc, each.op)
        barriers[each] = alloc.result
    return barriers


def wait_for(barriers: Mapping[EarlyCopy, SSAValue]) -> None:
    """Let the consumers wait for the copies, which they no longer do themselves."""
    for each, barrier in barriers.items():
        code = IndexBuilder(each.first_user)
        zero = code.index(0)
        wait = MBarrierWaitOp(barrier, zero, zero)
        wait.location = each.op.location
        code.add(wait)
        code.rewriter.erase(each.op)
