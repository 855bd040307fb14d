"""Operands in shared memory that tensor cores find by descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.nv import MatrixDescriptorOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.descriptors import OperandTile
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedPart
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


@dataclass(frozen=True)
class SharedOperand:
    """A tile in shared memory, from which instructions take parts."""

    part: SharedPart
    tile: OperandTile
    start: Mixed

    def moved(self, code: IndexBuilder, group: Mixed, extent: int) -> SharedOperand:
        """The operand of warp group `group`: `extent` rows (or columns) further for each."""
        if group == 0:
            return self
        step = self.tile.offset_of(extent, 0) * 8 // self.tile.element_bits
        start = combined(code, "+", self.start, combined(code, "*", group, step))
        return SharedOperand(self.part, self.tile, start)

    def descriptor(
        self, code: IndexBuilder, kind: type[MatrixDescriptorOp], mn: int, k: int
    ) -> SSAValue:
        found = self.tile.operand(0, mn, k)
        made = kind(
            self.part.buffer,
            code.index(self.start),
            swizzle=found.swizzle,
            leading=found.leading,
            stride=found.stride,
            advance=found.start,
        )
        return code.add(made).results[0]


def shared_operand(
    code: IndexBuilder,
    storage: BufferStorage,
    value: SSAValue,
    *,
    is_k_major: bool,
    is_tcgen05: bool = True,
) -> SharedOperand:
    """The matrix that an operand in shared memory is, or is a sub-tile of.

    Without `is_tcgen05` only elements of 16 bits may be contiguous along M or N.
    """
    part = storage.shared_part(code, value)
    rows, columns = part.map.shape[-2:]
    bits = bit_width(element_type_of(value.type))
    tile = OperandTile(rows, columns, bits, part.map.swizzle, is_k_major, is_tcgen05)
    return SharedOperand(part, tile, _first_element(code, part, tile))


def _first_element(code: IndexBuilder, part: SharedPart, tile: OperandTile) -> Mixed:
    """Where the patterns of a matrix begin, or of the sub-tile of it that an operand is."""
    start = part.start
    if not part.offsets:
        return start
    inside = part.map
    for offset in part.offsets[:-2]:
        inside = inside.version()
        start = combined(code, "+", start, combined(code, "*", offset, inside.size))
    row, column = part.offsets[-2:]
    assert isinstance(row, int) and isinstance(column, int), "checked where the MMA was chosen"
    first = tile.offset_of(row, column) if tile.k_major else tile.offset_of(column, row)
    return combined(code, "+", start, first * 8 // tile.element_bits)
