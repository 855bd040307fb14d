"""A GEMM by single warps: fragments from shared memory, then ``mma.sync`` on registers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.fit import digits, expression
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import LdMatrixOp, MmaOp
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AllocOp, GemmOp, Space, SpaceAttr, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.matrix_moves import load_a, load_b
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedMap, SharedPart
from tilewright.passes.gpu.lower.loops import counted, opened
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, written

_ROWS, _COLUMNS = 16, 8
_ACCUMULATORS = _ROWS * _COLUMNS // NVIDIA_WARP
"""Sums of a tile that a thread holds."""


def lower_mma(op: GemmOp, plan: GemmPlan, storage: BufferStorage) -> None:
    """Replace a GEMM by the part that each warp computes."""
    code = IndexBuilder(op)
    writer = _Writer(op, plan, storage, code)
    writer.clear()
    body, step = counted(code, writer.steps, names.UNROLL)
    writer.write(body, step)
    code.rewriter.erase(op)


@dataclass(frozen=True)
class _Operand:
    """One of the two factors, as a warp sees it."""

    value: SSAValue
    name: str
    tiles: int
    """Tiles of the warp's share, along the rows of A or the columns of B."""
    extent: int
    """Rows or columns of a tile."""
    size: int
    """Elements of a tile that a thread holds."""
    first: Mixed
    """The row or column at which the share begins."""
    transposed: bool
    """Whether memory has K first."""
    at_once: int
    """Tiles that are loaded together."""

    @property
    def is_held(self) -> bool:
        """Whether it is in registers already."""
        return space_of(self.value.type) is Space.FRAGMENT

    @property
    def groups(self) -> int:
        return self.tiles // self.at_once


class _Writer:
    """One GEMM."""

    def __init__(
        self, op: GemmOp, plan: GemmPlan, storage: BufferStorage, code: IndexBuilder
    ) -> None:
        self.op = op
        self.storage = storage
        m, n, k = op.mnk
        down, across = plan.warps
        self.depth = plan.shape[2]
        rows, columns = m // down, n // across
        self.steps = k // self.depth
        self.bits = bit_width(element_type_of(op.a.type))
        tid = storage.thread_at(code, op)
        self.lane = combined(code, "mod", tid, NVIDIA_WARP)
        warp = combined(code, "floordiv", tid, NVIDIA_WARP)
        warp_row = combined(code, "floordiv", warp, across)
        warp_column = combined(code, "mod", warp, across)
        self.c = storage.registers[base_of(op.c)].buffer
        self.code = code
        self.a = _Operand(
            op.a,
            "a",
            tiles=rows // _ROWS,
            extent=_ROWS,
            size=_ROWS * self.depth // NVIDIA_WARP,
            first=combined(code, "*", warp_row, rows),
            transposed=op.transpose_a is not None,
            at_once=1,
        )
        turned = op.transpose_b is None  # columns of B are not contiguous along K
        tiles = columns // _COLUMNS
        self.b = _Operand(
            op.b,
            "b",
            tiles=tiles,
            extent=_COLUMNS,
            size=_COLUMNS * self.depth // NVIDIA_WARP,
            first=combined(code, "*", warp_column, columns),
            transposed=turned,
            at_once=2 if tiles % 2 == 0 and self._moves_matrices(turned) else 1,
        )

    def clear(self) -> None:
        """Clear the accumulator, where the GEMM replaces it."""
        code = self.code
        if self.op.clear_if is not None:
            code = opened(code, self.op.clear_if)
        elif self.op.clear is None:
            return
        element = element_type_of(self.c.type)
        zero = code.add(ConstantOp.of(0, element)).results[0]
        count = self.a.tiles * self.b.tiles * _ACCUMULATORS
        body, register = counted(code, count, names.UNROLL)
        body.add(StoreOp(zero, self.c, [register]))

    def write(self, code: IndexBuilder, step: SSAValue) -> None:
        """One step along K: all of the smaller operand, then the other as it is used.

        Sums take most of the registers of a thread: what is loaded and not needed yet would
        push others of them out to memory.
        """
        a, b = self.a, self.b
        keeps_a = a.is_held or (not b.is_held and a.tiles * a.size <= b.tiles * b.size)
        stationary, other = (a, b) if keeps_a else (b, a)
        held = self._registers(code, stationary, stationary.tiles)
        if not stationary.is_held:
            inner, group = counted(code, stationary.groups, names.UNROLL)
            self._load(inner, stationary, (group, step), held, group)
        outer, group = counted(code, other.groups, names.UNROLL)
        current = self._registers(outer, other, other.at_once)
        if not other.is_held:
            self._load(outer, other, (group, step), current, 0)
        inner, held_tile = counted(outer, stationary.tiles, names.UNROLL)
        inner, member = counted(inner, other.at_once, names.UNROLL)
        current_tile = combined(inner, "+", combined(inner, "*", group, other.at_once), member)
        held_at = self._tile(inner, stationary, held_tile, held_tile, step)
        current_at = self._tile(inner, other, current_tile, member, step)
        row, column = (held_tile, current_tile) if keeps_a else (current_tile, held_tile)
        first, second = (held, held_at), (current, current_at)
        tile = combined(inner, "+", combined(inner, "*", row, b.tiles), column)
        inner.add(
            MmaOp(
                first if keeps_a else second,
                second if keeps_a else first,
                (self.c, inner.index(combined(inner, "*", tile, _ACCUMULATORS))),
                (_ROWS, _COLUMNS, self.depth),
                unsigned=(is_unsigned(a.value), is_unsigned(b.value)),
            )
        )

    # -- operands ----------------------------------------------------------------------------

    def _registers(self, code: IndexBuilder, operand: _Operand, tiles: int) -> SSAValue:
        """Those of a fragment, or new ones for so many tiles."""
        if operand.is_held:
            return self.storage.registers[base_of(operand.value)].buffer
        element = element_type_of(operand.value.type)
        size = tiles * operand.size
        type = MemRefType(element, (size,), NoneAttr(), SpaceAttr(Space.LOCAL))
        return code.add(AllocOp(type, name=f"{operand.name}_frag")).results[0]

    def _tile(
        self, code: IndexBuilder, operand: _Operand, tile: Mixed, loaded: Mixed, step: SSAValue
    ) -> SSAValue:
        """Where a tile begins in registers: of a fragment, tile by tile with all steps of each."""
        if operand.is_held:
            loaded = combined(code, "+", combined(code, "*", tile, self.steps), step)
        return code.index(combined(code, "*", loaded, operand.size))

    def _moves_matrices(self, transposed: bool) -> bool:
        """Whether `ldmatrix` loads the fragment: 32 bytes of K, 16-bit elements if transposed."""
        return self.depth * self.bits == 256 and (not transposed or self.bits == 16)

    def _load(
        self,
        code: IndexBuilder,
        operand: _Operand,
        at: tuple[SSAValue, SSAValue],
        buffer: SSAValue,
        group: Mixed,
    ) -> None:
        """The tiles of one group, in one step along K, to the registers of `group`."""
        part = self.storage.shared_part(code, operand.value)
        rank = len(part.map.shape)
        axes = (rank - 1, rank - 2) if operand.transposed else (rank - 2, rank - 1)
        wide = operand.extent * operand.at_once
        along, far = pattern_step(code, part.map, axes[0], wide, at[0], operand.groups)
        k, deep = pattern_step(code, part.map, axes[1], self.depth, at[1], self.steps)
        origin = (combined(code, "+", operand.first, along), k)
        distance = combined(code, "+", far, deep)
        target = combined(code, "*", group, operand.size * operand.at_once)
        if self._moves_matrices(operand.transposed):
            self._load_matrices(code, operand, part, origin, distance, buffer, target)
        else:
            self._load_each(code, operand, part, origin, distance, buffer, target)

    def _load_matrices(
        self,
        code: IndexBuilder,
        operand: _Operand,
        part: SharedPart,
        origin: tuple[Mixed, Mixed],
        distance: Mixed,
        buffer: SSAValue,
        target: Mixed,
    ) -> None:
        """Matrices by ``ldmatrix``: each lane supplies the address of one row."""
        unit = 128 // self.bits
        turned = operand.transposed
        wide = operand.extent * operand.at_once
        move = load_a(turned) if operand is self.a else load_b(wide, turned)
        lanes = [move.address(lane) for lane in range(NVIDIA_WARP)]
        row_offset = written(code, _of_lane([row for row, _ in lanes]), (self.lane,))
        column_offset = written(code, _of_lane([u * unit for _, u in lanes]), (self.lane,))
        along, k = origin
        first, second = (k, along) if turned else (along, k)
        row = combined(code, "+", first, row_offset)
        column = combined(code, "+", second, column_offset)
        offset = combined(code, "+", part.offset(code, (row, column)), distance)
        code.add(
            LdMatrixOp(
                part.buffer,
                code.index(offset),
                buffer,
                code.index(target),
                move.count,
                transposed=move.trans,
            )
        )

    def _load_each(
        self,
        code: IndexBuilder,
        operand: _Operand,
        part: SharedPart,
        origin: tuple[Mixed, Mixed],
        distance: Mixed,
        buffer: SSAValue,
        target: Mixed,
    ) -> None:
        """Element by element, where no instruction loads the fragment."""
        width = max(1, 32 // self.bits)
        inner, register = counted(code, operand.size, names.UNROLL)
        lane, r = Coordinate(0), Coordinate(1)
        if operand is self.a:
            along_text = lane // 4 + r // width % 2 * 8
            k_text = lane % 4 * width + r % width + r // (2 * width) * (4 * width)
        else:
            along_text = lane // 4
            k_text = lane % 4 * width + r % width + r // width * (4 * width)
        coordinates = (self.lane, register)
        along = combined(inner, "+", origin[0], written(inner, along_text, coordinates))
        k = combined(inner, "+", origin[1], written(inner, k_text, coordinates))
        indices = (k, along) if operand.transposed else (along, k)
        offset = combined(inner, "+", part.offset(inner, indices), distance)
        loaded = inner.add(LoadOp(part.buffer, [inner.index(offset)])).results[0]
        index = combined(inner, "+", target, register)
        inner.add(StoreOp(loaded, buffer, [inner.index(index)]))


def pattern_step(
    code: IndexBuilder, map: SharedMap, axis: int, unit: int, units: SSAValue, count: int
) -> tuple[Mixed, Mixed]:
    """A step of `units` times `unit` elements along a dimension: a position, and a distance in
    memory from there.

    Swizzles repeat, and what is a whole pattern further is at a distance that all threads share.
    Once loops are unrolled it is a constant of the instruction, where an address of its own for
    each iteration would take a register.
    """
    period = 1
    while period < count:
        stride = map.stride(axis, unit * period)
        if stride is not None:
            within = combined(code, "mod", units, period)
            patterns = combined(code, "floordiv", units, period)
            return combined(code, "*", within, unit), combined(code, "*", patterns, stride)
        period *= 2
    return combined(code, "*", units, unit), 0


def _of_lane(values: list[int]) -> LayoutExpr:
    table = np.array(values, dtype=np.int64)
    found = digits(table)
    assert found is not None, "matrix rows are given by the digits of the lane index"
    return expression(found, Coordinate(0), len(values)) + int(table[0])
