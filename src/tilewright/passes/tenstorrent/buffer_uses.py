"""Which operands of an op on blocks are buffers that it reads, and which it writes.

Roles: copies from DRAM are the reader's, copies to DRAM the writer's, known contents the reader's,
everything else is computed. An operand that is read and written, as the accumulator of a GEMM, is
in both lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tensix.blocks import ConstantTileOp, ElementwiseOp, ReleaseOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp, ReduceOp, TransposeOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of

K_LOOP_ACC = 5
"""The position of the accumulator among the operands of ``tensix.matmul_k_loop``."""


def is_block_op(op: Operation) -> bool:
    """Whether `op` computes or moves blocks of tiles."""
    return isinstance(
        op,
        (
            ConstantTileOp,
            CopyOp,
            ElementwiseOp,
            GemmOp,
            MatmulKLoopOp,
            ReduceOp,
            ReleaseOp,
            TransposeOp,
        ),
    )


def read_positions(op: Operation) -> list[int]:
    """The operands that are buffers which `op` itself reads."""
    if isinstance(op, ElementwiseOp):
        return list(range(len(op.inputs)))
    if isinstance(op, CopyOp):
        return _on_chip(op, [0])
    if isinstance(op, GemmOp):
        return [0, 1] if op.clear is not None else [0, 1, 2]
    if isinstance(op, MatmulKLoopOp):
        return [3, 4] if op.clear is not None else [3, 4, K_LOOP_ACC]
    if isinstance(op, ReduceOp):
        return [0] if op.clear else [0, 1]
    if isinstance(op, (TransposeOp, ReleaseOp)):
        return [0]
    return []


def write_positions(op: Operation) -> list[int]:
    """The operands that are buffers which `op` itself writes, each as a whole."""
    if isinstance(op, ElementwiseOp):
        first = len(op.inputs)
        return list(range(first, first + len(op.outputs)))
    if isinstance(op, CopyOp):
        return _on_chip(op, [1])
    if isinstance(op, GemmOp):
        return [2]
    if isinstance(op, MatmulKLoopOp):
        return [K_LOOP_ACC]
    if isinstance(op, (ReduceOp, TransposeOp)):
        return [1]
    if isinstance(op, ConstantTileOp):
        return [0]
    return []


def _on_chip(op: Operation, positions: Sequence[int]) -> list[int]:
    return [n for n in positions if space_of(op.operands[n].type) is not Space.GLOBAL]


def buffers_read(op: Operation) -> list[SSAValue]:
    return [op.operands[n] for n in read_positions(op)]


def buffers_written(op: Operation) -> list[SSAValue]:
    return [op.operands[n] for n in write_positions(op)]


def role_of(op: Operation) -> Role:
    """The kernel that executes `op`."""
    if isinstance(op, ConstantTileOp):
        return Role.READER
    if isinstance(op, CopyOp):
        from_dram = space_of(op.src.type) is Space.GLOBAL
        to_dram = space_of(op.dst.type) is Space.GLOBAL
        return Role.READER if from_dram else Role.WRITER if to_dram else Role.COMPUTE
    return Role.COMPUTE


def alloc_of(buffer: SSAValue) -> AllocOp:
    owner = buffer.owner
    assert isinstance(owner, AllocOp), buffer
    return owner
