"""Buffers without loop-carried contents: they are private to an iteration.

    for tile in ...:                        rows is private: the same iteration
        T.copy(A[tile, 0], rows)            wrote all that it reads of it
        T.gemm(rows, B, total)              total is not, unless the loop clears it

Between the last read of an iteration and the first write of the next, a private buffer is dead:
other buffers may overlap it. If all accesses are in an inner loop, what holds for that loop holds
for all loops around it, so the criterion needs no loop: no read is reached, from the beginning of
the kernel and through the first iteration of each loop, before an op has written the whole buffer.

A buffer is not private wherever execution does not follow program order: memory whose address was
taken, roles and branches of some threads, copies with user-written waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.lifetimes.full_writes import fills
from tilewright.analysis.threads.uniformity import differs
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import AllocOp, KernelOp, ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.access import LooksThrough, RegionAccess
from tilewright.dialects.tile.extern import ExternOp
from tilewright.dialects.tile.interfaces import has_body, is_async, reads
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.ir.traversal import walk

_LOOPS = (ForOp, PersistentOp, PipelineOp)
_STAYING = (ForOp, PersistentOp)
"""Loops whose iterations stay sequential; those of pipelined loops are interleaved, in versions."""


def private_buffers(kernel: KernelOp) -> list[AllocOp]:
    """The shared buffers of a kernel that are private to the iterations of loops around them."""
    return [
        op
        for op in walk(kernel)
        if isinstance(op, AllocOp)
        and op.space.is_shared
        and op.alias is None
        and _is_private(op.result, kernel)
    ]


def _is_private(buffer: SSAValue, kernel: KernelOp) -> bool:
    users = list(_users(buffer))
    if not users or not all(map(_is_plain, users)):
        return False
    around = [set(_up_to(kernel, op)) for op in users]
    common = set[Operation](around[0]).intersection(*around[1:])
    if not any(isinstance(each, _STAYING) for each in common):
        return False
    search = _Search(buffer, set[Operation]().union(*around))
    return search.through(kernel.body_block, filled=False) is not None


def _users(buffer: SSAValue) -> Iterator[Operation]:
    """The ops that access a buffer, also through views."""
    for use in buffer.uses:
        op = use.operation
        yield op
        if isinstance(op, LooksThrough):
            for result in op.results:
                yield from _users(result)


def _is_plain(op: Operation) -> bool:
    """Whether the accesses of an op are known, and complete before the next op begins."""
    if isinstance(op, PtrOfOp | ExternOp):
        return False
    if isinstance(op, LooksThrough | LoadOp | StoreOp):
        return True
    return isinstance(op, RegionAccess) and not is_async(op)


def _up_to(kernel: KernelOp, op: Operation) -> Iterator[Operation]:
    """An op and those around it, inside of the kernel."""
    current: Operation | None = op
    while current is not None and current is not kernel:
        yield current
        current = current.parent_op()


class _Search:
    """Follows one buffer through a kernel."""

    def __init__(self, buffer: SSAValue, touching: set[Operation]) -> None:
        self.buffer = buffer
        self.touching = touching
        """Ops that access the buffer, and those that have such ops inside."""

    def through(self, block: Block, *, filled: bool) -> bool | None:
        """Whether the buffer is filled after `block`; None if a read may come too early."""
        for op in block.ops:
            if op in self.touching:
                after = self._after(op, filled=filled)
                if after is None:
                    return None
                filled = after
        return filled

    def _after(self, op: Operation, *, filled: bool) -> bool | None:
        if isinstance(op, _LOOPS):
            # The trip count may be 0: what the loop fills does not count after it.
            is_early = self.through(op.regions[0].block, filled=filled) is None
            return None if is_early else filled
        if isinstance(op, IfOp):
            return self._branch(op, filled=filled)
        if has_body(op) and not isinstance(op, ParallelOp):
            return None
        if not filled and any(region.base is self.buffer for region in reads(op)):
            return None
        return filled or fills(op, self.buffer)

    def _branch(self, op: IfOp, *, filled: bool) -> bool | None:
        if differs(op.condition):
            return None
        blocks = [region.block for region in op.regions if region.blocks]
        ends = [self.through(block, filled=filled) for block in blocks]
        if None in ends:
            return None
        return filled or (op.has_else and all(ends))
