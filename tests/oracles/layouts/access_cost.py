"""What one warp's accesses to a tile cost, by fragments: sectors, lines and bank conflicts.

Global memory moves in sectors of 32 bytes and lines of 128: the report counts those that the
instructions access. Layout inference decides by tables instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tests.oracles.layouts.from_linear import fragment_from_linear
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.banks import NVIDIA, BankModel, BankReport, report, wavefronts
from tilewright.layouts.hardware.matrix_moves import SIDE, MatrixMove
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import LinearLayout
from tilewright.layouts.vectors import (
    MAX_VECTOR_BITS,
    WARP_LANES,
    Vectorised,
)


@dataclass(frozen=True)
class GlobalAccess:
    """What one warp's loads or stores of a tile cost in global memory."""

    vector_bytes: int
    instructions: int
    sectors: int
    """32-byte sectors accessed, summed over the instructions."""
    lines: int
    """128-byte lines accessed, summed over the instructions."""
    fewest_sectors: int
    """The sectors that the same bytes would need if they were contiguous."""
    bytes_used: int
    """Distinct bytes, summed over the instructions."""

    @property
    def efficiency(self) -> float:
        """The fraction of the moved bytes that is used."""
        return self.bytes_used / (self.sectors * SECTOR_BYTES)

    @property
    def is_coalesced(self) -> bool:
        """Whether no instruction could access fewer sectors for its bytes."""
        return self.sectors == self.fewest_sectors


def global_access(
    registers: LinearLayout,
    strides: Sequence[int],
    element_bits: int,
    alignment_bytes: int = 16,
    warp_size: int = WARP_LANES,
) -> GlobalAccess:
    """The cost of a tile with these strides (in elements) whose first element is so aligned."""
    size = element_bits // 8
    limit = min(MAX_VECTOR_BITS, alignment_bytes * 8)
    fragment = fragment_from_linear(registers)
    memory = Layout.strided(registers.out_shape, strides)
    found = fragment_access(fragment, memory, element_bits, limit, warp_size=warp_size)
    return summed(found, size)


def summed(found: Vectorised, element_bytes: int) -> GlobalAccess:
    """Sectors and lines of a warp's instructions."""
    width = found.width * element_bytes
    sectors = lines = fewest = used = 0
    for instruction in found.access:
        accessed = {
            start * element_bytes + byte
            for start in instruction
            if start is not None
            for byte in range(width)
        }
        sectors += len({byte // SECTOR_BYTES for byte in accessed})
        lines += len({byte // LINE_BYTES for byte in accessed})
        fewest += -(-len(accessed) // SECTOR_BYTES)
        used += len(accessed)
    return GlobalAccess(width, len(found.access), sectors, lines, fewest, used)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a dense array."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def fragment_conflicts(
    fragment: Fragment,
    shared: Layout,
    element_bits: int,
    limit: int = MAX_VECTOR_BITS,
    warp: int = 0,
    model: BankModel = NVIDIA,
    *,
    writes: bool = False,
) -> BankReport:
    """A warp moving its part of a fragment, registers joined in the order they have."""
    found = fragment_access(fragment, shared, element_bits, limit, warp, model.lanes)
    return report(found, element_bits, model, writes=writes)


def matrix_conflicts(
    move: MatrixMove,
    shared: Layout,
    element_bits: int,
    row: int = 0,
    column: int = 0,
) -> BankReport:
    """One ``ldmatrix`` or ``stmatrix`` on a tile, from this element on: 8 rows at a time."""
    size, unit = element_bits // 8, MAX_VECTOR_BITS // element_bits
    total = 0
    for matrix in range(move.count):
        addresses: list[int | None] = []
        for lane in range(matrix * SIDE, (matrix + 1) * SIDE):
            down, units = move.address(lane)
            addresses.append(size * shared.offset(row + down, column + units * unit))
        total += wavefronts(addresses, MAX_VECTOR_BITS // 8)
    return BankReport(MAX_VECTOR_BITS // 8, 1, total, move.count)


SECTOR_BYTES = 32


LINE_BYTES = 128


def fragment_access(
    fragment: Fragment,
    memory: Layout,
    element_bits: int,
    limit: int = MAX_VECTOR_BITS,
    warp: int = 0,
    warp_size: int = WARP_LANES,
) -> Vectorised:
    """The instructions by which a warp moves its part of a fragment, registers in their order."""
    lanes = range(warp * warp_size, (warp + 1) * warp_size)
    table = [
        [offset_of(fragment, memory, lane, register) for lane in lanes]
        for register in range(fragment.num_registers)
    ]
    width = 1
    while width * 2 * element_bits <= limit and _joins(table, width * 2):
        width *= 2
    return Vectorised(width, tuple(tuple(row) for row in table[::width]))


def _joins(table: Sequence[Sequence[int | None]], width: int) -> bool:
    """Whether each run of `width` registers is one aligned run of memory in every lane."""
    if len(table) % width:
        return False
    for first in range(0, len(table), width):
        for lane, start in enumerate(table[first]):
            run = [table[first + step][lane] for step in range(width)]
            if start is None:
                if any(offset is not None for offset in run):
                    return False
            elif start % width or run != list(range(start, start + width)):
                return False
    return True


def store_c(columns: int = 16) -> MatrixMove:
    """The accumulator as 16-bit elements, 16 rows by 8 or 16 columns, stored row by row."""
    if columns not in (8, 16):
        raise ValueError(f"one instruction stores 8 or 16 columns, not {columns}")
    return MatrixMove(tuple((8 * half, unit) for unit in range(columns // 8) for half in range(2)))


def offset_of(fragment: Fragment, memory: Layout, thread: int, register: int) -> int | None:
    element = fragment.inverse(thread, register)
    return None if element is None else memory.offset(*element)
