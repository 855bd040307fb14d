"""Launch control: where the response is, in the shared memory of the thread level."""

from __future__ import annotations

from tilewright.dialects.nv.launch_control import ClcQueryOp, ClcTryCancelOp
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_launch_control(op: ClcTryCancelOp | ClcQueryOp, storage: BufferStorage) -> None:
    """Let an op write or read the elements of a buffer as it has been placed."""
    if storage.is_lowered(op.result_buffer):
        return
    code = IndexBuilder(op)
    part = storage.shared_part(code, op.result_buffer)
    index = code.index(part.offset(code, [op.result_index]))
    op.operands[0], op.operands[1] = part.buffer, index
