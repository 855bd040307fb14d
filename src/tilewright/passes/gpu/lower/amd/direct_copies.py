"""A tile to LDS without registers: each wave copies 16 bytes a lane, to consecutive bytes.

In each round all waves together fill ``threads * 16`` bytes of the tile, in the order of LDS. The
hardware adds the lane's share to the address of a wave, so the lanes cannot choose where they
write; the swizzle decides what they read::

    chunk  =  round * threads + thread             where it is written
    row, column'  =  divmod(chunk, chunks of a row)
    column  =  column' ^ swizzle(row)              what is read there

Where a copy may have no iteration to copy for, it is started nevertheless: its lanes read nothing
and write zeros, so that waves can count what is in flight.

An XOR with a number that depends on the row alone is its own inverse, so the layout of the tile
gives `column` from `column'` as well as the other way round. That is checked for every element.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.dialects.amd import names as amd_names
from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.dialects.gpu import SubgroupIdOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile import CopyOp, names
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedMap
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, split
from tilewright.passes.tile.tile_regions import part_of

_COPY_BITS = 128


def lower_direct_copy(op: CopyOp, storage: BufferStorage) -> None:
    """Replace a direct copy by the copies that each wave starts."""
    guard = op.parent_op()
    predicate: SSAValue | None = None
    if isinstance(guard, IfOp) and names.PREDICATED in guard.attributes:
        _move_before(op, guard)
        predicate = guard.condition
    code = IndexBuilder(op)
    source, target = part_of(op.src), part_of(op.dst)
    part = storage.shared_part(code, target.buffer)
    lanes = _COPY_BITS // bit_width(element_type_of(op.src.type))
    threads = threads_of(op)
    at_once = threads.count * lanes
    if not _is_own_inverse(part.map, lanes) or part.map.size % at_once:
        raise NotALayout("direct copies need a layout that exchanges 16-byte chunks of a row")
    thread = storage.thread(code, threads)
    wave = code.add(SubgroupIdOp()).results[0]
    wave.name_hint = "wave"
    begin = combined(code, "*", wave, warp_size_of(op) * lanes)
    positions = _Positions(code, part.map, thread, threads.count, lanes)
    axes = source.axes or [len(source.extents) - 1]
    for round in range(part.map.size // at_once):
        indices = source.element(code, positions.of(round), axes)
        to = combined(code, "+", begin, combined(code, "+", part.start, round * at_once))
        src, dst = (source.buffer, indices), (part.buffer, [code.index(to)])
        made = LoadLdsOp(*src, *dst, lanes, None, predicate)
        if round:
            made.attributes[amd_names.CONTINUES] = UnitAttr()
        code.add(made)
    code.rewriter.erase(op)


def _move_before(op: CopyOp, guard: IfOp) -> None:
    """Take a copy, and what it computes with, out of its guard."""
    block = guard.parent
    assert block is not None
    for each in list(guard.then_region.block.ops):
        if each is op or not isinstance(each, CopyOp | YieldOp):
            each.detach()
            block.insert_op_before(each, guard)
        if each is op:
            return


class _Positions:
    """What the running thread reads, round by round."""

    def __init__(
        self, code: IndexBuilder, map: SharedMap, thread: Mixed, threads: int, lanes: int
    ) -> None:
        self.code, self.map, self.thread = code, map, thread
        self.threads, self.lanes = threads, lanes
        self.columns = map.shape[-1] // lanes
        # Where a round is whole rows, and the swizzle the same some rows on, columns repeat.
        rows = threads // self.columns
        self.rows = rows if threads % self.columns == 0 and _repeats(map, rows) else 0
        self.first: tuple[Mixed, Mixed] | None = None

    def of(self, round: int) -> list[SSAValue]:
        """Indices along the dimensions of the tile that have several elements."""
        code = self.code
        if self.first is None or not self.rows:
            row, column = self._read(round)
            self.first = self.first or (row, column)
        else:
            row, column = combined(code, "+", self.first[0], self.rows * round), self.first[1]
        position = [*split(code, row, self.map.shape[:-1]), column]
        pairs = zip(position, self.map.shape, strict=True)
        found = [code.index(each) for each, extent in pairs if extent != 1]
        return found or [code.index(0)]

    def _read(self, round: int) -> tuple[Mixed, Mixed]:
        """Row and column of the chunk that is written by the thread in a round."""
        code, map = self.code, self.map
        chunk = combined(code, "+", self.thread, round * self.threads)
        row = combined(code, "floordiv", chunk, self.columns)
        start = combined(code, "*", combined(code, "mod", chunk, self.columns), self.lanes)
        if map.is_plain:
            return row, start
        offset = map.offset(code, [*split(code, row, map.shape[:-1]), start])
        return row, combined(code, "mod", offset, map.shape[-1])


def _is_own_inverse(map: SharedMap, lanes: int) -> bool:
    """Whether the layout exchanges chunks of `lanes` elements within rows, in pairs."""
    if map.size != prod(map.shape) or map.run % lanes:
        return False
    offsets = map.offsets.reshape(-1)
    rows = np.arange(len(offsets)) // map.shape[-1]
    stays = (offsets // map.shape[-1] == rows).all()
    return bool(stays and (offsets[offsets] == np.arange(len(offsets))).all())


def _repeats(map: SharedMap, rows: int) -> bool:
    """Whether elements so many rows apart are in the same column of LDS."""
    columns = (map.offsets % map.shape[-1]).reshape(-1, map.shape[-1])
    if rows >= len(columns):
        return True
    return bool((columns[rows:] == columns[:-rows]).all())
