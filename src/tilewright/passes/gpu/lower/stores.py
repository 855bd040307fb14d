"""Tiles that TMA stores.

One thread starts the copies of a tile and waits until shared memory has been read, so that threads
that synchronise with it afterwards may write there again. The barrier after the writes of all
threads, and the async proxy fence, come from `insert-thread-syncs`.
"""

from __future__ import annotations

from tilewright.dialects.nv import TmaStoreCommitOp, TmaStoreOp, TmaStoreWaitOp
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.copies import leader, moved, tensor_map
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.gpu.lower.tma_boxes import TmaBoxes
from tilewright.passes.gpu.tile_regions import part_of
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_tma_store(op: CopyOp, storage: BufferStorage) -> None:
    """Replace a copy by the TMA stores of its boxes."""
    source, target = part_of(op.src), part_of(op.dst)
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    part = storage.shared_part(code, source.buffer)
    box = [extent for extent in target.extents if isinstance(extent, int)]
    boxes = TmaBoxes.of(box, bit_width(element_type_of(op.src.type)), part.map.swizzle)
    map = tensor_map(op, target.buffer, boxes.box, part.map.swizzle)
    for start in boxes.starts:
        offset = code.index(part.offset(code, boxes.indices(code, source, start)))
        coordinates = moved(code, target.offsets, start)
        code.add(TmaStoreOp((part.buffer, offset), map, coordinates))
    code.add(TmaStoreCommitOp())
    code.add(TmaStoreWaitOp(0, read=True))
    IndexBuilder(op).rewriter.erase(op)
