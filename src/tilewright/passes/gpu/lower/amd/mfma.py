"""A GEMM by waves: operands from LDS, 128 bits at a time, then MFMA or WMMA on registers.

    scf.for %step                                  depth `deep`: what one read of a lane reaches
      simt.move %A[...] -> %a_frag[...] lanes(8)   all tiles of the operand that is retained
      scf.for %tile                                each tile of the other
        simt.move %B[...] -> %b_frag[0] lanes(8)
        scf.for %part                              instructions that one read feeds
          scf.for %retained: amd.mfma

A lane's registers of an operand are ``R = 0 .. K / groups``, at ``k = R / v * (v * groups) + v * g
+ R mod v`` with ``v`` the plan's `k_width` and ``g`` the lane's group (`layouts.hardware`). How
many of them are next to each other in LDS is looked up in the layout of the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.amd_gemms import (
    READ_BITS,
    held_depth,
    instruction_of,
)
from tilewright.analysis.layout_inference.amd_storage import (
    ROWS,
    axis_of_k,
    contiguous_registers,
)
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.dialects.amd.ops import MfmaOp, WmmaOp, matrix_core
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, GemmOp, Space, SpaceAttr, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedPart
from tilewright.passes.gpu.lower.loops import counted, opened
from tilewright.passes.gpu.lower.mma import pattern_step
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import part_of


def lower_matrix_core(op: GemmOp, plan: GemmPlan, storage: BufferStorage) -> None:
    """Replace a GEMM by the part that each wave computes."""
    code = IndexBuilder(op)
    writer = _Writer(op, plan, storage, code)
    writer.clear()
    body, step = counted(code, writer.steps, names.UNROLL)
    writer.write(body, step)
    code.rewriter.erase(op)


@dataclass(frozen=True)
class _Operand:
    """One of the two factors, as a wave sees it."""

    value: SSAValue
    name: str
    tiles: int
    """Tiles of the wave's share, along the rows of A or the columns of B."""
    first: Mixed
    """The row or column at which the share begins."""
    k_last: bool
    """Whether K is the last dimension of the buffer."""
    part: SharedPart | None
    """Where it is in LDS; None if it is in registers."""
    lanes: int = 1
    """Elements of one read."""

    @property
    def is_held(self) -> bool:
        """Whether it is in registers already."""
        return self.part is None


class _Writer:
    """One GEMM."""

    def __init__(
        self, op: GemmOp, plan: GemmPlan, storage: BufferStorage, code: IndexBuilder
    ) -> None:
        chip = amd_chip_of(op)
        assert chip is not None, "matrix cores are AMD's"
        self.op, self.plan, self.storage, self.code = op, plan, storage, code
        self.core = matrix_core(instruction_of(op, plan, chip))
        m, n, self.k = op.mnk
        down, across = plan.warps
        tid = storage.thread_at(code, op)
        self.lane = combined(code, "mod", tid, chip.wave)
        wave = combined(code, "floordiv", tid, chip.wave)
        self.c = storage.registers[base_of(op.c)].buffer
        wave_row = combined(code, "floordiv", wave, across)
        wave_column = combined(code, "mod", wave, across)
        self.a = self._operand(op.a, "a", m // down, wave_row, op.transpose_a is None)
        self.b = self._operand(op.b, "b", n // across, wave_column, op.transpose_b is not None)
        held = max(self.core.width, plan.k_width, self.a.lanes, self.b.lanes)
        self.deep = held * self.core.groups
        """Elements along K of one step."""
        self.size = held
        """Elements of a tile that a lane holds for one step."""
        self.steps = self.k // self.deep

    def _operand(
        self, value: SSAValue, name: str, share: int, wave: Mixed, k_last: bool
    ) -> _Operand:
        code = self.code
        first = combined(code, "*", wave, share)
        tiles = share // self.core.side
        if space_of(value.type) is Space.FRAGMENT:
            return _Operand(value, name, tiles, first, k_last, None)
        part = self.storage.shared_part(code, value)
        width = self.plan.k_width
        lanes = read_lanes(part, self.op, self.core, width, self.storage, is_a=name == "a")
        return _Operand(value, name, tiles, first, k_last, part, lanes)

    def clear(self) -> None:
        """Clear the accumulator, where the GEMM replaces it."""
        code = self.code
        if self.op.clear_if is not None:
            code = opened(code, self.op.clear_if)
        elif self.op.clear is None:
            return
        zero = code.add(ConstantOp.of(0, element_type_of(self.c.type))).results[0]
        count = self.a.tiles * self.b.tiles * self.core.accumulators
        body, register = counted(code, count, names.UNROLL)
        body.add(StoreOp(zero, self.c, [register]))

    def write(self, code: IndexBuilder, step: SSAValue) -> None:
        """One step along K: all of the smaller operand, then the other as it is used."""
        a, b = self.a, self.b
        keeps_a = a.is_held or (not b.is_held and a.tiles <= b.tiles)
        retained, other = (a, b) if keeps_a else (b, a)
        held = self._registers(code, retained, retained.tiles)
        if not retained.is_held:
            inner, tile = counted(code, retained.tiles, names.UNROLL)
            self._load(inner, retained, tile, step, held, tile)
        outer, current_tile = counted(code, other.tiles, names.UNROLL)
        current = self._registers(outer, other, 1)
        if not other.is_held:
            self._load(outer, other, current_tile, step, current, 0)
        # Neighbouring instructions add to different accumulators: none waits for the one before.
        inner, part = counted(outer, self.size // self.core.width, names.UNROLL)
        inner, held_tile = counted(inner, retained.tiles, names.UNROLL)
        first = held, self._tile(inner, retained, held_tile, held_tile, step, part)
        second = current, self._tile(inner, other, current_tile, 0, step, part)
        row, column = (held_tile, current_tile) if keeps_a else (current_tile, held_tile)
        self._multiply(inner, *((first, second) if keeps_a else (second, first)), row, column)

    def _multiply(
        self,
        code: IndexBuilder,
        a: tuple[SSAValue, SSAValue],
        b: tuple[SSAValue, SSAValue],
        row: Mixed,
        column: Mixed,
    ) -> None:
        tile = combined(code, "+", combined(code, "*", row, self.b.tiles), column)
        c = self.c, code.index(combined(code, "*", tile, self.core.accumulators))
        unsigned = is_unsigned(self.op.a), is_unsigned(self.op.b)
        if self.plan.transposed:
            a, b, unsigned = b, a, (unsigned[1], unsigned[0])
        if self.plan.instruction == "mfma":
            code.add(MfmaOp(a, b, c, self.plan.shape))
        else:
            code.add(WmmaOp(a, b, c, self.plan.shape, unsigned=unsigned))

    # -- operands ----------------------------------------------------------------------------

    def _registers(self, code: IndexBuilder, operand: _Operand, tiles: int) -> SSAValue:
        """Those of a fragment, or new ones for so many tiles."""
        if operand.is_held:
            return self.storage.registers[base_of(operand.value)].buffer
        element = element_type_of(operand.value.type)
        type = MemRefType(element, (tiles * self.size,), NoneAttr(), SpaceAttr(Space.LOCAL))
        return code.add(AllocOp(type, name=f"{operand.name}_frag")).results[0]

    def _held_steps(self, operand: _Operand) -> tuple[int, int]:
        """At which step along K a part of a fragment begins, and how many the fragment has."""
        begin = part_of(operand.value).offsets[-1 if operand.k_last else -2]
        whole = held_depth(self.op, is_a=operand is self.a)
        assert isinstance(begin, int), "registers have no run-time indices"
        assert begin % self.deep == 0, "a part of a fragment begins with a step"
        return begin // self.deep, whole // self.deep

    def _tile(
        self,
        code: IndexBuilder,
        operand: _Operand,
        tile: Mixed,
        loaded: Mixed,
        step: SSAValue,
        part: SSAValue,
    ) -> SSAValue:
        """Where an instruction's registers begin: of a fragment, all of its K tile by tile."""
        if operand.is_held:
            begin, steps = self._held_steps(operand)
            loaded = combined(code, "+", combined(code, "*", tile, steps), step)
            loaded = combined(code, "+", loaded, begin)
        first = combined(code, "*", loaded, self.size)
        return code.index(combined(code, "+", first, combined(code, "*", part, self.core.width)))

    def _load(
        self,
        code: IndexBuilder,
        operand: _Operand,
        tile: SSAValue,
        step: SSAValue,
        buffer: SSAValue,
        loaded: Mixed,
    ) -> None:
        """One tile, for one step along K, to the registers of `loaded`."""
        part, core, width = operand.part, self.core, self.plan.k_width
        assert part is not None
        rank = len(part.map.shape)
        axes = (rank - 2, rank - 1) if operand.k_last else (rank - 1, rank - 2)
        along, far = pattern_step(code, part.map, axes[0], core.side, tile, operand.tiles)
        k, deep = pattern_step(code, part.map, axes[1], self.deep, step, self.steps)
        line = combined(code, "+", operand.first, along)
        line = combined(code, "+", line, combined(code, "mod", self.lane, core.side))
        group = combined(code, "mod", combined(code, "floordiv", self.lane, core.side), core.groups)
        k = combined(code, "+", k, combined(code, "*", group, width))
        distance = combined(code, "+", far, deep)
        target = combined(code, "*", loaded, self.size)
        for register in range(0, self.size, operand.lanes):
            at = combined(
                code, "+", k, register // width * (width * core.groups) + register % width
            )
            indices = (line, at) if operand.k_last else (at, line)
            offset = combined(code, "+", part.offset(code, indices), distance)
            index = code.index(combined(code, "+", target, register))
            code.add(MoveOp(part.buffer, [code.index(offset)], buffer, [index], operand.lanes))


def read_lanes(
    part: SharedPart,
    op: GemmOp,
    core: MatrixCore,
    k_width: int,
    storage: BufferStorage,
    *,
    is_a: bool,
) -> int:
    """How many registers of a lane one read can fill: those whose elements are contiguous in LDS.

    Looked up in the offsets of all elements, for all lanes and registers. A part of a buffer along
    K must begin at a multiple of what a wave reads at once.
    """
    operand = op.a if is_a else op.b
    bits = bit_width(element_type_of(operand.type))
    offsets = part.map.offsets
    lines = offsets.reshape(-1, *offsets.shape[-2:])
    if axis_of_k(op, is_a=is_a) != ROWS:
        lines = np.swapaxes(lines, -1, -2)
    begin = part.offsets[axis_of_k(op, is_a=is_a)] if part.offsets else 0
    step = max(k_width, READ_BITS // bits) * core.groups
    is_even = lines.shape[-1] % step == 0 and _is_multiple(begin, step, op, storage)
    if not is_even and begin != 0:
        return 1
    if not is_even:
        lines = lines[..., : op.mnk[2]]
    lanes = contiguous_registers(lines, core, k_width, bits)
    while not _fits(part, lanes) or op.mnk[2] % (lanes * core.groups):
        lanes //= 2
    return lanes


def _is_multiple(value: Mixed, of: int, op: GemmOp, storage: BufferStorage) -> bool:
    if isinstance(value, int):
        return value % of == 0
    ranges = storage.ranges()
    return ranges.context(op).is_multiple(ranges.poly(value), of)


def _fits(part: SharedPart, lanes: int) -> bool:
    """Whether a part begins at a multiple of so many elements."""
    if isinstance(part.start, int):
        return part.start % lanes == 0
    return part.map.size % lanes == 0
