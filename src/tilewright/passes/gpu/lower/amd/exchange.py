"""A copy between fragments of a wave: lanes interleave their registers.

tile.copy %p_own -> %p    ->    amd.interleave %p_own[0] -> %p[0] lanes(32)
"""

from __future__ import annotations

from tilewright.dialects.amd.ops import InterleaveOp
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_exchange(op: CopyOp, storage: BufferStorage) -> None:
    """Replace the copy; layout inference has made sure that this instruction does it."""
    source, target = (storage.registers[base_of(each)] for each in (op.src, op.dst))
    code = IndexBuilder(op)
    zero, count = code.index(0), source.table.num_registers
    code.add(InterleaveOp(source.buffer, [zero], target.buffer, [zero], count))
    code.rewriter.erase(op)
