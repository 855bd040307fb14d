"""Whether a kernel accesses a tensor after it has stored a tile of it.

    T.copy(tile, C[k])          TMA may still be writing when its thread continues:
    T.copy(C[k], other)         a read of C may then return the old contents

A later access is one that comes after the store in the program, or in another iteration of a loop
around both. Stores of other tiles do not count, their addresses differ; but a store of the same
tile in every iteration conflicts with itself, and TMA stores are unordered.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tile import CopyOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.ir.traversal import walk

_LOOPS = (ForOp, WhileOp, PersistentOp, PipelineOp)


def later_access(store: CopyOp) -> Operation | None:
    """An op of the kernel that may access the tensor after `store` has begun to write it."""
    kernel = kernel_of(store)
    if kernel is None:
        return None
    tensor, is_after = base_of(store.dst), False
    for op in walk(kernel):
        if op is store:
            is_after = True
            if _is_repeated(store):
                return store
        elif not op.regions and _accesses(op, tensor) and (is_after or _in_one_loop(op, store)):
            return op
    return None


def _is_repeated(store: CopyOp) -> bool:
    """Whether iterations of a loop around a store write the same tile."""
    around = store.parent_op()
    while around is not None:
        if isinstance(around, _LOOPS) and not _varies(store.dst, around):
            return True
        around = around.parent_op()
    return False


def _varies(value: SSAValue, loop: Operation) -> bool:
    """Whether a value may differ between the iterations of a loop."""
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        return around is not None and loop.is_ancestor(around)
    if not loop.is_ancestor(owner):
        return False
    if isinstance(owner, LoadOp) or owner.regions:
        return True
    return any(_varies(each, loop) for each in owner.operands)


def _accesses(op: Operation, tensor: SSAValue) -> bool:
    regions = reads(op) if isinstance(op, CopyOp) else [*reads(op), *writes(op)]
    return any(region.base is tensor for region in regions)


def _in_one_loop(op: Operation, other: Operation) -> bool:
    around = op.parent_op()
    while around is not None:
        if isinstance(around, _LOOPS) and around.is_ancestor(other):
            return True
        around = around.parent_op()
    return False
