"""Copies between DRAM and circular buffers, page by page.

    reader                                     writer, for each chunk
      cb_reserve cb, n                           cb_wait cb, n
      for r, c: noc_read_tile page, l1           for r, c: noc_write_tile page, l1
      noc_barrier read                           noc_barrier write
      cb_push cb, n                              cb_pop cb, n

Data has arrived when the pages are pushed, and has left when they are popped. The page of tile
(r, c) of a block is ``(leading * Rt + row + r) * Ct + column + c``.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from tilewright.dialects.tensix.blocks import ConstantTileOp
from tilewright.dialects.tensix.buffers import (
    CBPopOp,
    CBPushOp,
    CBReadPtrOp,
    CBReserveOp,
    CBWaitOp,
    CBWritePtrOp,
    FillPageOp,
)
from tilewright.dialects.tensix.noc import NocBarrierOp, NocReadTileOp, NocWriteTileOp
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import region_shape
from tilewright.passes.tenstorrent.circular_buffers import format_of_buffer, needed_plan
from tilewright.passes.tenstorrent.kernel_code import KernelCode
from tilewright.passes.tenstorrent.tensor_layouts import NONE, TILE, TensorLayout

Translate = Callable[[Mixed], SSAValue]
"""A value of the core program in the kernel."""


def first_page(
    code: KernelCode, layout: TensorLayout, offsets: tuple[Mixed, ...], translate: Translate
) -> SSAValue:
    """The page of the first tile of a box."""
    *extents, rows, columns = layout.tiles
    page = code.constant(0)
    for dim, extent in zip(layout.leading, extents, strict=True):
        page = code.plus(code.times(page, extent), translate(offsets[dim]))
    axes = zip(
        (layout.row_dim, layout.column_dim), layout.granules, layout.granule_tiles, strict=True
    )
    for extent, (dim, granule, tiles) in zip((rows, columns), axes, strict=True):
        page = code.times(page, extent)
        if dim != NONE:
            block = code.quotient(translate(offsets[dim]), granule)
            page = code.plus(page, code.times(block, tiles))
    return page


def load_pages(
    code: KernelCode,
    op: CopyOp,
    accessor: SSAValue,
    layout: TensorLayout,
    translate: Translate,
    send: Callable[[SSAValue], None] | None = None,
) -> None:
    """What the reader does for a copy from DRAM; `send` passes the pages on to other cores."""
    _, offsets, _ = region_shape(op.src)
    plan = needed_plan(op.dst)
    rows, columns = buffer_tiles(op.dst)
    cb = code.cb(op.dst)
    count = code.constant(plan.tiles)
    size = format_of_buffer(op.dst).tile_bytes
    first = first_page(code, layout, offsets, translate)
    code.add(CBReserveOp(cb, count))
    target = code.add(CBWritePtrOp(cb)).results[0]
    with code.loop(rows, "r") as row, code.loop(columns, "c") as column:
        page = code.plus(first, code.plus(code.times(row, layout.tiles[-1]), column))
        fast, slow, extent = (row, column, rows) if plan.transposed else (column, row, columns)
        slot = code.plus(code.times(slow, extent), fast)
        code.add(NocReadTileOp(page, accessor, code.plus(target, code.times(slot, size))))
    code.add(NocBarrierOp("read"))
    if send is not None:
        send(target)
    code.add(CBPushOp(cb, count))


def store_pages(
    code: KernelCode, op: CopyOp, accessor: SSAValue, layout: TensorLayout, translate: Translate
) -> None:
    """What the writer does for a copy to DRAM, in the order in which tiles are produced."""
    _, offsets, _ = region_shape(op.dst)
    plan = needed_plan(op.src)
    rows, columns = buffer_tiles(op.src)
    high, wide = plan.subblock
    cb = code.cb(op.src)
    count = code.constant(plan.chunk)
    size = format_of_buffer(op.src).tile_bytes
    stride = layout.tiles[-1]
    first = first_page(code, layout, offsets, translate)
    with code.loop(rows // high, "sr") as block_row, code.loop(columns // wide, "sc") as block:
        corner = code.plus(code.times(block_row, high * stride), code.times(block, wide))
        start = code.plus(first, corner)
        code.add(CBWaitOp(cb, count))
        source = code.add(CBReadPtrOp(cb)).results[0]
        with code.loop(high, "r") as row, code.loop(wide, "c") as column:
            page = code.plus(start, code.plus(code.times(row, stride), column))
            slot = code.plus(code.times(row, wide), column)
            code.add(NocWriteTileOp(page, accessor, code.plus(source, code.times(slot, size))))
        code.add(NocBarrierOp("write"))
        code.add(CBPopOp(cb, count))


def fill_pages(code: KernelCode, op: ConstantTileOp, translate: Translate) -> None:
    """What the reader does for tiles of known contents."""
    cb = code.cb(op.dst)
    rows, columns = buffer_tiles(op.dst)
    count = code.constant(rows * columns)
    format = format_of_buffer(op.dst)
    limit = code.constant(0) if op.limit is None else translate(op.limit)
    code.add(CBReserveOp(cb, count))
    target = code.add(CBWritePtrOp(cb)).results[0]
    with code.loop(rows, "r") as row, code.loop(columns, "c") as column:
        slot = code.plus(code.times(row, columns), column)
        l1 = code.plus(target, code.times(slot, format.tile_bytes))
        own = _limit_of_tile(code, op.pattern.data, limit, row, column)
        code.add(FillPageOp(op.pattern.data, l1, own, format, op.bits.value.data))
    code.add(CBPushOp(cb, count))


def _limit_of_tile(
    code: KernelCode, pattern: str, limit: SSAValue, row: SSAValue, column: SSAValue
) -> SSAValue:
    """The limit of a pattern, counted from the first element of a tile."""
    if pattern == "triangle_below":
        return code.minus(code.plus(limit, code.times(row, TILE)), code.times(column, TILE))
    if pattern == "row_index":
        return code.plus(limit, code.times(row, TILE))
    if pattern == "column_index":
        return code.plus(limit, code.times(column, TILE))
    if pattern not in ("columns_below", "rows_below"):
        return code.constant(0)
    before = code.times(column if pattern == "columns_below" else row, TILE)
    rest = code.minus(limit, before)
    return code.at_most(code.at_least(rest, 0), TILE)
