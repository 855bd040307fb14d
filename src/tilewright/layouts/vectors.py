"""How wide a memory instruction may be, and what one warp's instructions access.

An access is a map from (register, lane, warp) to an offset in memory. Consecutive registers become
one vector where their offsets are contiguous and aligned, for every thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.layouts.bits import Echelon
from tilewright.layouts.linear import LANE, REGISTER, LinearLayout

WARP_LANES = 32
"""Of NVIDIA's warps, the default."""
MAX_VECTOR_BITS = 128

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
