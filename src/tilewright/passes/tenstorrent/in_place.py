"""Whether a kernel can work on a tensor in its shards, without copying tiles to a circular buffer.

The circular buffer of an operand is then set on the shard: its pages are there from the start, and
the compute kernel indexes them. That takes

- a load that every op which reads the buffer follows, in the same iteration;
- a store in the block of the one op that computes the buffer;
- ops that index tiles: element-wise ops, GEMMs, reductions and transposes. A GEMM that transposes
  B takes its tiles column by column, which a shard does not have;
- a tensor that the kernel only reads or only writes, in the format of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.blocks import ElementwiseOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp, GemmOp, ReduceOp, TransposeOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.traversal import enclosing
from tilewright.passes.tenstorrent.annotations import SHARD, get
from tilewright.passes.tenstorrent.buffer_uses import (
    buffers_read,
    buffers_written,
    is_block_op,
    role_of,
)
from tilewright.passes.tenstorrent.k_loops import steps_of
from tilewright.passes.tenstorrent.shard_accesses import is_load

_READERS = (ElementwiseOp, GemmOp, ReduceOp, TransposeOp)
_WRITERS = (ElementwiseOp, MatmulKLoopOp)


def can_be_in_place(copies: Sequence[CopyOp], tensor: SSAValue) -> bool:
    """Whether all copies of a tensor may be left out."""
    if not copies or len({is_load(op) for op in copies}) > 1:
        return False
    return all(_is_load_left_out(op, tensor) or _is_store_left_out(op, tensor) for op in copies)


def tensors_in_place(function: FuncOp) -> set[SSAValue]:
    """The tensors that `assign-shards` found kernels to work on in place."""
    data: list[dict[str, Any]] = get(function, SHARD) or []
    arguments = function.body.block.args
    return {
        argument
        for argument, each in zip(arguments, data, strict=False)
        if each.get("in_place", False)
    }


def is_in_place_copy(op: Operation) -> bool:
    """Whether a copy is left out: kernels find what it copies in a shard."""
    tensor = tensor_of(op)
    function = enclosing(op, FuncOp)
    return isinstance(function, FuncOp) and tensor in tensors_in_place(function)


def tensor_of(op: Operation) -> SSAValue | None:
    """The tensor that a copy loads from or stores to."""
    if not isinstance(op, CopyOp):
        return None
    role = role_of(op)
    if role is Role.COMPUTE:
        return None
    return base_of(op.src if role is Role.READER else op.dst)


def _is_load_left_out(op: CopyOp, tensor: SSAValue) -> bool:
    if not is_load(op):
        return False
    buffer = op.dst
    writers, readers = _users(buffer)
    if writers != [op] or element_type_of(buffer.type) != element_type_of(tensor.type):
        return False
    return all(_reads_in_place(each, op, buffer) for each in readers)


def _reads_in_place(reader: Operation, load: CopyOp, buffer: SSAValue) -> bool:
    if isinstance(reader, MatmulKLoopOp):
        is_transposed = reader.transpose_b is not None and reader.b is buffer
        return load.parent_op() is reader and not is_transposed and steps_of(reader) > 0
    return isinstance(reader, _READERS) and _follows(reader, load)


def _follows(op: Operation, first: Operation) -> bool:
    """Whether `op` comes after `first`, in its block or in a region of it."""
    each: Operation | None = op
    while each is not None and each.parent is not first.parent:
        each = each.parent_op()
    while each is not None and each is not first:
        each = each.prev_op
    return each is first


def _is_store_left_out(op: CopyOp, tensor: SSAValue) -> bool:
    if is_load(op):
        return False
    buffer = op.src
    writers, readers = _users(buffer)
    if readers != [op] or len(writers) != 1 or not isinstance(writers[0], _WRITERS):
        return False
    has_format = element_type_of(buffer.type) == element_type_of(tensor.type)
    return has_format and writers[0].parent is op.parent and _follows(op, writers[0])


def _users(buffer: SSAValue) -> tuple[list[Operation], list[Operation]]:
    """The ops that write and that read a buffer."""
    ops = [op for op in dict.fromkeys(use.operation for use in buffer.uses) if is_block_op(op)]
    writers = [op for op in ops if buffer in buffers_written(op)]
    return writers, [op for op in ops if buffer in buffers_read(op)]
