"""Which buffers hand nothing from one turn of a loop to the next: they are private to a turn.

    for tile in ...:                        rows is private: whatever is read of it,
        T.copy(A[tile, 0], rows)            the same turn wrote before
        T.gemm(rows, B, total)              total is not, unless the loop clears it

Between the last read of a turn and the first write of the next, a private buffer holds nothing:
others may have its bytes. If all accesses lie in an inner loop, what holds for that loop holds for
all loops around it, so the question needs no loop: is a read reached, from the beginning of the
kernel and through the first turn of each loop, before an op has filled the whole buffer?

The answer is no wherever time is not the order of the program: for memory whose address was taken,
for roles and branches of some threads, for copies that an author waits for.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.full_writes import fills
from tilewright.analysis.uniformity import differs
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import AllocOp, KernelOp, ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.access import LooksThrough, RegionAccess
from tilewright.dialects.tile.extern import ExternOp
from tilewright.dialects.tile.interfaces import is_async, reads
from tilewright.dialects.tile.regions import PtrOfOp

_LOOPS = (ForOp, PersistentOp, PipelineOp)
_STAYING = (ForOp, PersistentOp)
"""Loops whose turns stay one after the other; those of pipelines are mixed, in versions."""


def private_buffers(kernel: KernelOp) -> list[AllocOp]:
    """The shared buffers of a kernel that are private to the turns of loops around them."""
    return [
        op
        for op in kernel.walk()
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
    """The ops that touch a buffer, under whatever name."""
    for use in buffer.uses:
        op = use.operation
        yield op
        if isinstance(op, LooksThrough):
            for result in op.results:
                yield from _users(result)


def _is_plain(op: Operation) -> bool:
    """Whether an op says what it touches, and is done when the next one begins."""
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
        """Ops that touch the buffer, and those that have such ops inside."""

    def through(self, block: Block, *, filled: bool) -> bool | None:
        """Whether the buffer is filled behind `block`; None if a read may come too early."""
        for op in block.ops:
            if op in self.touching:
                after = self._after(op, filled=filled)
                if after is None:
                    return None
                filled = after
        return filled

    def _after(self, op: Operation, *, filled: bool) -> bool | None:
        if isinstance(op, _LOOPS):
            # There may be no turn at all: what it fills does not count behind it.
            is_early = self.through(op.regions[0].block, filled=filled) is None
            return None if is_early else filled
        if isinstance(op, IfOp):
            return self._branch(op, filled=filled)
        if op.regions and not isinstance(op, ParallelOp):
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
