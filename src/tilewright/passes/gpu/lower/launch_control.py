"""Cluster launch control: responses in shared memory, addressed as it is laid out."""

from __future__ import annotations

from tilewright.dialects.nv import ClcQueryOp, ClcTryCancelOp
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.copies import leader
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_try_cancel(op: ClcTryCancelOp, storage: BufferStorage) -> None:
    """One thread of those that reach it issues the request."""
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    part = storage.shared_part(code, op.result_buffer)
    index = code.index(part.offset(code, list(op.result_indices)))
    code.add(
        ClcTryCancelOp(
            (part.buffer, [index]),
            (op.barrier, op.barrier_index),
            multicast=op.multicast is not None,
        )
    )
    IndexBuilder(op).rewriter.erase(op)


def lower_query(op: ClcQueryOp, storage: BufferStorage) -> None:
    code = IndexBuilder(op)
    part = storage.shared_part(code, op.result_buffer)
    index = code.index(part.offset(code, list(op.result_indices)))
    new = code.add(ClcQueryOp((part.buffer, [index])))
    code.rewriter.replace_op(op, [], list(new.results))
