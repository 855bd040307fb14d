"""How wide a memory instruction may be, and how many of the bytes it moves are used.

An access is a map from (register, lane, warp) to an offset in memory. Consecutive registers become
one vector where their offsets are contiguous and aligned, for every thread. Global memory moves in
sectors of 32 bytes and lines of 128: the report counts those that one warp's instructions access.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.layouts.bits import Echelon
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import LANE, REGISTER, LinearLayout

WARP_LANES = 32
"""Of NVIDIA's warps, the default."""
MAX_VECTOR_BITS = 128
SECTOR_BYTES = 32
LINE_BYTES = 128

WarpAccess = tuple[tuple[int | None, ...], ...]
"""For each instruction of one warp, the first element that each lane accesses; None if none."""


@dataclass(frozen=True)
class Vectorised:
    """The instructions of one warp after joining registers into vectors."""

    width: int
    """Elements in a vector."""
    access: WarpAccess


def widest_vector(access: LinearLayout, element_bits: int, limit: int = MAX_VECTOR_BITS) -> int:
    """The most elements one instruction can move.

    `access` leads from registers and lanes to one offset, in elements. The low bits of the offset
    must be reached by registers alone, in whatever combination, and by no lane: the order of
    registers in a vector is fixed when the kernel is compiled, the same in every lane.
    """
    registers = Echelon.of(access.columns([REGISTER]))
    others = access.columns([name for name in access.in_names if name != REGISTER])
    width = 1
    while width * 2 * element_bits <= limit and registers.preimage(width) is not None:
        if any(column & width for column in others):
            break
        width *= 2
    return width


def linear_access(
    access: LinearLayout, element_bits: int, limit: int = MAX_VECTOR_BITS
) -> Vectorised:
    """The instructions of warp 0, from a layout that leads to one offset; copies move once."""
    width = widest_vector(access, element_bits, limit)
    steps = [column & -width for column in access.columns([REGISTER])]
    independent = [vector for vector, _ in Echelon.of(steps).pivots.values()]
    starts = _spanned(sorted(independent))
    lanes = _spanned(access.columns([LANE]))
    return Vectorised(width, tuple(tuple(start ^ lane for lane in lanes) for start in starts))


def _spanned(columns: Iterable[int]) -> list[int]:
    found = [0]
    for column in columns:
        found += [value ^ column for value in found]
    return found


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
        [_offset(fragment, memory, lane, register) for lane in lanes]
        for register in range(fragment.num_registers)
    ]
    width = 1
    while width * 2 * element_bits <= limit and _joins(table, width * 2):
        width *= 2
    return Vectorised(width, tuple(tuple(row) for row in table[::width]))


def _offset(fragment: Fragment, memory: Layout, thread: int, register: int) -> int | None:
    element = fragment.inverse(thread, register)
    return None if element is None else memory.offset(*element)


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
    fragment = Fragment.from_linear(registers)
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
