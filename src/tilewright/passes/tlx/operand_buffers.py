"""Layouts of LDS for operands of AMD's matrix instructions.

A lane reads the elements of K that its instruction takes. If rows of the buffer run along K, these
are consecutive, and lanes that read at once read the same columns of different rows: the rows have
to start at different banks. Three ways, by what writes the buffer::

    threads               XOR of the group number with the row number    swizzled_shared
    copies without        rows whose distance is a power of two are      padded_shared with
    registers (gfx950)    adjacent, a gap after what a wave writes       permuted rows
    TDM (gfx1250)         a gap after each row, or row of banks          padded_shared in order

The parameters are those of Triton's AMD backend.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2

from tilewright.dialects.ttg.bases import unit
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.mma import AmdMfmaEncoding, AmdWmmaEncoding
from tilewright.dialects.ttg.shared import PaddedSharedEncoding, SwizzledSharedEncoding
from tilewright.dialects.ttg.struct import Ints
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.type_utils import bit_width
from tilewright.layouts.hardware.amd_chips import Chip

_BANK_BYTES = 4
_BANKS = 64
_LANES_AT_ONCE = 16
_WIDEST_BYTES = 16
_TRANSPOSED_ROW = 16
"""Elements that lanes read at once from one row when the hardware transposes."""
_ROWS_AT_BEST = 16
_MATRIX = 2


def is_amd_operand(layout: object) -> bool:
    """Whether `layout` is that of an operand of MFMA or WMMA."""
    return isinstance(layout, DotOperandEncoding) and isinstance(
        layout.parent, AmdMfmaEncoding | AmdWmmaEncoding
    )


def depth_of(operand: DotOperandEncoding) -> int:
    """The dimension of K."""
    return 1 - operand.op_idx


def swizzled_rows(
    type: MemDescType, operand: DotOperandEncoding, order: Ints, chip: Chip
) -> SwizzledSharedEncoding:
    """The layout of a buffer that threads write; plain rows where they do not run along K."""
    if order[0] != depth_of(operand):
        return SwizzledSharedEncoding(vec=1, per_phase=1, max_phase=1, order=order)
    vec = max(1, operand.k_width)
    # By the last dimension whatever the order; phases past the groups of a row repeat.
    columns = type.shape[-1]
    row_of_banks = chip.lds_banks * _BANK_BYTES * 8 // bit_width(type.element_type)
    per_phase = max(1, row_of_banks // columns)
    phases = max(1, min(_LANES_AT_ONCE // per_phase, columns // vec))
    return SwizzledSharedEncoding(vec=vec, per_phase=per_phase, max_phase=phases, order=order)


# -- copies that use no registers ----------------------------------------------------------------


def padded_for_copies(
    type: MemDescType, operand: DotOperandEncoding, order: Ints, warp_size: int
) -> PaddedSharedEncoding | None:
    """The layout of a buffer that copies without registers write on gfx950; None if there is none.

    A wave writes consecutive bytes, so gaps are only possible after that. Rows in between are
    those whose number differs by `wrap`, and consecutive rows end up after different gaps.
    """
    parent = operand.parent
    size = bit_width(type.element_type) // 8
    if not isinstance(parent, AmdMfmaEncoding) or len(type.shape) != _MATRIX or size not in (1, 2):
        return None
    along_depth = order[0] == depth_of(operand)
    read_bytes, across = operand.k_width * size, parent.instr_shape[operand.op_idx]
    if across not in (16, 32) or operand.k_width not in (4, 8, 16):
        return None
    is_wide = along_depth and read_bytes == _WIDEST_BYTES
    is_transposed = not along_depth and read_bytes >= _WIDEST_BYTES // 2
    if is_wide:
        padding = operand.k_width * (2 if across == _TRANSPOSED_ROW else 1)
    elif is_transposed:
        padding = across
    else:
        padding = 8 // size
    banks = _BANKS if is_wide or is_transposed else _BANKS // 2
    columns, rows = type.shape[order[0]], type.shape[order[1]]
    per_copy = _WIDEST_BYTES // size
    rows_per_wave = warp_size * per_copy // columns
    wrap = _wrap(columns, rows, rows_per_wave, padding, banks * _BANK_BYTES // size, is_wide)
    if wrap is None:
        return None
    bits = _row_bits(rows, wrap, rows_per_wave)
    if is_transposed and across == _TRANSPOSED_ROW and read_bytes == _WIDEST_BYTES:
        bits = _exchanged(bits, 16 // size, 8 // size)
    bases = [unit(_MATRIX, order[0], 1 << bit) for bit in range(int(log2(columns)))]
    bases += [unit(_MATRIX, order[1], row) for row in bits]
    is_best = wrap == _ROWS_AT_BEST
    if is_wide and across == 2 * _TRANSPOSED_ROW and is_best and columns * size < 256:
        # Every 16th row starts at the same bank, or in the other half of them.
        at, row = (8 if operand.k_width * size == _WIDEST_BYTES else 7), int(log2(columns))
        bases[at], bases[row] = bases[row], bases[at]
    return PaddedSharedEncoding((warp_size * per_copy,), (padding,), tuple(bases), (), _MATRIX)


def _wrap(
    columns: int, rows: int, rows_per_wave: int, padding: int, row_of_banks: int, is_wide: bool
) -> int | None:
    """After how many rows the bank of a row's start repeats; None if there are too few rows."""
    wrap = min(columns, row_of_banks) // padding
    if not wrap or not rows_per_wave:
        return None
    conflicts = (
        max(0, int(log2(rows_per_wave * wrap // rows))) if rows_per_wave * wrap > rows else 0
    )
    # A swizzle has two conflicts as well, but with the widest reads it has none.
    if conflicts > (0 if is_wide else 1):
        return None
    wrap >>= conflicts
    if wrap and rows >= rows_per_wave * _ROWS_AT_BEST and wrap < _ROWS_AT_BEST:
        return _ROWS_AT_BEST
    return wrap or None


def _row_bits(rows: int, wrap: int, rows_per_wave: int) -> list[int]:
    """The bits of the row number, from the fastest to the slowest in memory."""
    bits = [1 << bit for bit in range(int(log2(rows)))]
    low, high = bits[: int(log2(wrap))], bits[int(log2(wrap)) :]
    together = int(log2(rows_per_wave))
    return [*high[:together], *low, *high[together:]]


def _exchanged(bits: list[int], one: int, other: int) -> list[int]:
    swap = {one: other, other: one}
    return [swap.get(bit, bit) for bit in bits]


# -- TDM -----------------------------------------------------------------------------------------


def padded_for_tdm(type: MemDescType, operand: DotOperandEncoding | None) -> PaddedSharedEncoding:
    """The layout of a buffer that TDM writes, in rows; `operand` if WMMA reads it."""
    rank, bits = len(type.shape), bit_width(type.element_type)
    order = tuple(reversed(range(rank)))
    interval, padding = type.shape[-1], max(1, _WIDEST_BYTES * 8 // bits)
    if operand is not None:
        interval = max(interval, _BANKS * _BANK_BYTES * 8 // bits)
        if order[0] != depth_of(operand):
            padding = max(padding, _TRANSPOSED_ROW)
    return PaddedSharedEncoding.in_order((interval,), (padding,), tuple(type.shape), order)


def plain_rows(layout: SwizzledSharedEncoding) -> SwizzledSharedEncoding:
    """`layout` without its swizzle, which TDM stores do not undo."""
    return replace(layout, vec=1, per_phase=1, max_phase=1)
