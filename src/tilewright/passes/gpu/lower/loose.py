"""Accesses to shared memory outside of parallel loops: user code for single threads."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, space_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_loose(op: LoadOp | StoreOp | AtomicOp | PtrOfOp, storage: BufferStorage) -> None:
    """Address the element where the layout of its buffer has it."""
    if isinstance(op, PtrOfOp):
        buffer = op.base
    else:
        buffer = op.dst if isinstance(op, AtomicOp) else op.memref
    space = space_of(buffer.type)
    if space is None or not space.is_shared or storage.is_lowered(buffer):
        return
    code = IndexBuilder(op)
    part = storage.shared_part(code, buffer)
    indices: list[Mixed] = list(op.indices)
    offset = code.index(part.offset(code, indices))
    new: Operation
    if isinstance(op, LoadOp):
        new = LoadOp(part.buffer, [offset])
    elif isinstance(op, PtrOfOp):
        new = PtrOfOp(part.buffer, [offset], mode=op.mode.data, extent=op.extent)
    elif isinstance(op, StoreOp):
        new = StoreOp(op.value, part.buffer, [offset])
    else:
        new = AtomicOp(
            op.kind.data,
            part.buffer,
            [offset],
            op.value,
            return_previous=op.previous is not None,
            memory_order=op.memory_order.data if op.memory_order is not None else None,
        )
    code.add(new)
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    code.rewriter.replace_op(op, [], list(new.results))
