"""Tiles that TMA stores, or adds to a tensor.

One thread starts the copies of a tile and waits until shared memory has been read, so that threads
that synchronise with it afterwards may write there again. The barrier after the writes of all
threads, and the async proxy fence, come from `insert-thread-syncs`.
"""

from __future__ import annotations

from tilewright.dialects.nv import TmaReduceOp, TmaStoreCommitOp, TmaStoreOp, TmaStoreWaitOp
from tilewright.dialects.tile import AtomicOp, CopyOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.copies import leader, moved, tensor_map
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.gpu.lower.tma_boxes import TmaBoxes
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.tile_regions import part_of


def lower_tma_store(op: CopyOp | AtomicOp, storage: BufferStorage) -> None:
    """Replace a copy or an update by the TMA stores or reductions of its boxes."""
    given = op.value if isinstance(op, AtomicOp) else op.src
    assert given is not None
    source, target = part_of(given), part_of(op.dst)
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    part = storage.shared_part(code, source.buffer)
    box = [extent for extent in target.extents if isinstance(extent, int)]
    boxes = TmaBoxes.of(box, bit_width(element_type_of(given.type)), part.map.swizzle)
    map = tensor_map(op, target.buffer, boxes.box, part.map.swizzle)
    for start in boxes.starts:
        offset = code.index(part.offset(code, boxes.indices(code, source, start)))
        coordinates = moved(code, target.offsets, start)
        tile = part.buffer, offset
        if isinstance(op, AtomicOp):
            code.add(TmaReduceOp(op.kind.data, tile, map, coordinates))
        else:
            code.add(TmaStoreOp(tile, map, coordinates))
    code.add(TmaStoreCommitOp())
    code.add(TmaStoreWaitOp(0, read=True))
    IndexBuilder(op).rewriter.erase(op)
