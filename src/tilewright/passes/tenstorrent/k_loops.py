"""K loops and what follows them: the expression that is applied to the accumulator in DST.

The accumulator of a K loop is read by one element-wise op, its epilogue: the first computation
after the loop. Where the kernel has none there, one that copies the accumulator is inserted.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tensix.blocks import ElementwiseOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import constant_trip_count
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.block_ops import buffer_tiles, identity, staging_buffer
from tilewright.passes.tenstorrent.buffer_uses import is_block_op, role_of


def epilogue_of(loop: MatmulKLoopOp) -> ElementwiseOp | None:
    """The element-wise op that alone reads the accumulator, right after the loop."""
    op: Operation | None = loop.next_op
    while op is not None and not op.regions and (not is_block_op(op) or _moves_data(op)):
        op = op.next_op
    if not isinstance(op, ElementwiseOp) or op.block_tiles != buffer_tiles(loop.acc):
        return None
    users = {use.operation for use in loop.acc.uses}
    if users != {loop, op} or loop.acc in op.outputs:
        return None
    kinds = [kind for each, kind in zip(op.inputs, op.kinds, strict=True) if each is loop.acc]
    return op if kinds == ["tile"] else None


def _moves_data(op: Operation) -> bool:
    return role_of(op) is not Role.COMPUTE


def ensure_epilogue(loop: MatmulKLoopOp) -> None:
    """Copy the accumulator after the loop, unless an element-wise op takes it from DST."""
    if epilogue_of(loop) is not None:
        return
    acc = loop.acc
    copy = staging_buffer(loop, acc, element_type_of(acc.type), "sum")
    for use in list(acc.uses):
        if use.operation is not loop:
            use.operation.operands[use.index] = copy
    Rewriter().insert_after(loop, identity(loop, acc, copy))


def steps_of(loop: MatmulKLoopOp) -> int:
    """The trip count of the loop; 0 if it is a run-time value."""
    return constant_trip_count(loop.lower_bound, loop.upper_bound, loop.step) or 0
